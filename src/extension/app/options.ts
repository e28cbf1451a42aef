/** The options page: the device's name, what stays out, what the server keeps, and signing out. */
import { createHistory, type History } from '../../client/history.ts'
import { createBackup, deriveKeys, loadMasterKey } from '../../client/index.ts'
import type { BrowserNode } from '../index.ts'
import { openOwnClient } from './client.ts'
import { describe } from './describe.ts'
import { deviceIdOf, nameOf } from './device-name.ts'
import { act, ask, attempt, element, made } from './page.ts'
import { platform } from './platform.ts'
import { allSites, changeAddress, changeSettings, readSettings, removeServerPermission } from './settings.ts'
import { text } from './text.ts'
import { openVisitsSettings } from './visits.ts'

/** How long (ms) the URL of a backup is kept after the click, because the browser still reads the file from it. */
const keptMs = 60_000

act('set-up', 'click', () => platform.tabs.create({ url: platform.runtime.getURL('start.html') }))
act('move', 'click', changeAddress)
act('device', 'submit', rename)
act('show-deleted', 'click', showDeleted)
act('save-backup', 'click', saveBackup)
element('fill-titles').addEventListener('change', () => attempt(decideTitles))
act('sign-out', 'click', () => signOut(false))
act('discard', 'click', () => signOut(true))
await show()
await attempt(openVisitsSettings)

async function show(): Promise<void> {
  const { baseUrl, deviceId = '', fillsTitles = false } = await readSettings()
  const { state } = await ask({ ask: 'state' })
  const isReady = state?.setup === 'ready' && baseUrl !== undefined
  const { headline, detail = '' } = state ? describe(state) : { headline: '' }
  element('who').textContent = isReady ? text('server', baseUrl) : `${headline}. ${state?.fault ? detail : ''}`.trim()
  element('set-up').textContent = text(state?.setup === 'locked' ? 'signIn' : 'setUp')
  element('set-up').hidden = isReady || state?.setup === 'failed'
  element('move').hidden = !baseUrl
  element('kept').hidden = !isReady
  element('titles').hidden = !isReady
  const isAllowed = fillsTitles && (await platform.permissions.contains({ origins: allSites }))
  element<HTMLInputElement>('fill-titles').checked = isAllowed
  element('way-out').hidden = !isReady && state?.fault?.kind !== 'newer'
  // These settings can only be changed while the sync runs.
  for (const id of ['device', 'left-out', 'visits-settings']) element(id).hidden = !isReady || state.isPaused
  element('paused').hidden = !state?.isPaused
  element<HTMLInputElement>('name').value = nameOf(deviceId)
  element('server-page').setAttribute('href', baseUrl ?? '')
  const [top] = await platform.bookmarks.getTree()
  const leftOut = new Set(state?.leftOut)
  const roots = (top?.children ?? []).filter(({ unmodifiable }) => !unmodifiable)
  const lines = roots.map((root) => {
    const inside = foldersIn(root).map((folder) => line(folder, leftOut.has(folder.id)))
    const item = line(root, leftOut.has(root.id))
    if (inside.length > 0) item.append(made('ul', { className: 'plain' }, ...inside))
    return item
  })
  element('folders').replaceChildren(...lines)
}

async function decideTitles(): Promise<void> {
  const box = element<HTMLInputElement>('fill-titles')
  // Asks immediately: a browser shows its permission prompt only right after a click.
  const fillsTitles = box.checked && (await platform.permissions.request({ origins: allSites }))
  box.checked = fillsTitles
  await changeSettings({ fillsTitles })
  if (!fillsTitles) await removeSitesPermission()
  await ask({ ask: 'start' })
}

async function removeSitesPermission(): Promise<void> {
  await platform.permissions.remove({ origins: allSites }).catch(() => {})
}

/** The service takes a renamed device for another one, so the old one must have sent everything. */
async function rename(): Promise<void> {
  const { deviceId: before = '' } = await readSettings()
  const deviceId = deviceIdOf(element<HTMLInputElement>('name').value, before)
  if (deviceId !== before) {
    const { state } = await ask({ ask: 'sync-now' })
    if (state?.sync?.waiting) throw new Error(text('renameLater'))
    await changeSettings({ deviceId })
    await ask({ ask: 'start' })
    const id = { params: { path: { id: before } } }
    await openOwnClient(await readSettings())
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
    const title = bookmark?.title || bookmark?.url || text('otherKeys')
    const restore = async () => {
      await trash.restoreVersion(id)
      item.remove()
    }
    const properties = {
      type: 'button',
      onclick: () => attempt(restore),
      ariaLabel: text('putBackTitle', title),
    } as const
    const item = made('li', { className: 'row' }, made('button', properties, text('putBack')), title)
    return item
  })
  element('deleted').replaceChildren(...lines)
  element('none-deleted').hidden = lines.length > 0
}

/** The folders in one of the browser's own, by which people separate topics. Only these and its own can stay out. */
function foldersIn({ children = [] }: BrowserNode): BrowserNode[] {
  return children.filter(({ children, unmodifiable }) => children !== undefined && !unmodifiable)
}

function line({ id, title }: BrowserNode, isOut: boolean): HTMLElement {
  const decide = async () => {
    const { state } = await ask({ ask: box.checked ? 'leave-out' : 'take-in', browserId: id })
    if (state?.isPaused) await show()
  }
  const box = made('input', { type: 'checkbox', checked: isOut, onchange: () => attempt(decide) })
  return made('li', {}, made('label', { className: 'inline' }, box, title || text('namelessFolder')))
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
  await removeSitesPermission()
  if (baseUrl) await removeServerPermission(baseUrl)
  await show()
}

/** Opens the trash of recently deleted bookmarks. Its `syncNow` asks the worker, which owns the sync. */
async function openTrash(): Promise<Pick<History, 'trash' | 'restoreVersion'>> {
  const sync = {
    syncNow: async () => void (await ask({ ask: 'sync-now' })),
    heldDeletions: () => [],
    approveDeletions: async () => {},
  }
  return createHistory({ ...(await openVault()), sync })
}

async function openVault() {
  const settings = await readSettings()
  const userId = settings.userId ?? ''
  const masterKey = await loadMasterKey(userId)
  if (!masterKey) throw new Error(text('passphraseFirst'))
  return { client: openOwnClient(settings), keys: deriveKeys(masterKey), userId }
}

/** Downloads a backup of all bookmarks and tab groups. This user's keys, passphrase or recovery code open it, nothing else. */
async function saveBackup(): Promise<void> {
  await ask({ ask: 'sync-now' })
  const { client, ...owner } = await openVault()
  const onUnverified = () => (element('fault').textContent = text('backupUnverified'))
  const file = await createBackup(client, { ...owner, onUnverified })
  const href = URL.createObjectURL(file)
  // Dates in Swedish have the form of ISO 8601.
  const download = `bookmarks-${new Date().toLocaleDateString('sv')}.dat`
  made('a', { href, download }).click()
  setTimeout(() => URL.revokeObjectURL(href), keptMs)
}
