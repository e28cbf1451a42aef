import type { ComponentType } from 'preact'
import { AddPage } from '../library/editor.tsx'
import { All, Folder, Found, Tagged } from '../library/lists.tsx'
import {
  BookmarkIcon,
  ConflictIcon,
  DevicesIcon,
  DuplicatesIcon,
  GoBackIcon,
  HistoryIcon,
  HomeIcon,
  type IconShapes,
  KeyboardIcon,
  LockIcon,
  SearchIcon,
  SettingsIcon,
  TagIcon,
  TrashIcon,
} from '../ui/icons.tsx'
import { lazily } from '../ui/lazily.tsx'
import { ConflictCount } from './notices.tsx'

/** A page beside the sidebar. */
export interface View {
  /** Its part of the address: `#/folder/…`. */
  path: string
  title: string
  icon: IconShapes
  /** Where the sidebar links to it; views without a group are reached otherwise. */
  group?: 'library' | 'care' | 'app'
  /** Shown at the end of the link, such as a number. */
  Badge?: ComponentType
  /** `rest` is what follows the path in the address. Views that few need come from `lazily`. */
  Component: ComponentType<{ rest: string }>
}

/** To add a view, add it here. The first one is shown where the address names none. */
export const views: readonly View[] = [
  { path: 'folder', title: 'Bookmarks', icon: HomeIcon, group: 'library', Component: Folder },
  { path: 'all', title: 'All bookmarks', icon: BookmarkIcon, group: 'library', Component: All },
  { path: 'tag', title: 'Tag', icon: TagIcon, Component: Tagged },
  { path: 'search', title: 'Search', icon: SearchIcon, Component: Found },
  { path: 'add', title: 'Add', icon: BookmarkIcon, Component: AddPage },
  {
    path: 'duplicates',
    title: 'Duplicates',
    icon: DuplicatesIcon,
    group: 'care',
    Component: lazily(() => import('../library/duplicates.tsx').then(({ Duplicates }) => Duplicates)),
  },
  {
    path: 'conflicts',
    title: 'Conflicts',
    icon: ConflictIcon,
    group: 'care',
    Badge: ConflictCount,
    Component: lazily(() => import('../conflicts/conflicts.tsx').then(({ Conflicts }) => Conflicts)),
  },
  {
    path: 'trash',
    title: 'Trash',
    icon: TrashIcon,
    group: 'care',
    Component: lazily(() => import('../history/trash.tsx').then(({ Trash }) => Trash)),
  },
  {
    path: 'go-back',
    title: 'Go back in time',
    icon: GoBackIcon,
    group: 'care',
    Component: lazily(() => import('../history/go-back.tsx').then(({ GoBack }) => GoBack)),
  },
  {
    path: 'history',
    title: 'History',
    icon: HistoryIcon,
    Component: lazily(() => import('../history/versions.tsx').then(({ Versions }) => Versions)),
  },
  {
    path: 'account',
    title: 'Devices and account',
    icon: DevicesIcon,
    group: 'app',
    Component: lazily(() => import('../account/account.tsx').then(({ AccountView }) => AccountView)),
  },
  {
    path: 'settings',
    title: 'Import and backups',
    icon: SettingsIcon,
    group: 'app',
    Component: lazily(() => import('../settings/settings.tsx').then(({ Settings }) => Settings)),
  },
  {
    path: 'security',
    title: 'Security',
    icon: LockIcon,
    group: 'app',
    Component: lazily(() => import('../settings/security.tsx').then(({ Security }) => Security)),
  },
  {
    path: 'shortcuts',
    title: 'Shortcuts',
    icon: KeyboardIcon,
    group: 'app',
    Component: lazily(() => import('../settings/shortcuts.tsx').then(({ Shortcuts }) => Shortcuts)),
  },
]
