import type { TargetedKeyboardEvent } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { SyncProgress, SyncReason, SyncState, SyncStatus } from '../../client/index.ts'
import { useSync, useSyncStatus } from '../../client/react.ts'
import { openBookmark } from '../library/editor.tsx'
import { Button, IconButton } from '../ui/button.tsx'
import { showDialog } from '../ui/dialogs.tsx'
import {
  DevicesIcon,
  HistoryIcon,
  Icon,
  LockIcon,
  Logo,
  MenuIcon,
  SearchIcon,
  ServerIcon,
  SignOutIcon,
  TwoDevicesIcon,
  UserIcon,
} from '../ui/icons.tsx'
import { lazily } from '../ui/lazily.tsx'
import { Menu, type MenuItem } from '../ui/menu.tsx'
import { type App, useApp } from './context.ts'
import { showDetails } from './details.tsx'
import { takeOffline, unsentOf, useIsCut } from './network.ts'
import { go, hrefOf, readRoute, useRoute } from './route.ts'
import { type Beside, showPairing } from './second-device.tsx'
import { lock, signOut } from './session.ts'
import { useSingleKeys } from './shortcuts.ts'

const Seen = lazily(() => import('../seen/seen.tsx').then(({ Seen }) => Seen))

interface HeaderProps {
  beside: Beside
  isMenuOpen: boolean
  toggleMenu: () => void
}

export function Header({ beside, isMenuOpen, toggleMenu }: HeaderProps) {
  const app = useApp()
  const { person, device } = app
  const isFramed = window !== window.top
  return (
    <header class="header">
      <Button look="primary" class="skip-link" onClick={() => document.querySelector<HTMLElement>('#main')?.focus()}>
        Skip to the content
      </Button>
      <IconButton
        label={isMenuOpen ? 'Close the menu' : 'Open the menu'}
        icon={MenuIcon}
        class="menu-button"
        aria-expanded={isMenuOpen}
        aria-controls="sidebar"
        onClick={toggleMenu}
      />
      <a class="brand" href={hrefOf('folder')}>
        <Logo />
        Encrypted Bookmark Sync
      </a>
      <SearchBox />
      {(isFramed || beside.isOpen) && <NetworkSwitch />}
      <Status />
      {!isFramed && (
        <Button
          look="quiet"
          icon={TwoDevicesIcon}
          class="beside-button"
          title="Second device alongside"
          aria-pressed={beside.isOpen}
          onClick={beside.toggle}
        >
          Second device alongside
        </Button>
      )}
      <Menu label={person === '' ? device.name : `${person}, ${device.name}`} icon={UserIcon} items={ownMenu(app)} />
    </header>
  )
}

/** What a person does with this device and its session; the command bar has it, too. */
export function ownMenu(app: App): MenuItem[] {
  const { device, sync, userId } = app
  const withKey: MenuItem[] = [
    { label: 'Pair a phone', icon: DevicesIcon, action: () => showPairing(app) },
    { label: 'Lock', icon: LockIcon, action: () => lock(userId) },
  ]
  return [
    ...(device.keepsKey ? withKey : []),
    {
      label: 'What the server sees',
      icon: ServerIcon,
      action: () => showDialog((close) => <Seen sync={sync} close={close} />),
    },
    { label: 'Details of the sync', icon: HistoryIcon, action: () => showDetails(sync) },
    { label: 'Sign out', icon: SignOutIcon, action: () => signOut(sync) },
  ]
}

/**
 * Searches while somebody types. Enter opens the best that is found, the arrow leads into the list. Emptied, it leads back to
 * where they were.
 */
function SearchBox() {
  const { view, rest } = useRoute()
  const sync = useSync()
  const input = useRef<HTMLInputElement>(null)
  const before = useRef({ view: 'folder', rest: '' })
  // With the view: words that were searched for would stand beside another one for a moment.
  useLayoutEffect(() => {
    if (view !== 'search') before.current = { view, rest }
    // Also after "back". What is being typed is in the address already, maybe before it was drawn.
    const { view: now, rest: query } = readRoute(location.hash)
    const shown = now === 'search' ? query : ''
    if (input.current && input.current.value !== shown) input.current.value = shown
  }, [view, rest])
  const search = (text: string) => {
    const back = before.current
    if (text.trim() === '') go(back.view, back.rest, { replace: true })
    else go('search', text, { replace: view === 'search' })
  }
  const press = async (event: TargetedKeyboardEvent<HTMLInputElement>) => {
    if (event.key === 'ArrowDown') {
      event.preventDefault()
      document.querySelector<HTMLElement>('#main [data-main]')?.focus()
    } else if (event.key === 'Enter') {
      const [first] = await sync.search(event.currentTarget.value, { limit: 1 })
      if (first) openBookmark(sync, first)
    }
  }
  return (
    <search class="search">
      <Icon of={SearchIcon} />
      <input
        ref={input}
        type="search"
        placeholder="Search"
        aria-label="Search your bookmarks"
        defaultValue={view === 'search' ? rest : ''}
        onInput={(event) => search(event.currentTarget.value)}
        onKeyDown={press}
      />
      {useSingleKeys() && <kbd>/</kbd>}
    </search>
  )
}

const stateNames: Record<SyncState, string> = {
  connecting: 'Connecting',
  syncing: 'Syncing',
  online: 'In sync',
  polling: 'Checking every half a minute',
  offline: 'Offline',
  'signed-out': 'Signed out',
}

const reasonNames: Record<SyncReason, string> = {
  network: 'no connection',
  service: 'the service has a problem',
  limited: 'the service asks to wait',
  storage: 'this browser’s storage is full',
  outdated: 'a newer version of this page has taken over',
  keys: 'the keys were replaced on another device',
  deletions: 'deletions wait for you',
  quota: 'no room left on the service',
  refused: 'the service refused an edit',
}

/** Says in a word or two if this device is in sync. Numbers change too often to be read out. */
function Status() {
  const status = useSyncStatus()
  const { state, reason, progress, waiting, quarantined = 0 } = status
  const isOutdated = reason === 'outdated'
  const unsent = unsentOf(status)
  const words = isOutdated ? 'Reload needed' : wordsOf({ state, reason })
  const steps = progress ? ` ${stepsText(progress)}` : ''
  return (
    <span class="status" id="status" data-state={state} data-waiting={waiting} title={words}>
      <span aria-hidden="true">
        {isOutdated ? words : `${stateNames[state]}${steps}`}
        {unsent > 0 && <span class="waiting-count">, {count(unsent)} to send</span>}
        {quarantined > 0 && <span class="waiting-count">, {count(quarantined)} refused</span>}
      </span>
      <span class="unseen" role="status">
        {words}
      </span>
    </span>
  )
}

function wordsOf({ state, reason }: { state: SyncStatus['state']; reason: SyncReason | undefined }): string {
  return reason ? `${stateNames[state]}: ${reasonNames[reason]}` : stateNames[state]
}

/** The service does not say how many changes follow: a total that is reached may rise again. */
function stepsText({ done, total }: SyncProgress): string {
  return done < total ? `${count(done)} of ${count(total)}` : `${count(done)} so far`
}

function count(number: number): string {
  return number.toLocaleString()
}

/** Takes this device offline, for anybody who wants to see what happens then. */
function NetworkSwitch() {
  const isCut = useIsCut()
  return (
    <label class="switch">
      <input
        type="checkbox"
        role="switch"
        aria-checked={!isCut}
        checked={!isCut}
        onChange={() => takeOffline(!isCut)}
      />
      <span>Network</span>
    </label>
  )
}
