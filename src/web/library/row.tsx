import { createContext } from 'preact'
import { memo } from 'preact/compat'
import { useContext } from 'preact/hooks'
import type { Sync, SyncReader } from '../../client/index.ts'
import { useBookmark, useSync } from '../../client/react.ts'
import { go, hrefOf } from '../session/route.ts'
import { IconButton } from '../ui/button.tsx'
import { EditIcon, HistoryIcon, MoreIcon, MoveIcon, SelectAllIcon, TagIcon, TrashIcon } from '../ui/icons.tsx'
import { Menu, type MenuItem } from '../ui/menu.tsx'
import { list, locale, number } from '../words/language.ts'
import { fill, say } from '../words/words.ts'
import { openEditor } from './editor.tsx'
import { Highlight } from './found.tsx'
import { Letter } from './icon.tsx'
import { type Bookmark, hostOf, isFolder, isSafe, nameOf } from './kind.ts'
import { pathText } from './paths.ts'
import { openTags } from './tags.tsx'

/** A bookmark or folder, as a row or as a card. If another one in the list changes, this one is not drawn again. */
export const Row = memo(function Row({ id, isSelected }: { id: string; isSelected: boolean }) {
  const bookmark = useBookmark(id)
  const sync = useSync()
  const look = useLook()
  const { layout, toggle, remove } = look
  if (!bookmark) return null
  const name = nameOf(bookmark)
  return (
    <div class={`row ${layout}${isSelected ? ' selected' : ''}`} data-drop-folder={isFolder(bookmark) ? id : undefined}>
      <input
        type="checkbox"
        class="row-check"
        aria-label={say.library.select(name)}
        checked={isSelected}
        onClick={(event) => toggle(id, event.shiftKey)}
      />
      {bookmark.type === 'separator' ? <hr class="row-line" /> : <Content bookmark={bookmark} />}
      <div class="row-tools">
        <IconButton label={say.library.edit(name)} icon={EditIcon} onClick={() => openEditor(sync, bookmark)} />
        <IconButton label={say.library.delete(name)} icon={TrashIcon} onClick={() => remove([id])} />
        <Menu label={say.library.moreFor(name)} icon={MoreIcon} items={rowMenu(sync, bookmark, look)} />
      </div>
    </div>
  )
})

/** The most tags shown in a row: more do not fit, and an imported file can bring tens of thousands. */
const maxTags = 30
/** The most tags in the line below the title. */
const maxTagsInLine = 3

function Content({ bookmark }: { bookmark: Bookmark }) {
  const sync = useSync()
  const { words, showsPath } = useLook()
  const { tags = [], dateAdded, description } = bookmark
  const host = hostOf(bookmark)
  const path = showsPath ? pathText(sync, bookmark) : ''
  const day = dayOf(dateAdded)
  return (
    <>
      <Letter bookmark={bookmark} />
      <div class="row-text">
        <Title bookmark={bookmark} />
        <span class="row-sub">
          {isFolder(bookmark) ? (
            insideOf(sync, bookmark.id)
          ) : (
            <Highlight text={host || bookmark.url || ''} words={words} />
          )}
          {bookmark.source === 'stars' && ` · ★ ${number(bookmark.stargazers_count ?? 0)}`}
          <span class="row-labels">
            {tags.slice(0, maxTagsInLine).map((tag) => ` #${tag}`)}
            {day && ` · ${day}`}
          </span>
          {path !== '' && (
            <span class="row-path">{fill(say.library.inPath, { path: <Highlight text={path} words={words} /> })}</span>
          )}
          {description && (
            <span class="row-note">
              {' — '}
              <Highlight text={description} words={words} />
            </span>
          )}
        </span>
      </div>
      {tags.length > 0 && (
        <span class="row-tags">
          {tags.slice(0, maxTags).map((tag) => (
            <a key={tag} class="tag" draggable={false} href={hrefOf('tag', tag)}>
              <Highlight text={tag} words={words} />
            </a>
          ))}
          {tags.length > maxTags && <span class="hint">{say.library.andMore(tags.length - maxTags)}</span>}
        </span>
      )}
      <time class="row-date" dateTime={dateAdded}>
        {day}
      </time>
    </>
  )
}

function Title({ bookmark }: { bookmark: Bookmark }) {
  const { words } = useLook()
  const { id, url = '' } = bookmark
  const text = <Highlight text={nameOf(bookmark)} words={words} />
  // `dir` makes the browser cut a long title in a right-to-left script at its left end.
  const common = { class: 'row-title', dir: 'auto' as const, 'data-main': true, draggable: false }
  if (isFolder(bookmark)) {
    return (
      <a {...common} href={hrefOf('folder', id)}>
        {text}
      </a>
    )
  }
  if (!isSafe(url)) {
    return (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: The arrow keys stop at every row.
      <span {...common} tabIndex={0} title={url}>
        {text}
      </span>
    )
  }
  return (
    <a {...common} href={url} target="_blank" rel="noreferrer" title={url}>
      {text}
    </a>
  )
}

function insideOf(sync: SyncReader, id: string): string {
  const contents = sync.contents(id).flatMap((one) => sync.get(one) ?? [])
  const folders = contents.filter(isFolder).length
  const bookmarks = contents.filter(({ url }) => url !== undefined).length
  const parts = [
    ...(bookmarks > 0 ? [say.ui.bookmarks(bookmarks)] : []),
    ...(folders > 0 ? [say.ui.folders(folders)] : []),
  ]
  return list(parts) || say.library.empty
}

const format = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', year: 'numeric' })

function dayOf(date: string | undefined): string {
  const time = Date.parse(date ?? '')
  return Number.isNaN(time) ? '' : format.format(time)
}

function rowMenu(
  sync: Sync,
  bookmark: Bookmark,
  { toggle, remove, move }: CollectionLook,
): readonly (MenuItem | false)[] {
  return [
    { label: say.library.menuEdit, icon: EditIcon, action: () => openEditor(sync, bookmark) },
    { label: say.library.moveTo, icon: MoveIcon, action: () => move([bookmark.id]) },
    !isFolder(bookmark) && { label: say.library.menuTag, icon: TagIcon, action: () => openTags(sync, [bookmark.id]) },
    { label: say.library.menuSelect, icon: SelectAllIcon, action: () => toggle(bookmark.id) },
    { label: say.app.views.history, icon: HistoryIcon, action: () => go('history', bookmark.id) },
    { label: say.ui.delete, icon: TrashIcon, action: () => remove([bookmark.id]) },
  ]
}

/** Properties shared by the rows of a list. */
interface CollectionLook {
  layout: 'list' | 'cards'
  /** The words of a search, which are highlighted. */
  words: readonly string[]
  /** True if each row shows its folder. */
  showsPath: boolean
  toggle(id: string, isRange?: boolean): void
  /** Deletes bookmarks, and moves the focus to a neighbour. */
  remove(ids: readonly string[]): Promise<void>
  /** Asks for a folder, moves bookmarks there, and then focuses the row again, or a neighbour if it has left the list. */
  move(ids: readonly string[]): void
}

export const CollectionContext = createContext<CollectionLook | undefined>(undefined)

function useLook(): CollectionLook {
  const look = useContext(CollectionContext)
  if (!look) throw new Error('A row is shown only in a collection')
  return look
}
