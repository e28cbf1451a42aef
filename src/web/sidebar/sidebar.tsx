import type { ComponentType } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { SyncReader, TreeNode } from '../../client/index.ts'
import { useBookmarks, useSync } from '../../client/react.ts'
import { isFolder, nameOf } from '../library/kind.ts'
import { countLinksIn, foldersAround } from '../library/paths.ts'
import { countTags } from '../library/tags.tsx'
import { hrefOf, useRoute } from '../session/route.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { ChevronIcon, DocsIcon, FolderIcon, FolderOpenIcon, Icon, type IconShapes } from '../ui/icons.tsx'
import { LanguageMenu } from '../ui/menu.tsx'
import { VirtualList } from '../ui/virtual-list.tsx'
import { locale, number } from '../words/language.ts'
import { say } from '../words/words.ts'

/** A view, as the sidebar links to it. */
export interface ViewLink {
  /** Its part of the address: `#/folder/…`. */
  path: keyof typeof say.app.views
  icon: IconShapes
  /** Where the sidebar links to it; views without a group are reached otherwise. */
  group?: 'library' | 'care' | 'app'
  /** Shown at the end of the link, such as a number. */
  Badge?: ComponentType
}

/** Where one can go: the views, the folders, the tags. On narrow screens it opens above the page. */
export function Sidebar({ views, close }: { views: readonly ViewLink[]; close: () => void }) {
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: The menu button closes it, too. */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: The menu button closes it, too. */}
      <div class="scrim" onClick={close} />
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Enter on a link is a click. */}
      <nav
        class="sidebar"
        id="sidebar"
        aria-label={say.sidebar.label}
        data-scrolls
        onClick={({ target }) => target instanceof Element && target.closest('a') && close()}
      >
        <Group views={views} group="library" />
        <FolderTree />
        <TagList />
        <Group views={views} group="care" />
        <Group views={views} group="app" />
        <a class="link" href={say.ui.helpAddress}>
          <Icon of={DocsIcon} />
          <span>{say.sidebar.help}</span>
        </a>
        <LanguageMenu class="link" />
      </nav>
    </>
  )
}

function Group({ views, group }: { views: readonly ViewLink[]; group: ViewLink['group'] }) {
  const { view, rest } = useRoute()
  const current = rest === '' ? (views.find(({ path }) => path === view) ?? views[0]) : undefined
  return (
    <ul class="links">
      {views
        .filter((one) => one.group === group)
        .map((one) => (
          <li key={one.path}>
            <a
              class="link"
              href={hrefOf(one.path)}
              aria-current={one === current ? 'page' : undefined}
              data-drop-folder={one.path === 'folder' ? '' : undefined}
            >
              <Icon of={one.icon} />
              <span>{say.app.views[one.path]}</span>
              {one.Badge && <one.Badge />}
            </a>
          </li>
        ))}
    </ul>
  )
}

interface Line {
  node: TreeNode
  depth: number
}

/** In rem; higher where a finger has to hit it, as in `tokens.css`. */
const lineHeight = matchMedia('(pointer: coarse)').matches ? 2.75 : 2.125

/** The folders, each with the number of bookmarks in it and below it. */
function FolderTree() {
  const tree = useBookmarks()
  const { view, rest } = useRoute()
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const shown = view === 'folder' ? rest : ''
  const sync = useSync()
  // Whoever comes to a folder by another way sees where it is.
  useLayoutEffect(() => {
    const around = foldersAround(sync, sync.get(shown)).map(({ id }) => id)
    if (around.length > 0) setOpen((open) => new Set([...open, ...around]))
  }, [shown])
  const lines = linesOf(tree, open)
  const section = useRef<HTMLElement>(null)
  const sought = useRef('')
  useLayoutEffect(() => {
    sought.current = shown
  }, [shown])
  const at = lines.findIndex(({ node }) => node.bookmark.id === shown)
  useLayoutEffect(() => {
    if (at < 0 || sought.current !== shown) return
    // A folder that the person opens and closes later does not move.
    sought.current = ''
    scrollToLine(section.current as HTMLElement, at, lines.length)
  }, [shown, at])
  const toggle = (id: string) => {
    setOpen((open) => {
      const next = new Set(open)
      if (!next.delete(id)) next.add(id)
      return next
    })
  }
  if (lines.length === 0) return null
  return (
    <section ref={section} class="folders" aria-label={say.sidebar.folders}>
      <h2>{say.sidebar.folders}</h2>
      <VirtualList
        label={say.sidebar.folders}
        count={lines.length}
        rowHeight={lineHeight}
        keyOf={(index) => (lines[index] as Line).node.bookmark.id}
        item={(index) => {
          const line = lines[index] as Line
          const { id } = line.node.bookmark
          return <FolderLine {...line} isOpen={open.has(id)} isCurrent={shown === id} toggle={() => toggle(id)} />
        }}
      />
    </section>
  )
}

/** A line that is out of sight need not be in the document. */
function scrollToLine(section: HTMLElement, at: number, count: number): void {
  const list = (section.querySelector('ul') as HTMLElement).getBoundingClientRect()
  const scroller = section.closest('[data-scrolls]') as HTMLElement
  const seen = scroller.getBoundingClientRect()
  const line = list.top + (at * list.height) / count
  if (line < seen.top || line > seen.bottom - list.height / count)
    scroller.scrollBy(0, line - (seen.top + seen.bottom) / 2)
}

function FolderLine(props: Line & { isOpen: boolean; isCurrent: boolean; toggle: () => void }) {
  const { node, depth, isOpen, isCurrent, toggle } = props
  const { bookmark, children } = node
  const name = nameOf(bookmark)
  return (
    <div class="folder-line" style={{ '--depth': String(depth) }} data-drop-folder={bookmark.id}>
      {children.some((child) => isFolder(child.bookmark)) ? (
        <IconButton
          label={isOpen ? say.sidebar.close(name) : say.sidebar.open(name)}
          icon={ChevronIcon}
          class="opener"
          aria-expanded={isOpen}
          onClick={toggle}
        />
      ) : (
        <span class="opener" />
      )}
      <a class="link" href={hrefOf('folder', bookmark.id)} aria-current={isCurrent ? 'page' : undefined}>
        <Icon of={isCurrent ? FolderOpenIcon : FolderIcon} />
        <span dir="auto">{name}</span>
        <span class="count">{number(countLinksIn(node))}</span>
      </a>
    </div>
  )
}

function linesOf(nodes: readonly TreeNode[], open: ReadonlySet<string>, depth = 0): Line[] {
  return nodes
    .filter(({ bookmark }) => isFolder(bookmark))
    .flatMap((node) => [
      { node, depth },
      ...(open.has(node.bookmark.id) ? linesOf(node.children, open, depth + 1) : []),
    ])
}

/** So many are shown before somebody asks for all of them. */
const maxShown = 20
const countAfterMs = 200

type Tag = readonly [name: string, count: number]

/** The tags, the most used first. */
function TagList() {
  const tags = useTags()
  const { view, rest } = useRoute()
  const [showsAll, setShowsAll] = useState(false)
  if (tags.length === 0) return null
  return (
    <section class="tags" aria-label={say.library.tags}>
      <h2>{say.library.tags}</h2>
      <ul>
        {(showsAll ? tags : tags.slice(0, maxShown)).map(([tag, count]) => (
          <li key={tag}>
            <a class="tag" href={hrefOf('tag', tag)} aria-current={view === 'tag' && rest === tag ? 'page' : undefined}>
              <span>{tag}</span> <span class="count">{count}</span>
            </a>
          </li>
        ))}
      </ul>
      {tags.length > maxShown && (
        <Button look="quiet" onClick={() => setShowsAll(!showsAll)}>
          {showsAll ? say.sidebar.fewer : say.sidebar.all(tags.length)}
        </Button>
      )}
    </section>
  )
}

/** Counted a moment after the last change: with many bookmarks it takes longer than an edit may. */
function useTags(): readonly Tag[] {
  const sync = useSync()
  const [tags, setTags] = useState(() => readTags(sync))
  useLayoutEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const off = sync.on('change', () => {
      clearTimeout(timer)
      timer = setTimeout(() => setTags(readTags(sync)), countAfterMs)
    })
    return () => {
      clearTimeout(timer)
      off()
    }
  }, [sync])
  return tags
}

/** The second comes before the tenth. */
const { compare } = new Intl.Collator(locale, { numeric: true })

function readTags(sync: SyncReader): Tag[] {
  return [...countTags(sync)].sort(([one, ones], [other, others]) => others - ones || compare(one, other))
}
