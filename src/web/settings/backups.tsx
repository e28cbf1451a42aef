import { useEffect, useState } from 'preact/hooks'
import { ApiError, type Client, type components, type Sync, unwrap } from '../../client/index.ts'
import { useApp } from '../app/context.ts'
import { Answer, useLoaded } from '../app/loaded.tsx'
import { Button } from '../ui/button.tsx'
import { confirmFirst } from '../ui/dialogs.tsx'
import { messageOf, ToldError } from '../ui/failure.ts'
import { bytes, counted } from '../ui/figures.ts'
import { FileButton, saveFile } from '../ui/files.tsx'
import { Progress } from '../ui/progress.tsx'
import { tell } from '../ui/tell.ts'
import { exactTime, Time } from '../ui/time.tsx'
import { showBackup } from './open-backup.tsx'

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
        Encrypted files that only your keys open: those that your passphrase or your recovery code opens. The service
        keeps each for a week: download the ones that you want to keep. Look into one before you put anything back.
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

interface BackupRowProps {
  backup: ServiceBackup
  changed: () => Promise<void>
}

/** A backup on the service, with what can be done with it. */
function BackupRow({ backup, changed }: BackupRowProps) {
  const app = useApp()
  const { client } = app
  const name = `Backup of ${exactTime(backup.created_at)}`
  const download = async () => {
    saveFile(
      await downloadBackup(client, backup),
      `bookmarks-${new Date(backup.created_at).toISOString().slice(0, 10)}.dat`,
    )
  }
  const remove = () =>
    confirmFirst({
      title: 'Delete this backup?',
      text: `${name} goes from the service for good. Your bookmarks stay, and so do files that you have downloaded.`,
      action: 'Delete the backup',
      run: async () => {
        await deleteBackup(client, backup)
        await changed()
        tell('The backup was deleted')
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
              aria-label={`Open: ${name}`}
              onClick={() => showBackup(app, name, () => downloadBackup(client, backup))}
            >
              Open
            </Button>
            <Button aria-label={`Download: ${name}`} onClick={download}>
              Download
            </Button>
          </>
        )}
        <Button aria-label={`Delete: ${name}`} onClick={remove}>
          Delete
        </Button>
      </div>
    </li>
  )
}

function State({ backup }: { backup: ServiceBackup }) {
  const { status, bookmark_count: count, size_bytes: size, expires_at: expires } = backup
  if (isUnfinished(backup)) return <Progress what="The service is making it" />
  if (status === 'failed') return <>The service could not make it. Your bookmarks are all right: create another one.</>
  return (
    <>
      Ready: {counted(count ?? 0, 'bookmark or folder', 'bookmarks and folders')}, {bytes(size ?? 0)}
      {expires !== null && (
        <>
          , deleted <Time at={expires} />
        </>
      )}
    </>
  )
}

/** A backup that the service keeps, or is making. */
type ServiceBackup = components['schemas']['Export']

async function listBackups(client: Client): Promise<readonly ServiceBackup[]> {
  return unwrap(await client.GET('/api/v1/exports')).exports
}

/** True while the service is still making it. */
function isUnfinished({ status }: ServiceBackup): boolean {
  return status === 'pending' || status === 'processing'
}

/** The service makes the backup from the ciphertext that it has, so what waits here is sent first. */
async function makeBackup(client: Client, sync: Sync): Promise<void> {
  await sync.syncNow()
  try {
    unwrap(await client.POST('/api/v1/exports'))
  } catch (error) {
    const text = error instanceof ApiError ? refusals[error.code ?? ''] : undefined
    throw text === undefined ? error : new ToldError(text, { cause: error })
  }
}

const refusals: Record<string, string | undefined> = {
  TooManyExports: 'Other backups of yours are still being made. Wait until one of them is done.',
  TooManyExportsKept: 'The service keeps no more backups of yours. Delete one below, then try again.',
}

async function downloadBackup(client: Client, { id }: ServiceBackup): Promise<Blob> {
  return unwrap(await client.GET('/api/v1/exports/{id}', { params: { path: { id } }, parseAs: 'blob' })) as Blob
}

async function deleteBackup(client: Client, { id }: ServiceBackup): Promise<void> {
  unwrap(await client.DELETE('/api/v1/exports/{id}', { params: { path: { id } } }))
}
