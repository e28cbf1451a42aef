import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { isEqual } from '../../client/bookmark/equal.ts'
import { isRemovedPage } from '../../client/bookmark/removed-page.ts'
import { splitBackup } from '../../client/export-file/saved-backup.ts'
import {
  buildTree,
  createSync,
  ExportError,
  KeyringError,
  memoryStore,
  type OpenedExport,
  openBackup,
  RecordError,
  type RestoreOptions,
  type Sync,
} from '../../client/index.ts'
import { undoable } from '../../client/undo.ts'
import { Letter } from '../library/icon.tsx'
import { type Bookmark, isFolder, nameOf } from '../library/kind.ts'
import { countAllIn } from '../library/paths.ts'
import { stepsOf } from '../library/reversible.ts'
import type { App } from '../session/context.ts'
import { noteImport } from '../session/running-import.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { messageOf, UserFacingError } from '../ui/failure.ts'
import { Form, FormEnd } from '../ui/form.tsx'
import { tell } from '../ui/tell.ts'
import { exactTime } from '../ui/time.tsx'
import { Counts, Progress, type Step } from '../ui/waiting.tsx'
import { CredentialFields, tryCredentials } from '../vault/credentials.tsx'
import { restoreVisits } from '../visits/visits.ts'
import { number } from '../words/language.ts'
import { later } from '../words/later.ts'
import { say } from '../words/words.ts'
import { keepNewBackup } from './keep-backup.ts'

/** Opens a backup in the browser, and shows its contents before anything is restored. */
export function showBackup(app: App, name: string, load: () => Promise<Blob>, { isSaved = false } = {}): void {
  showDialog((close) => <OpenBackup app={app} name={name} load={load} isSaved={isSaved} close={close} />)
}

interface OpenBackupProps {
  app: App
  name: string
  load: () => Promise<Blob>
  /** True for a file that the person chose: the service may not have this backup. */
  isSaved: boolean
  close: () => void
}

function OpenBackup({ app, name, load, isSaved, close }: OpenBackupProps) {
  const [opened, setOpened] = useState<OpenedExport>()
  const [locked, setLocked] = useState<Blob>()
  const [opensHereOnly, setOpensHereOnly] = useState(false)
  const [step, setStep] = useState<Step>({ what: later.settings.steps.Reading })
  const [failure, setFailure] = useState<string>()
  const closed = useRef(new AbortController())
  useEffect(() => {
    const { signal } = closed.current
    const open = async () => {
      const onProgress = (done: number, total: number) => setStep({ what: later.settings.decrypting, done, total })
      const file = await load()
      try {
        setOpened(await openBackup(file, app.keys, { onProgress, signal }))
        setOpensHereOnly(isSaved && !(await hasKeyring(file)))
      } catch (error) {
        if (!(error instanceof ExportError) || error.fault !== 'passphrase-needed') throw error
        setLocked(file)
      }
    }
    open().catch((error: unknown) => signal.aborted || setFailure(textOf(error)))
    return () => closed.current.abort()
  }, [])
  const openTyped = async (file: Blob, fields: Record<string, string>) => {
    const { signal } = closed.current
    // No user id is passed, because the file names the user that its keyring belongs to.
    setOpened(
      await tryCredentials('', fields, (typed) => openBackup(file, typed, { signal }), later.settings.notOfBackup),
    )
  }
  return (
    <Dialog title={name} close={close}>
      {opened ? (
        <BackupContents app={app} opened={opened} close={close}>
          {opensHereOnly && <OpensHereOnly app={app} />}
        </BackupContents>
      ) : locked ? (
        <Form onSubmit={(fields) => openTyped(locked, fields).catch(explain)}>
          <p>{later.settings.secretOfBackup}</p>
          <CredentialFields />
          <FormEnd close={close}>{later.vault.open}</FormEnd>
        </Form>
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
            <Button onClick={close}>{failure === undefined ? say.ui.cancel : say.ui.close}</Button>
          </div>
        </div>
      )}
    </Dialog>
  )
}

async function hasKeyring(file: Blob): Promise<boolean> {
  return (await splitBackup(file)).carried !== undefined
}

/** Warns that a file without a keyring, as earlier pages saved it, opens only in this vault. Offers to save a new one. */
function OpensHereOnly({ app }: { app: App }) {
  const save = async () => {
    await keepNewBackup(app)
    tell(later.settings.backupSaved)
  }
  return (
    <div class="bar" role="status">
      <p>{later.settings.opensHereOnly}</p>
      <Button onClick={save}>{later.settings.saveNewBackup}</Button>
    </div>
  )
}

/** Throws an error about the file. The usual messages would speak of the account's keyring, not of the file's. */
function explain(error: unknown): never {
  if (error instanceof KeyringError) {
    const { damaged, 'unknown-version': unknownVersion } = say.failure.backup
    throw new UserFacingError(error.fault === 'unknown-version' ? unknownVersion : damaged)
  }
  throw error instanceof RecordError ? new UserFacingError(textOf(error)) : error
}

function textOf(error: unknown): string {
  return error instanceof RecordError ? `${messageOf(error)} ${later.history.nothingChanged}` : messageOf(error)
}

/** The most bookmarks shown. These are enough to recognize a backup. */
const mostShown = 8

interface BackupContentsProps {
  app: App
  opened: OpenedExport
  close: () => void
  children: ComponentChildren
}

/** Shows what is in a backup, how it differs from the current bookmarks, and how to restore it. */
function BackupContents({ app, opened, close, children }: BackupContentsProps) {
  const { sync } = app
  const { bookmarks, exported_at } = opened
  const [step, setStep] = useState<Step>()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  const tree = useMemo(() => buildTree(bookmarks), [opened])
  const { missing, changed } = useMemo(() => compare(sync, bookmarks), [opened])
  const folders = bookmarks.filter(isFolder).length
  const restore = async (overwrite: boolean) => {
    const what = later.settings.steps.Encrypting
    setStep({ what })
    try {
      await restoreBackup(app, opened, { overwrite, onProgress: (done, total) => setStep({ what, done, total }) })
    } finally {
      setStep(undefined)
    }
    close()
  }
  const addMissing = later.settings.addMissing(missing.length)
  const same = bookmarks.length - missing.length - changed.length
  const lines = [
    { count: missing.length, ...later.settings.counts.missing },
    { count: changed.length, ...later.settings.counts.changed },
    { count: same, ...later.settings.counts.same },
  ]
  return (
    <div class="form">
      <h3 ref={heading} tabIndex={-1}>
        {later.settings.contents(say.ui.bookmarks(bookmarks.length - folders), say.ui.folders(folders))}
      </h3>
      <p class="hint">{later.settings.asOn(exactTime(Date.parse(exported_at)))}</p>
      {children}
      <Counts lines={lines} kind="backup-counts" />
      <ul class="plain backup-list" aria-label={later.settings.atTop}>
        {tree.slice(0, mostShown).map((node) => (
          <li key={node.bookmark.id}>
            <Letter bookmark={node.bookmark} />
            <span class="backup-name" dir="auto">
              {nameOf(node.bookmark)}
            </span>
            {isFolder(node.bookmark) && <span class="hint">{number(countAllIn(node))}</span>}
          </li>
        ))}
      </ul>
      {tree.length > mostShown && <p class="hint">{later.settings.moreBeside(tree.length - mostShown)}</p>}
      <Others app={app} opened={opened} />
      {step && <Progress {...step} />}
      {missing.length + changed.length === 0 && <p>{later.settings.nothingToPutBack}</p>}
      <div class="bar end" inert={step !== undefined}>
        <Button onClick={close}>{say.ui.close}</Button>
        {changed.length > 0 && (
          <Button onClick={() => restore(true)}>
            {missing.length > 0
              ? later.settings.addAndReset(missing.length, changed.length)
              : later.settings.reset(changed.length)}
          </Button>
        )}
        {missing.length > 0 && (
          <Button look="primary" onClick={() => restore(false)}>
            {addMissing}
          </Button>
        )}
      </div>
    </div>
  )
}

/** The tab groups and browsing history of a backup, with a button to restore them. */
function Others({ app, opened }: Pick<BackupContentsProps, 'app' | 'opened'>) {
  const { groups = [], history: entries = [] } = opened
  const history = entries.filter((entry) => !isRemovedPage(entry))
  if (groups.length + history.length === 0) return null
  const putBack = async () => {
    const { added, failed } = await restoreOthers(app, { groups, history })
    tell(later.settings.fromBackup(added, 0, failed))
  }
  const isGroup = ({ url }: Bookmark) => url === undefined
  const groupCount = groups.filter(isGroup).length
  return (
    <div class="bar">
      <p>{later.settings.othersInBackup(groupCount, groups.length - groupCount, history.length)}</p>
      <Button onClick={putBack}>{later.settings.putOthersBack}</Button>
    </div>
  )
}

type Others = Required<Pick<OpenedExport, 'groups' | 'history'>>

/** Adds the missing tab groups and history entries. */
async function restoreOthers(app: App, { groups, history }: Others): Promise<{ added: number; failed: number }> {
  const reports = [
    ...(groups.length > 0 ? [await app.sync.groups.restoreExport({ groups })] : []),
    ...(history.length > 0 ? [await restoreHistory(app, history)] : []),
  ]
  const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0)
  return {
    added: sum(reports.map(({ imported }) => imported)),
    failed: sum(reports.map(({ failed }) => failed.length)),
  }
}

/** In a browser that does not show the history, a temporary sync restores it and keeps nothing here. */
async function restoreHistory(app: App, history: Others['history']) {
  const { client, keys, userId, device, areVisitsShown } = app
  if (areVisitsShown) return restoreVisits(app.sync, keys, history)
  const sync = createSync({ client, keys, userId, deviceId: device.id, store: memoryStore(), types: ['history'] })
  try {
    await sync.syncNow()
    const report = await restoreVisits(sync, keys, history)
    await sync.syncNow()
    const refused = sync.quarantined()
    return { imported: report.imported - refused.length, failed: [...report.failed, ...refused] }
  } finally {
    await sync.stop()
  }
}

/** The backup's bookmarks that are missing now, and the current ones that differ from it. */
function compare(sync: Sync, bookmarks: readonly Bookmark[]): { missing: Bookmark[]; changed: Bookmark[] } {
  const missing = bookmarks.filter(({ id }) => sync.get(id) === undefined)
  const changed = bookmarks.flatMap((bookmark) => {
    const now = sync.get(bookmark.id)
    return now && !isEqual(now, bookmark) ? now : []
  })
  return { missing, changed }
}

/** Restores a backup. The message offers to undo that. */
async function restoreBackup({ sync, userId }: App, opened: OpenedExport, options: RestoreOptions): Promise<void> {
  const { missing } = compare(sync, opened.bookmarks)
  const edits = undoable(sync)
  const restore = () => edits.restoreExport(opened, options)
  const { imported, failed } = await noteImport(userId, opened.bookmarks.length, restore)
  const added = missing.filter(({ id }) => sync.get(id) !== undefined)
  const reset = imported - added.length
  tell(later.settings.fromBackup(added.length, reset, failed.length), stepsOf(sync, edits))
}
