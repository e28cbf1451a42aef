import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { go, hrefOf } from '../session/route.ts'
import { sharedValue } from '../ui/shared-value.ts'

/** The id of the bookmark to scroll to. */
const sought = sharedValue<string | undefined>(undefined)

/** Opens a bookmark's folder and scrolls to the bookmark. */
export function reveal(sync: Sync, id: string): void {
  const { parentId = '' } = sync.get(id) ?? {}
  sought.set(id)
  if (location.hash !== hrefOf('folder', parentId)) go('folder', parentId)
}

/** Scrolls to the bookmark to reveal and focuses it, as soon as its id is in the list of its folder. */
export function useRevealed(
  section: RefObject<HTMLElement | null>,
  ids: readonly string[],
  isFolderShown: boolean,
): void {
  const id = sought.use()
  useEffect(() => {
    const at = id === undefined || !isFolderShown ? -1 : ids.indexOf(id)
    const list = section.current?.querySelector<HTMLElement>('[data-columns]')
    if (id === undefined || at < 0 || !section.current || !list) return
    sought.set(undefined)
    scrollToItem(list, at, ids.length)
    focusRow(section.current, id)
  }, [id, ids])
}

/** Focuses the title of a row. The row may be drawn some frames later, so this tries again. */
export function focusRow(list: HTMLElement, id: string, frames = 5): void {
  const title = list.querySelector<HTMLElement>(`li[data-id="${CSS.escape(id)}"] [data-main]`)
  if (title) {
    title.focus()
    title.scrollIntoView({ block: 'nearest' })
  } else if (frames > 0) requestAnimationFrame(() => focusRow(list, id, frames - 1))
}

/** Scrolls an item of a virtual list into view. Items out of view may not be in the document. */
export function scrollToItem(list: HTMLElement, at: number, count: number): void {
  const columns = Number(list.dataset.columns)
  const { top, height } = list.getBoundingClientRect()
  const scroller = list.closest('[data-scrolls]') as HTMLElement
  const seen = scroller.getBoundingClientRect()
  const lineHeight = height / Math.ceil(count / columns)
  const line = top + Math.floor(at / columns) * lineHeight
  if (line < seen.top || line > seen.bottom - lineHeight) scroller.scrollBy(0, line - (seen.top + seen.bottom) / 2)
}
