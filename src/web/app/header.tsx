import { useSync } from '../../client/react.ts'
import { SearchBox } from '../library/search-box.tsx'
import { Button, IconButton } from '../ui/button.tsx'
import { Icon } from '../ui/icon.tsx'
import { BookmarkIcon, LockIcon, MenuIcon, SignOutIcon, TwoDevicesIcon, UserIcon } from '../ui/icons.ts'
import { Menu } from '../ui/menu.tsx'
import { useApp } from './context.ts'
import { lock } from './lock.ts'
import { NetworkSwitch } from './network-switch.tsx'
import { hrefOf } from './route.ts'
import type { Beside } from './second-device.tsx'
import { signOut } from './sign-out.ts'
import { Status } from './status.tsx'

interface HeaderProps {
  beside: Beside
  isMenuOpen: boolean
  toggleMenu: () => void
}

export function Header({ beside, isMenuOpen, toggleMenu }: HeaderProps) {
  const { person, device, userId } = useApp()
  const sync = useSync()
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
        <Icon of={BookmarkIcon} />
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
      <Menu
        label={person === '' ? device.name : `${person}, ${device.name}`}
        icon={UserIcon}
        items={[
          device.keepsKey && { label: 'Lock', icon: LockIcon, action: () => lock(userId) },
          { label: 'Sign out', icon: SignOutIcon, action: () => signOut(sync) },
        ]}
      />
    </header>
  )
}
