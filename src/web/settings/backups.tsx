import { useEffect, useState } from 'preact/hooks'
import { useApp } from '../app/context.ts'
import { Answer, useLoaded } from '../app/loaded.tsx'
import { Button } from '../ui/button.tsx'
import { messageOf } from '../ui/failure.ts'
import { FileButton } from '../ui/files.tsx'
import { BackupRow } from './backup-row.tsx'
import { showBackup } from './open-backup.tsx'
import { isUnfinished, listBackups, makeBackup } from './service-backups.ts'

/** How often to ask whether a backup is made. */
const askAgainMs = 1000

/** Encrypted files that only the person's own keys open: on the service for some days, and on the person's disk. */
export function Backups() {
  const app = useApp()
  const { client, sync } = app
  const backups = useLoaded(() => listBackups(client), [])
  const [failure, setFailure] = useState<string>()
  const isMaking = backups.value?.some(isUnfinished) ?? false
  useEffect(() => {
    if (!isMaking) return
    const timer = setTimeout(backups.load, askAgainMs)
    return () => clearTimeout(timer)
  }, [backups.value])
  const changed = () => {
    setFailure(undefined)
    return backups.load()
  }
  const make = () => {
    setFailure(undefined)
    return makeBackup(client, sync).then(changed, (error: unknown) => setFailure(messageOf(error)))
  }
  return (
    <section class="panel" id="backups" aria-labelledby="backups-title">
      <h2 id="backups-title">Backups</h2>
      <p>
        Encrypted files that only your passphrase opens. The service keeps each for a week: download the ones that you
        want to keep. Look into one before you put anything back.
      </p>
      <div class="bar">
        <Button onClick={make}>Create a backup</Button>
        <FileButton
          label="Open a backup file"
          accept=".dat"
          chosen={async (file) => showBackup(app, file.name, () => Promise.resolve(file))}
        />
      </div>
      {failure !== undefined && (
        <p class="failure" role="alert">
          {failure}
        </p>
      )}
      <Answer of={backups}>
        {(backups) =>
          backups.length === 0 ? (
            <p class="hint">There are no backups on the service.</p>
          ) : (
            <ul class="plain lines" aria-label="Backups on the service">
              {backups.map((backup) => (
                <BackupRow key={backup.id} backup={backup} changed={changed} />
              ))}
            </ul>
          )
        }
      </Answer>
    </section>
  )
}
