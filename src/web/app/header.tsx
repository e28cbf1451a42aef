import type { TargetedKeyboardEvent } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { SyncProgress, SyncReason, SyncStatus } from '../../client/index.ts'
import { useSync, useSyncStatus } from '../../client/react.ts'
import { firstFound } from '../library/collection.tsx'
import { openBookmark } from '../library/editor.tsx'
import { showPairing } from '../pairing/show.tsx'
import { type App, useApp } from '../session/context.ts'
import { closeDevice, hasSecondDevice } from '../session/device.ts'
import { takeOffline, unsentOf, useIsCut } from '../session/network.ts'
import { go, hrefOf, readRoute, useRoute } from '../session/route.ts'
import { lock, signOut } from '../session/session.ts'
import { useSingleKeys } from '../settings/single-keys.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { showDialog } from '../ui/dialogs.tsx'
import {
  CloseIcon,
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
import { say } from '../words/words.ts'
import { showDetails } from './notices.tsx'
import type { SecondDeviceView } from './second-device.tsx'

const Seen = lazily(() => import('../seen/seen.tsx').then(({ Seen }) => Seen))

interface HeaderProps {
  beside: SecondDeviceView
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
        {say.app.skip}
      </Button>
      <IconButton
        label={isMenuOpen ? say.app.closeMenu : say.app.openMenu}
        icon={MenuIcon}
        class="menu-button"
        aria-expanded={isMenuOpen}
        aria-controls="sidebar"
        onClick={toggleMenu}
      />
      <a class="brand" href={hrefOf('folder')}>
        <Logo />
        {say.ui.brand}
      </a>
      <SearchBox />
      {(isFramed || beside.isOpen) && <NetworkSwitch />}
      <Status />
      {!isFramed && hasSecondDevice() && (
        <Button
          look="quiet"
          icon={TwoDevicesIcon}
          class="beside-button"
          title={say.app.alongside}
          aria-pressed={beside.isOpen}
          onClick={beside.toggle}
        >
          {say.app.alongside}
        </Button>
      )}
      <Menu label={person === '' ? device.name : `${person}, ${device.name}`} icon={UserIcon} items={ownMenu(app)} />
    </header>
  )
}

/** Actions on this device and its session. The command bar has them, too. */
export function ownMenu(app: App): MenuItem[] {
  const { device, sync, userId } = app
  const withKey: MenuItem[] = [
    { label: say.app.pairPhone, icon: DevicesIcon, action: () => showPairing(app) },
    { label: say.app.lock, icon: LockIcon, action: () => lock(userId) },
  ]
  return [
    ...(device.keepsKey ? withKey : []),
    {
      label: say.app.serverSees,
      icon: ServerIcon,
      action: () => showDialog((close) => <Seen sync={sync} close={close} />),
    },
    { label: say.app.syncDetails, icon: HistoryIcon, action: () => showDetails(sync) },
    device.keepsKey
      ? { label: say.app.signOut, icon: SignOutIcon, action: () => signOut(sync, userId) }
      : { label: say.app.closeDevice, icon: CloseIcon, action: closeDevice },
  ]
}

/** Searches while the person types. Enter opens the first hit; the down arrow moves into the list. */
function SearchBox() {
  const { view, rest } = useRoute()
  const sync = useSync()
  const input = useRef<HTMLInputElement>(null)
  const before = useRef({ view: 'folder', rest: '' })
  // A layout effect, because a normal one would show the old search words above another view for a moment.
  useLayoutEffect(() => {
    if (view !== 'search') before.current = { view, rest }
    // Reads the address, because `rest` lags behind while somebody types. After "back", shows the earlier search words.
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
      const first = await firstFound(sync, event.currentTarget.value)
      if (first) openBookmark(sync, first)
    }
  }
  return (
    <search class="search">
      <Icon of={SearchIcon} />
      <input
        ref={input}
        type="search"
        placeholder={say.app.search}
        aria-label={say.app.searchLabel}
        defaultValue={view === 'search' ? rest : ''}
        onInput={(event) => search(event.currentTarget.value)}
        onKeyDown={press}
      />
      {useSingleKeys() && <kbd>/</kbd>}
    </search>
  )
}

/** Shows in a word or two whether this device is in sync. Screen readers get no numbers: these change too often. */
function Status() {
  const status = useSyncStatus()
  const { state, reason, progress, waiting, quarantined = 0 } = status
  const isOutdated = reason === 'outdated'
  const unsent = unsentOf(status)
  const words = isOutdated ? say.app.reloadNeeded : wordsOf({ state, reason })
  const steps = progress ? ` ${stepsText(progress)}` : ''
  return (
    <span class="status" id="status" data-state={state} data-waiting={waiting} title={words}>
      <span aria-hidden="true">
        {isOutdated ? words : `${say.app.states[state]}${steps}`}
        {unsent > 0 && <span class="waiting-count">, {say.app.toSend(unsent)}</span>}
        {quarantined > 0 && <span class="waiting-count">, {say.app.refusedCount(quarantined)}</span>}
      </span>
      <span class="unseen" role="status">
        {words}
      </span>
    </span>
  )
}

function wordsOf({ state, reason }: { state: SyncStatus['state']; reason: SyncReason | undefined }): string {
  return reason ? `${say.app.states[state]}: ${say.app.reasons[reason]}` : say.app.states[state]
}

/** Describes the progress. The service does not tell how many changes will follow, so the total may still rise. */
function stepsText({ done, total }: SyncProgress): string {
  return done < total ? say.app.stepsOf(done, total) : say.app.stepsSoFar(done)
}

/** Takes this device offline, so that the person can try out what happens then. */
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
      <span>{say.app.network}</span>
    </label>
  )
}
