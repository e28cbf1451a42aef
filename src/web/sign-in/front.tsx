import type { ComponentChildren } from 'preact'
import { Icon } from '../ui/icon.tsx'
import { BookmarkIcon } from '../ui/icons.ts'
import { Picture } from './picture.tsx'

/** The page before the bookmarks are open: what has to be done, beside a picture of what this is. */
export function Front({ children }: { children: ComponentChildren }) {
  return (
    <div class="front">
      <header class="front-head">
        <span class="brand">
          <Icon of={BookmarkIcon} />
          Encrypted Bookmark Sync
        </span>
        <a href="/docs">Documentation</a>
      </header>
      <main class="front-main">{children}</main>
      <Picture />
    </div>
  )
}
