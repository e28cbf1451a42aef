import { useEffect, useState } from 'preact/hooks'
import { type Client, type components, type Sync, unwrap } from '../../client/index.ts'
import { useApp } from '../session/context.ts'
import { Answer, useLoaded } from '../session/loaded.tsx'
import { Button } from '../ui/button.tsx'
import { confirmFirst } from '../ui/dialogs.tsx'
import { messageOf } from '../ui/failure.ts'
import { FileButton } from '../ui/files.tsx'
import { tell } from '../ui/tell.ts'
import { exactTime, Time } from '../ui/time.tsx'
import { Progress } from '../ui/waiting.tsx'
import { later } from '../words/later.ts'
import { fill, say } from '../words/words.ts'
import { keepBackup } from './keep-backup.ts'
import { showBackup } from './open-backup.tsx'

/** Milliseconds between checks whether a backup is complete. */
const askAgainMs = 1000

/** Encrypted backups: on the service for some days, or as files that the passphrase or recovery code opens. */
export function Backups() {
  const app = useApp()
  const { client, sync } = app
  const backups = useLoaded(() => listBackups(client), [])
  const [failure, setFailure] = useState<string>()
  const [withHistory, setWithHistory] = useState(false)
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
      <h2 id="backups-title">{later.settings.backups}</h2>
      <p>{later.settings.backupsMore}</p>
      <div class="bar">
        <Button onClick={make}>{later.settings.createBackup}</Button>
        <FileButton
          label={later.settings.openFile}
          accept=".dat"
          chosen={async (file) => showBackup(app, file.name, () => Promise.resolve(file), { isSaved: true })}
        />
      </div>
      <label class="bar">
        <input type="checkbox" checked={withHistory} onChange={() => setWithHistory(!withHistory)} />
        {later.settings.withHistory}
      </label>
      {failure !== undefined && (
        <p class="failure" role="alert">
          {failure}
        </p>
      )}
      <Answer of={backups}>
        {(backups) =>
          backups.length === 0 ? (
            <p class="hint">{later.settings.noBackups}</p>
          ) : (
            <ul class="plain lines" aria-label={later.settings.backupList}>
              {backups.map((backup) => (
                <BackupRow key={backup.id} backup={backup} withHistory={withHistory} changed={changed} />
              ))}
            </ul>
          )
        }
      </Answer>
    </section>
  )
}

interface BackupRowProps {
  backup: ServiceBackup
  withHistory: boolean
  changed: () => Promise<unknown>
}

/** A backup on the service, with its actions. */
function BackupRow({ backup, withHistory, changed }: BackupRowProps) {
  const app = useApp()
  const { client } = app
  const name = later.settings.backupOf(exactTime(backup.created_at))
  const remove = () =>
    confirmFirst({
      title: later.settings.deleteBackupTitle,
      text: later.settings.deleteBackupMore(name),
      action: later.settings.deleteBackup,
      run: async () => {
        await deleteBackup(client, backup)
        await changed()
        tell(later.settings.backupDeleted)
      },
    })
  return (
    <li class="line backup">
      <div class="row-text">
        <span class="line-name">{name}</span>
        <span class="hint" role="status">
          <State backup={backup} />
        </span>
      </div>
      <div class="bar">
        {backup.status === 'completed' && (
          <>
            <Button
              aria-label={later.settings.openName(name)}
              onClick={() => showBackup(app, name, () => fetchExport(client, backup))}
            >
              {later.vault.open}
            </Button>
            <Button
              aria-label={later.settings.downloadName(name)}
              onClick={() => keepBackup(app, backup.id, withHistory)}
            >
              {later.settings.download}
            </Button>
          </>
        )}
        <Button aria-label={later.settings.deleteName(name)} onClick={remove}>
          {say.ui.delete}
        </Button>
      </div>
    </li>
  )
}

function State({ backup }: { backup: ServiceBackup }) {
  const { status, bookmark_count: count, size_bytes: size, expires_at: expires } = backup
  if (isUnfinished(backup)) return <Progress what={later.settings.making} />
  if (status === 'failed') return <>{later.settings.makingFailed}</>
  if (expires === null) return <>{later.settings.ready(count ?? 0, size ?? 0)}</>
  return <>{fill(later.settings.readyUntil(count ?? 0, size ?? 0), { time: <Time at={expires} /> })}</>
}

/** A backup that the service keeps or is making. */
type ServiceBackup = components['schemas']['Export']

async function listBackups(client: Client): Promise<readonly ServiceBackup[]> {
  return unwrap(await client.GET('/api/v1/exports')).exports
}

/** True while the service is still making the backup. */
function isUnfinished({ status }: ServiceBackup): boolean {
  return status === 'pending' || status === 'processing'
}

/** Sends unsent edits first, so that the backup includes them. */
async function makeBackup(client: Client, sync: Sync): Promise<void> {
  await sync.syncNow()
  unwrap(await client.POST('/api/v1/exports'))
}

/** Downloads the backup as the service made it. Unlike a file from `keepBackup`, only the vault's keys open it. */
async function fetchExport(client: Client, { id }: ServiceBackup): Promise<Blob> {
  return unwrap(await client.GET('/api/v1/exports/{id}', { params: { path: { id } }, parseAs: 'blob' })) as Blob
}

async function deleteBackup(client: Client, { id }: ServiceBackup): Promise<void> {
  unwrap(await client.DELETE('/api/v1/exports/{id}', { params: { path: { id } } }))
}
