import { useEffect, useState } from 'preact/hooks'
import { ExportError, type OpenedExport, openBackup, RecordError } from '../../client/index.ts'
import type { App } from '../app/context.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { messageOf } from '../ui/failure.ts'
import { Progress, type Step } from '../ui/progress.tsx'
import { BackupContents } from './backup-contents.tsx'

/** Opens a backup in the browser, and shows what is in it before anything is put back. */
export function showBackup(app: App, name: string, load: () => Promise<Blob>): void {
  showDialog((close) => <OpenBackup app={app} name={name} load={load} close={close} />)
}

interface OpenBackupProps {
  app: App
  name: string
  load: () => Promise<Blob>
  close: () => void
}

function OpenBackup({ app, name, load, close }: OpenBackupProps) {
  const [opened, setOpened] = useState<OpenedExport>()
  const [step, setStep] = useState<Step>({ what: 'Reading' })
  const [failure, setFailure] = useState<string>()
  useEffect(() => {
    const closed = new AbortController()
    const { signal } = closed
    const open = async () => {
      const onProgress = (done: number, total: number) => setStep({ what: 'Decrypting bytes', done, total })
      setOpened(await openBackup(await load(), app.keys, { onProgress, signal }))
    }
    open().catch((error: unknown) => signal.aborted || setFailure(textOf(error)))
    return () => closed.abort()
  }, [])
  return (
    <Dialog title={name} close={close}>
      {opened ? (
        <BackupContents sync={app.sync} opened={opened} close={close} />
      ) : (
        <div class="form">
          {failure === undefined ? (
            <Progress {...step} />
          ) : (
            <p class="failure" role="alert">
              {failure}
            </p>
          )}
          <div class="bar end">
            <Button onClick={close}>{failure === undefined ? 'Cancel' : 'Close'}</Button>
          </div>
        </div>
      )}
    </Dialog>
  )
}

function textOf(error: unknown): string {
  if (error instanceof RecordError) return `${error.message}. Nothing was changed.`
  if (!(error instanceof ExportError)) return messageOf(error)
  switch (error.fault) {
    case 'not-an-export':
      return 'This is no backup. Browsers’ bookmark files are imported above, under “Bookmark files”.'
    case 'other-key':
      return 'Your keys do not open this backup: it is another account’s.'
    case 'unknown-version':
      return 'A newer version of this page made the backup. Reload the page, then try again.'
    default:
      return 'The backup is damaged or cut off. Nothing was changed. If there is another copy of it, try that one.'
  }
}
