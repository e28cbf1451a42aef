import { useApp } from '../app/context.ts'
import { Button } from '../ui/button.tsx'
import { bytes } from '../ui/bytes.ts'
import { confirmFirst } from '../ui/confirm.tsx'
import { counted } from '../ui/counted.ts'
import { save } from '../ui/files.tsx'
import { Progress } from '../ui/progress.tsx'
import { tell } from '../ui/tell.ts'
import { exactTime, Time } from '../ui/time.tsx'
import { showBackup } from './open-backup.tsx'
import { deleteBackup, downloadBackup, isUnfinished, type ServiceBackup } from './service-backups.ts'

interface BackupRowProps {
  backup: ServiceBackup
  changed: () => Promise<void>
}

/** A backup on the service, with what can be done with it. */
export function BackupRow({ backup, changed }: BackupRowProps) {
  const app = useApp()
  const { client } = app
  const name = `Backup of ${exactTime(backup.created_at)}`
  const download = async () => {
    save(
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
