/** The options page: what stays out, and the way out. */
import type { BrowserNode } from 'encrypted-bookmark-sync-client/extension'
import { act, ask, element } from './ask.ts'
import { platform } from './platform.ts'
import { originsOf, readSettings } from './settings.ts'

act('sign-out', 'click', () => signOut(false))
act('discard', 'click', () => signOut(true))
await show()

async function show(): Promise<void> {
  const { baseUrl, deviceId } = await readSettings()
  const { state } = await ask({ ask: 'state' })
  const isReady = state?.setup === 'ready' && baseUrl !== undefined
  element('who').textContent = isReady ? `Server: ${baseUrl}. This device: ${deviceId}` : 'Not set up yet'
  element('sign-out').hidden = !isReady
  element('backups').hidden = !isReady
  element('backups')
    .querySelector('a')
    ?.setAttribute('href', baseUrl ?? '')
  const [top] = await platform.bookmarks.getTree()
  const leftOut = new Set(state?.leftOut)
  const folders = (top?.children ?? []).flatMap((root) => [root, ...foldersIn(root)])
  element('folders').replaceChildren(...folders.map((folder) => line(folder, leftOut.has(folder.id), isReady)))
}

/** Those of the first level, which is where people have what they keep apart. */
function foldersIn({ children = [] }: BrowserNode): BrowserNode[] {
  return children.filter(({ children, unmodifiable }) => children !== undefined && !unmodifiable)
}

function line({ id, title }: BrowserNode, isOut: boolean, isReady: boolean): HTMLElement {
  const item = document.createElement('li')
  const label = document.createElement('label')
  label.className = 'inline'
  const box = Object.assign(document.createElement('input'), { type: 'checkbox', checked: isOut, disabled: !isReady })
  box.addEventListener('change', () => ask({ ask: box.checked ? 'leave-out' : 'take-in', browserId: id }))
  label.append(box, title || 'A folder without a name')
  item.append(label)
  return item
}

async function signOut(discardUnsent: boolean): Promise<void> {
  const { baseUrl } = await readSettings()
  try {
    await ask({ ask: 'sign-out', discardUnsent })
  } catch (error) {
    element('discard').hidden = (error as Error).name !== 'UnsentChangesError'
    throw error
  }
  // Who builds the extension for one server may have put it into the manifest, where it stays.
  if (baseUrl) await platform.permissions.remove({ origins: originsOf(baseUrl) }).catch(() => {})
  await show()
}
