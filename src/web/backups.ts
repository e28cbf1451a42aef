import { readBookmarkFileAsync, writeBookmarkFileAsync } from '../client/bookmark-file.ts'
import { type Client, createBackup, type Keys, openBackup, type Sync } from '../client/index.ts'
import { button, element, tell } from './dom.ts'

/** What backups are made from and opened with. */
export interface BackupParts {
  client: Client
  sync: Sync
  keys: Keys
}

/** Import and export: a browser's bookmark file, and encrypted backups. */
export function backupTools(parts: BackupParts): HTMLElement {
  const progress = element('progress', { hidden: true, 'aria-label': 'Progress' })
  const list = element('ul', { id: 'backups' })
  return element(
    'section',
    { className: 'card' },
    element('h2', {}, 'Files'),
    element(
      'div',
      { className: 'bar' },
      fileButton('Import a bookmark file', '.htm,.html', (file) => importFile(parts, file, progress)),
      button('Save as a bookmark file', async () =>
        save(await writeBookmarkFileAsync([...parts.sync.bookmarks().values()]), 'bookmarks.html', 'text/html'),
      ),
      button('Create a backup', () => makeBackup(parts, list, progress)),
      fileButton('Restore a backup', '.dat', (file) => restore(parts, file)),
    ),
    progress,
    list,
  )
}

async function importFile({ sync }: BackupParts, file: File, progress: HTMLProgressElement): Promise<void> {
  const bookmarks = await readBookmarkFileAsync(await file.text())
  const { imported, existing, failed } = await shown(progress, (onProgress) =>
    sync.importBookmarks(bookmarks, { onProgress }),
  )
  const skipped = existing.length > 0 ? `, ${existing.length} were there already` : ''
  const lost = failed.length > 0 ? `, ${failed.length} were too large` : ''
  tell(`${imported} bookmarks and folders imported${skipped}${lost}`)
}

/** The service makes the backup from the ciphertext that it holds, so pending changes are sent first. */
async function makeBackup(
  { client, sync, keys }: BackupParts,
  list: HTMLElement,
  progress: HTMLProgressElement,
): Promise<void> {
  await sync.syncNow()
  const file = await shown(progress, (show) =>
    createBackup(client, {
      onProgress: (step) => step.stage === 'downloading' && show(step.done, step.total),
    }),
  )
  const { exported_at, bookmark_count } = await openBackup(file, keys)
  const download = `bookmarks-${exported_at.slice(0, 10)}.dat`
  const text = `Backup of ${new Date(exported_at).toLocaleString()}, ${bookmark_count} bookmarks`
  list.prepend(element('li', { role: 'status' }, element('a', { href: URL.createObjectURL(file), download }, text)))
}

async function restore({ sync, keys }: BackupParts, file: File): Promise<void> {
  const opened = await openBackup(file, keys)
  const { imported } = await sync.restoreExport(opened)
  tell(`The backup contains ${opened.bookmark_count} bookmarks; ${imported} were restored`)
}

/** Shows how far the work is; at first, that it has begun. */
async function shown<T>(
  progress: HTMLProgressElement,
  work: (show: (done: number, total: number) => void) => Promise<T>,
): Promise<T> {
  progress.removeAttribute('value')
  progress.hidden = false
  try {
    return await work((done, total) => Object.assign(progress, { max: total, value: done }))
  } finally {
    progress.hidden = true
  }
}

function fileButton(label: string, accept: string, action: (file: File) => Promise<void>): HTMLElement {
  const input = element('input', { type: 'file', accept, 'aria-label': label, hidden: true })
  const opener = button(label, () => input.click())
  input.addEventListener('change', async () => {
    const [file] = input.files ?? []
    input.value = ''
    if (file) await action(file).catch((error: Error) => tell(error.message, 'alert'))
  })
  return element('span', {}, opener, input)
}

function save(content: string, name: string, type: string): void {
  const href = URL.createObjectURL(new Blob([content], { type }))
  element('a', { href, download: name }).click()
  URL.revokeObjectURL(href)
}
