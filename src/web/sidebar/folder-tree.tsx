import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { TreeNode } from '../../client/index.ts'
import { useBookmarks, useSync } from '../../client/react.ts'
import { hrefOf, useRoute } from '../app/route.ts'
import { countLinksIn } from '../library/count-in.ts'
import { isFolder, nameOf } from '../library/kind.ts'
import { foldersAround } from '../library/paths.ts'
import { IconButton } from '../ui/button.tsx'
import { Icon } from '../ui/icon.tsx'
import { ChevronIcon, FolderIcon, FolderOpenIcon } from '../ui/icons.ts'
import { VirtualList } from '../ui/virtual-list.tsx'

interface Line {
  node: TreeNode
  depth: number
}

/** In rem; higher where a finger has to hit it, as in `tokens.css`. */
const lineHeight = matchMedia('(pointer: coarse)').matches ? 2.75 : 2.125

/** The folders, each with the number of bookmarks in it and below it. */
export function FolderTree() {
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
    // What the person opens and closes later does not move.
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
    <section ref={section} class="folders" aria-label="Folders">
      <h2>Folders</h2>
      <VirtualList
        label="Folders"
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
          label={`${isOpen ? 'Close' : 'Open'} ${name}`}
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
        <span class="count">{countLinksIn(node).toLocaleString()}</span>
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
