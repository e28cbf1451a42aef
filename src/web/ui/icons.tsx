import { h } from 'preact'

/** The shapes of an icon from Lucide. */
export type IconShapes = readonly (readonly [tag: string, attributes: Record<string, string>])[]

/** A decorative icon: a text next to it or the label of its button has the meaning. */
export function Icon({ of }: { of: IconShapes }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {of.map(([tag, attributes]) => h(tag, attributes))}
    </svg>
  )
}

/** The same drawing as the icon of the documents and of the browser's tab. */
export function Logo() {
  return (
    <svg class="icon" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#2f4fb3" />
      <path
        d="M10 7h12a1.5 1.5 0 0 1 1.5 1.5V26l-7.5-5-7.5 5V8.5A1.5 1.5 0 0 1 10 7z M16 10.5a2.2 2.2 0 0 0-1.1 4.1v2.9h2.2v-2.9A2.2 2.2 0 0 0 16 10.5z"
        fill="#fff"
      />
    </svg>
  )
}

/** The page's icons, from lucide.dev. Of Lucide's, only these are bundled, and those of pairing/shapes.ts. */

export { default as SortIcon } from 'lucide/dist/esm/icons/arrow-down-up.mjs'
export { default as DocsIcon } from 'lucide/dist/esm/icons/book-open.mjs'
export { default as BookmarkIcon } from 'lucide/dist/esm/icons/bookmark.mjs'
export { default as BookmarkPlusIcon } from 'lucide/dist/esm/icons/bookmark-plus.mjs'
export { default as ChevronIcon } from 'lucide/dist/esm/icons/chevron-right.mjs'
export { default as UserIcon } from 'lucide/dist/esm/icons/circle-user.mjs'
export { default as VisitsIcon } from 'lucide/dist/esm/icons/clock.mjs'
export { default as GoBackIcon } from 'lucide/dist/esm/icons/clock-arrow-left.mjs'
export { default as TwoDevicesIcon } from 'lucide/dist/esm/icons/columns-2.mjs'
export { default as DuplicatesIcon } from 'lucide/dist/esm/icons/copy.mjs'
export { default as MoreIcon } from 'lucide/dist/esm/icons/ellipsis.mjs'
export { default as OpenIcon } from 'lucide/dist/esm/icons/external-link.mjs'
export { default as FolderIcon } from 'lucide/dist/esm/icons/folder.mjs'
export { default as MoveIcon } from 'lucide/dist/esm/icons/folder-input.mjs'
export { default as FolderOpenIcon } from 'lucide/dist/esm/icons/folder-open.mjs'
export { default as FolderPlusIcon } from 'lucide/dist/esm/icons/folder-plus.mjs'
export { default as ConflictIcon } from 'lucide/dist/esm/icons/git-compare-arrows.mjs'
export { default as KeyboardIcon } from 'lucide/dist/esm/icons/keyboard.mjs'
export { default as LanguageIcon } from 'lucide/dist/esm/icons/languages.mjs'
export { default as GroupsIcon } from 'lucide/dist/esm/icons/layers.mjs'
export { default as CardsIcon } from 'lucide/dist/esm/icons/layout-grid.mjs'
export { default as HomeIcon } from 'lucide/dist/esm/icons/library-big.mjs'
export { default as ListIcon } from 'lucide/dist/esm/icons/list.mjs'
export { default as SelectAllIcon } from 'lucide/dist/esm/icons/list-checks.mjs'
export { default as LockIcon } from 'lucide/dist/esm/icons/lock.mjs'
export { default as SignOutIcon } from 'lucide/dist/esm/icons/log-out.mjs'
export { default as MenuIcon } from 'lucide/dist/esm/icons/menu.mjs'
export { default as MergeIcon } from 'lucide/dist/esm/icons/merge.mjs'
export { default as DevicesIcon } from 'lucide/dist/esm/icons/monitor-smartphone.mjs'
export { default as EditIcon } from 'lucide/dist/esm/icons/pencil.mjs'
export { default as HistoryIcon } from 'lucide/dist/esm/icons/rotate-ccw-clock.mjs'
export { default as SearchIcon } from 'lucide/dist/esm/icons/search.mjs'
export { default as ServerIcon } from 'lucide/dist/esm/icons/server.mjs'
export { default as SettingsIcon } from 'lucide/dist/esm/icons/settings.mjs'
export { default as StarIcon } from 'lucide/dist/esm/icons/star.mjs'
export { default as TagIcon } from 'lucide/dist/esm/icons/tag.mjs'
export { default as TrashIcon } from 'lucide/dist/esm/icons/trash.mjs'
export { default as CloseIcon } from 'lucide/dist/esm/icons/x.mjs'
