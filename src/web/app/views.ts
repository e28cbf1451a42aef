import type { ComponentType } from 'preact'
import { AddPage } from '../library/editor.tsx'
import { All, Duplicates, Folder, Found, Tagged } from '../library/lists.tsx'
import type { ViewLink } from '../sidebar/sidebar.tsx'
import {
  BookmarkIcon,
  ConflictIcon,
  DevicesIcon,
  DuplicatesIcon,
  GoBackIcon,
  GroupsIcon,
  HistoryIcon,
  HomeIcon,
  KeyboardIcon,
  LockIcon,
  SearchIcon,
  SettingsIcon,
  StarIcon,
  TagIcon,
  TrashIcon,
  VisitsIcon,
} from '../ui/icons.tsx'
import { lazily } from '../ui/lazily.tsx'
import { ConflictCount } from './notices.tsx'

/** A view and its link in the sidebar. */
export interface View extends ViewLink {
  /** `rest` is the part of the address after the path. Rarely needed views come from `lazily`. */
  Component: ComponentType<{ rest: string }>
}

/** Add new views here. The first one is shown if the address names none. */
export const views: readonly View[] = [
  { path: 'folder', icon: HomeIcon, group: 'library', Component: Folder },
  { path: 'all', icon: BookmarkIcon, group: 'library', Component: All },
  {
    path: 'stars',
    icon: StarIcon,
    group: 'library',
    Component: lazily(() => import('../stars/view.tsx').then(({ Stars }) => Stars)),
  },
  {
    path: 'groups',
    icon: GroupsIcon,
    group: 'library',
    Component: lazily(() => import('./records.ts').then(({ Groups }) => Groups)),
  },
  {
    path: 'visits',
    icon: VisitsIcon,
    group: 'library',
    Component: lazily(() => import('./records.ts').then(({ Visits }) => Visits)),
  },
  { path: 'tag', icon: TagIcon, Component: Tagged },
  { path: 'search', icon: SearchIcon, Component: Found },
  { path: 'add', icon: BookmarkIcon, Component: AddPage },
  { path: 'duplicates', icon: DuplicatesIcon, group: 'care', Component: Duplicates },
  {
    path: 'conflicts',
    icon: ConflictIcon,
    group: 'care',
    Badge: ConflictCount,
    Component: lazily(() => import('../conflicts/conflicts.tsx').then(({ Conflicts }) => Conflicts)),
  },
  {
    path: 'trash',
    icon: TrashIcon,
    group: 'care',
    Component: lazily(() => import('../history/trash.tsx').then(({ Trash }) => Trash)),
  },
  {
    path: 'go-back',
    icon: GoBackIcon,
    group: 'care',
    Component: lazily(() => import('../history/go-back.tsx').then(({ GoBack }) => GoBack)),
  },
  {
    path: 'history',
    icon: HistoryIcon,
    Component: lazily(() => import('../history/versions.tsx').then(({ Versions }) => Versions)),
  },
  {
    path: 'account',
    icon: DevicesIcon,
    group: 'app',
    Component: lazily(() => import('../account/account.tsx').then(({ AccountView }) => AccountView)),
  },
  {
    path: 'settings',
    icon: SettingsIcon,
    group: 'app',
    Component: lazily(() => import('../settings/settings.tsx').then(({ Settings }) => Settings)),
  },
  {
    path: 'security',
    icon: LockIcon,
    group: 'app',
    Component: lazily(() => import('../settings/security.tsx').then(({ Security }) => Security)),
  },
  {
    path: 'shortcuts',
    icon: KeyboardIcon,
    group: 'app',
    Component: lazily(() => import('../settings/shortcuts.tsx').then(({ Shortcuts }) => Shortcuts)),
  },
]
