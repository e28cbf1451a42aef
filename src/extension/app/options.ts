/** The options page: the device's name, what stays out, what the server keeps, and the way out. */
import { createHistory, type History } from '../../client/history.ts'
import { createBackup, deriveKeys, loadMasterKey } from '../../client/index.ts'
import type { BrowserNode } from '../index.ts'
import { describe } from './describe.ts'
import { act, ask, attempt, element } from './page.ts'
import { platform } from './platform.ts'
import { changeSettings, deviceIdOf, nameOf, openClient, readSettings, returnPermission } from './settings.ts'
import { text } from './text.ts'

/** The browser reads the file of a backup meanwhile. */
const keptMs = 60_000

act('set-up', 'click', () => platform.tabs.create({ url: platform.runtime.getURL('start.html') }))
act('device', 'submit', rename)
act('show-deleted', 'click', showDeleted)
act('save-backup', 'click', saveBackup)
act('sign-out', 'click', () => signOut(false))
act('discard', 'click', () => signOut(true))
await show()

async function show(): Promise<void> {
  const { baseUrl, deviceId = '' } = await readSettings()
  const { state } = await ask({ ask: 'state' })
  const isReady = state?.setup === 'ready' && baseUrl !== undefined
  const { headline, detail = '' } = state ? describe(state) : { headline: '' }
  element('who').textContent = isReady ? text('server', baseUrl) : `${headline}. ${state?.fault ? detail : ''}`.trim()
  element('set-up').textContent = text(state?.setup === 'locked' ? 'signIn' : 'setUp')
  element('set-up').hidden = isReady || state?.setup === 'failed'
  element('kept').hidden = !isReady
  element('way-out').hidden = !isReady && state?.fault?.kind !== 'newer'
  // Only a sync that runs can change these.
  for (const id of ['device', 'left-out']) element(id).hidden = !isReady || state.isPaused
  element('paused').hidden = !state?.isPaused
  element<HTMLInputElement>('name').value = nameOf(deviceId)
  element('server-page').setAttribute('href', baseUrl ?? '')
  const [top] = await platform.bookmarks.getTree()
  const leftOut = new Set(state?.leftOut)
  const lines = (top?.children ?? []).map((root) => {
    const inside = Object.assign(document.createElement('ul'), { className: 'plain' })
    inside.append(...foldersIn(root).map((folder) => line(folder, leftOut.has(folder.id))))
    const item = line(root, leftOut.has(root.id))
    if (inside.childElementCount > 0) item.append(inside)
    return item
  })
  element('folders').replaceChildren(...lines)
}

/** To the service it is another device, so everything must have been sent by the one before. */
async function rename(): Promise<void> {
  const { deviceId: before = '' } = await readSettings()
  const deviceId = deviceIdOf(element<HTMLInputElement>('name').value, before)
  if (deviceId !== before) {
    const { state } = await ask({ ask: 'sync-now' })
    if (state?.sync?.waiting) throw new Error(text('renameLater'))
    await changeSettings({ deviceId })
    await ask({ ask: 'start' })
    const id = { params: { path: { id: before } } }
    await openClient(await readSettings())
      .DELETE('/api/v1/account/devices/{id}', id)
      .catch(() => {})
  }
  await show()
  element('renamed').textContent = text('renamed')
}

async function showDeleted(): Promise<void> {
  const trash = await openTrash()
  const { bookmarks } = await trash.trash()
  const lines = bookmarks.map(({ id, bookmark }) => {
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: text('putBack') })
    button.id = `restore-${id}`
    const item = Object.assign(document.createElement('li'), { className: 'row' })
    item.append(button, bookmark?.title || bookmark?.url || text('otherKeys'))
    button.setAttribute('aria-label', text('putBackTitle', item.lastChild?.textContent ?? ''))
    return { item, id }
  })
  element('deleted').replaceChildren(...lines.map(({ item }) => item))
  element('none-deleted').hidden = lines.length > 0
  for (const { item, id } of lines) {
    act(`restore-${id}`, 'click', async () => {
      await trash.restoreVersion(id)
      item.remove()
    })
  }
}

/** Those of the first level, which is where people have what they keep apart. */
function foldersIn({ children = [] }: BrowserNode): BrowserNode[] {
  return children.filter(({ children, unmodifiable }) => children !== undefined && !unmodifiable)
}

function line({ id, title }: BrowserNode, isOut: boolean): HTMLElement {
  const item = document.createElement('li')
  const label = Object.assign(document.createElement('label'), { className: 'inline' })
  const box = Object.assign(document.createElement('input'), { type: 'checkbox', checked: isOut })
  box.addEventListener('change', () =>
    attempt(async () => {
      const { state } = await ask({ ask: box.checked ? 'leave-out' : 'take-in', browserId: id })
      if (state?.isPaused) await show()
    }),
  )
  label.append(box, title || text('namelessFolder'))
  item.append(label)
  return item
}

async function signOut(discardUnsent: boolean): Promise<void> {
  const { baseUrl } = await readSettings()
  try {
    await ask({ ask: 'sign-out', discardUnsent })
  } catch (error) {
    const isKept = ['UnsentChangesError', 'StoreVersionError'].includes((error as Error).name)
    element('discard').hidden = !isKept
    if (!isKept) await show()
    throw error
  }
  if (baseUrl) await returnPermission(baseUrl)
  await show()
}

/** The bookmarks deleted last, and the way back. The worker has the sync, so it is asked to exchange. */
async function openTrash(): Promise<Pick<History, 'trash' | 'restoreVersion'>> {
  const settings = await readSettings()
  const userId = settings.userId ?? ''
  const masterKey = await loadMasterKey(userId)
  if (!masterKey) throw new Error(text('passphraseFirst'))
  const sync = {
    syncNow: async () => void (await ask({ ask: 'sync-now' })),
    heldDeletions: () => [],
    approveDeletions: async () => {},
  }
  return createHistory({ client: openClient(settings), keys: deriveKeys(masterKey), userId, sync })
}

/** Downloads a backup of all bookmarks, which only this user's keys open. */
async function saveBackup(): Promise<void> {
  await ask({ ask: 'sync-now' })
  const file = await createBackup(openClient(await readSettings()))
  const href = URL.createObjectURL(file)
  const download = `bookmarks-${new Date().toISOString().slice(0, 10)}.dat`
  Object.assign(document.createElement('a'), { href, download }).click()
  setTimeout(() => URL.revokeObjectURL(href), keptMs)
}
