import { downloadExport } from '../../generated/paths.ts'
import { readBookmarkFile, writeBookmarkFile } from '../client/bookmark-file.ts'
import { base64ToBytes, type Client, type Keys, openExport, type Sync, unwrap } from '../client/index.ts'
import { button, element, tell } from './dom.ts'

/** What backups are made from and opened with. */
export interface BackupParts {
  client: Client
  sync: Sync
  keys: Keys
}

/** Import and export: a browser's bookmark file, and the service's encrypted exports. */
export function backupTools(parts: BackupParts): HTMLElement {
  const progress = element('progress', { hidden: true, 'aria-label': 'Import' })
  const list = element('ul', { id: 'exports' })
  return element(
    'section',
    { className: 'card' },
    element('h2', {}, 'Files'),
    element(
      'div',
      { className: 'bar' },
      fileButton('Import a bookmark file', '.htm,.html', (file) => importFile(parts, file, progress)),
      button('Save as a bookmark file', () =>
        save(writeBookmarkFile([...parts.sync.bookmarks().values()]), 'bookmarks.html', 'text/html'),
      ),
      button('Create an encrypted export', () => makeExport(parts, list)),
      fileButton('Open an export', '.dat', (file) => restore(parts, file)),
    ),
    progress,
    list,
  )
}

async function importFile({ sync }: BackupParts, file: File, progress: HTMLProgressElement): Promise<void> {
  const bookmarks = readBookmarkFile(await file.text())
  progress.hidden = false
  const { imported, existing, failed } = await sync.importBookmarks(bookmarks, {
    onProgress(done, total) {
      progress.max = total
      progress.value = done
    },
  })
  progress.hidden = true
  const skipped = existing.length > 0 ? `, ${existing.length} were there already` : ''
  const lost = failed.length > 0 ? `, ${failed.length} were too large` : ''
  tell(`${imported} bookmarks and folders imported${skipped}${lost}`)
}

/** The service makes the export from the ciphertext that it holds, so pending changes are sent first. */
async function makeExport({ client, sync }: BackupParts, list: HTMLElement): Promise<void> {
  await sync.syncNow()
  const { id } = unwrap(await client.POST('/api/v1/exports'))
  const item = element('li', { role: 'status' }, 'The export is being made…')
  list.prepend(item)
  for (;;) {
    const made = unwrap(await client.GET('/api/v1/exports')).exports.find((one) => one.id === id)
    if (made?.status === 'completed') {
      const href = downloadExport.replace('{id}', encodeURIComponent(id))
      const date = new Date(made.created_at).toLocaleString()
      item.replaceChildren(element('a', { href, download: '' }, `Export of ${date}, ${made.bookmark_count} bookmarks`))
      return
    }
    if (!made || made.status === 'failed') throw new Error('The export failed')
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

/** Opens an export with the registered export key, or else with the one derived from the master key. */
async function restore({ client, sync, keys }: BackupParts, file: File): Promise<void> {
  const registered = unwrap(await client.GET('/api/v1/account/export-key')).key
  const exportKey = base64ToBytes(registered) ?? keys.exportKey
  const opened = await openExport(file, { exportKey, keys })
  const { imported } = await sync.restoreExport(opened)
  tell(`The export contains ${opened.bookmark_count} bookmarks; ${imported} were restored`)
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
