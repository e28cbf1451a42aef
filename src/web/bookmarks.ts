import { type Sync, type SyncReason, type SyncState, UnsentChangesError } from '../client/index.ts'
import { type BackupParts, backupTools } from './backups.ts'
import { conflictList } from './conflicts.ts'
import { button, element } from './dom.ts'
import { openEditor } from './editor.ts'
import { refusedList } from './refused.ts'
import { createTreeView } from './tree-view.ts'
import type { VaultOwner } from './vault.ts'
import { vaultTools } from './vault-tools.ts'

export interface App extends BackupParts, VaultOwner {
  title: string
}

/** The page of a signed-in person whose vault is open. */
export function showBookmarks(main: HTMLElement, app: App): void {
  const { sync } = app
  const tree = createTreeView(sync)
  const search = element('input', { type: 'search', placeholder: 'Search', 'aria-label': 'Search your bookmarks' })
  search.addEventListener('input', () => tree.search(search.value))
  main.replaceChildren(
    element(
      'div',
      { className: 'bar' },
      element('strong', {}, app.title),
      statusLine(sync),
      window === window.top && button('Second device alongside', showSecondDevice, { className: 'wide' }),
      button('Sign out', () => signOut(app)),
    ),
    heldDeletions(sync),
    conflictList(sync),
    refusedList(sync),
    element(
      'div',
      { className: 'bar' },
      button('Add bookmark', () => openEditor(sync, 'link'), { className: 'primary' }),
      button('Add folder', () => openEditor(sync, 'folder')),
      search,
    ),
    tree.element,
    backupTools(app),
    vaultTools(app),
  )
}

const stateNames: Record<SyncState, string> = {
  connecting: 'Connecting',
  syncing: 'Syncing',
  online: 'Live',
  polling: 'Checking now and then',
  offline: 'Offline',
  'signed-out': 'Signed out',
}

const reasonNames: Record<SyncReason, string> = {
  network: 'no answer',
  storage: 'this device’s storage is full',
  deletions: 'deletions wait for you',
  quota: 'no room left on the service',
  refused: 'the service refused an edit',
}

function statusLine(sync: Sync): HTMLElement {
  const line = element('span', { role: 'status', id: 'status' })
  const show = () => {
    const { state, reason, progress, waiting } = sync.status()
    line.dataset.state = state
    line.dataset.waiting = String(waiting)
    line.textContent = [
      `${stateNames[state]}${progress ? ` ${progress.done} of ${progress.total}` : ''}`,
      ...(reason ? [reasonNames[reason]] : []),
      ...(waiting > 0 ? [`${waiting} to send`] : []),
    ].join(', ')
    // Another tab may have signed out. Pending changes are kept, unless that tab was told to discard them.
    if (state === 'signed-out') location.reload()
  }
  sync.on('status', show)
  show()
  return line
}

/** Another device has deleted many of the bookmarks. That may be a mistake, so it waits for confirmation. */
function heldDeletions(sync: Sync): HTMLElement {
  const section = element('section', { className: 'card', hidden: true, 'aria-label': 'Deleted on another device' })
  const show = () => {
    const held = sync.status().heldDeletions
    section.hidden = held === undefined
    if (!held) return
    section.replaceChildren(
      element('p', {}, `Another device deleted ${held.count} of your ${held.of} bookmarks.`),
      button('Delete them here too', () => sync.approveDeletions(held.count)),
      button('Keep them everywhere', () => sync.rejectDeletions()),
    )
  }
  sync.on('status', show)
  show()
  return section
}

async function signOut({ sync }: App): Promise<void> {
  try {
    await sync.signOut()
  } catch (error) {
    if (!(error instanceof UnsentChangesError)) throw error
    if (!confirm(`${error.count} edits have not been sent yet. Sign out and lose them?`)) return
    await sync.signOut({ discardUnsent: true })
  }
  location.assign('/')
}

function showSecondDevice(): void {
  const beside = document.querySelector('#beside') as HTMLElement
  const isOpen = beside.firstChild !== null
  beside.replaceChildren(
    ...(isOpen ? [] : [element('iframe', { src: '/?device=Second device', title: 'A second device' })]),
  )
  document.body.classList.toggle('two', !isOpen)
}
