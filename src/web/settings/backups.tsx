import { useState } from 'preact/hooks'
import { createBackup, openBackup } from '../../client/index.ts'
import { useApp } from '../app/context.ts'
import { Button } from '../ui/button.tsx'
import { FileButton } from '../ui/files.tsx'
import { Progress, type Step } from '../ui/progress.tsx'
import { tell } from '../ui/tell.ts'

interface Made {
  href: string
  name: string
  text: string
}

/** Encrypted files that only the person's own keys open. */
export function Backups() {
  const { client, sync, keys } = useApp()
  const [step, setStep] = useState<Step>()
  const [made, setMade] = useState<readonly Made[]>([])

  /** The service makes the backup from the ciphertext that it holds, so pending changes are sent first. */
  const make = async () => {
    setStep({ what: 'Sending' })
    try {
      await sync.syncNow()
      const file = await createBackup(client, {
        onProgress: (progress) => setStep({ what: 'Making the backup', ...progress }),
      })
      const { exported_at, bookmark_count } = await openBackup(file, keys)
      const text = `Backup of ${new Date(exported_at).toLocaleString()}, ${bookmark_count} bookmarks`
      const name = `bookmarks-${exported_at.slice(0, 10)}.dat`
      setMade((made) => [{ href: URL.createObjectURL(file), name, text }, ...made])
    } finally {
      setStep(undefined)
    }
  }

  const restore = async (file: File) => {
    const opened = await openBackup(file, keys)
    const { imported } = await sync.restoreExport(opened)
    tell(`The backup contains ${opened.bookmark_count} bookmarks; ${imported} were restored`)
  }

  return (
    <section class="panel">
      <h2>Backups</h2>
      <p>An encrypted file that only your passphrase opens. Restoring it adds what is missing.</p>
      <div class="bar">
        <Button onClick={make}>Create a backup</Button>
        <FileButton label="Restore a backup" accept=".dat" chosen={restore} />
      </div>
      {step && <Progress {...step} />}
      <ul class="plain" id="backups">
        {made.map(({ href, name, text }) => (
          <li key={href} role="status">
            <a href={href} download={name}>
              {text}
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}
