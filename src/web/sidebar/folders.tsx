import type { TargetedKeyboardEvent } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Sync, TreeNode } from '../../client/index.ts'
import { useBookmarks, useSync } from '../../client/react.ts'
import { moveBefore } from '../library/actions.ts'
import { useDrag } from '../library/drag.ts'
import { openEditor, openNew } from '../library/editor.tsx'
import { type Bookmark, isFolder, nameOf } from '../library/kind.ts'
import { openMove } from '../library/move.tsx'
import { countLinksIn, foldersAround } from '../library/paths.ts'
import { focusRow, scrollToItem } from '../library/reveal.ts'
import { hrefOf, useRoute } from '../session/route.ts'
import { IconButton } from '../ui/button.tsx'
import { tellFailure } from '../ui/failure.ts'
import {
  ChevronIcon,
  EditIcon,
  FolderIcon,
  FolderOpenIcon,
  FolderPlusIcon,
  Icon,
  MoreIcon,
  MoveIcon,
} from '../ui/icons.tsx'
import { shortcutOf } from '../ui/keyboard.ts'
import { Menu } from '../ui/menu.tsx'
import { VirtualList } from '../ui/virtual-list.tsx'
import { number } from '../words/language.ts'
import { say } from '../words/words.ts'
import { Section } from './section.tsx'

interface Line {
  node: TreeNode
  depth: number
}

/** The height of a line in rem; higher for touch, as in `tokens.css`. */
const lineHeight = matchMedia('(pointer: coarse)').matches ? 2.75 : 2.125

/** The folders, each with the number of bookmarks in it and its subfolders. */
export function Folders() {
  const tree = useBookmarks()
  if (!tree.some(({ bookmark }) => isFolder(bookmark))) return null
  return (
    <Section name="folders" title={say.sidebar.folders}>
      <FolderTree tree={tree} />
    </Section>
  )
}

function FolderTree({ tree }: { tree: readonly TreeNode[] }) {
  const { view, rest } = useRoute()
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const shown = view === 'folder' ? rest : ''
  const sync = useSync()
  // Opens the folders around the shown one, which the person may have chosen elsewhere.
  useLayoutEffect(() => {
    const around = foldersAround(sync, sync.get(shown)).map(({ id }) => id)
    if (around.length > 0) setOpen((open) => new Set([...open, ...around]))
  }, [shown])
  const lines = linesOf(tree, open)
  const ids = lines.map(({ node }) => node.bookmark.id)
  const list = useRef<HTMLDivElement>(null)
  useDrag(list, { sync, ids, selected: none, folder: undefined, isCards: false })
  const sought = useRef('')
  useLayoutEffect(() => {
    sought.current = shown
  }, [shown])
  const at = ids.indexOf(shown)
  useLayoutEffect(() => {
    if (at < 0 || sought.current !== shown) return
    // Scrolls once, not when the person opens or closes folders later.
    sought.current = ''
    scrollToItem(list.current?.querySelector('ul') as HTMLElement, at, lines.length)
  }, [shown, at])
  const toggle = (id: string) => {
    setOpen((open) => {
      const next = new Set(open)
      if (!next.delete(id)) next.add(id)
      return next
    })
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: The keys are those of the links inside.
    <div ref={list} onKeyDown={(event) => handleKeys(event, sync)}>
      <VirtualList
        label={say.sidebar.folders}
        count={lines.length}
        rowHeight={lineHeight}
        keyOf={(index) => ids[index] as string}
        item={(index) => {
          const line = lines[index] as Line
          const { id } = line.node.bookmark
          return <FolderLine {...line} isOpen={open.has(id)} isCurrent={shown === id} toggle={() => toggle(id)} />
        }}
      />
    </div>
  )
}

const none: ReadonlySet<string> = new Set()

function FolderLine(props: Line & { isOpen: boolean; isCurrent: boolean; toggle: () => void }) {
  const { node, depth, isOpen, isCurrent, toggle } = props
  const { bookmark, children } = node
  const sync = useSync()
  const name = nameOf(bookmark)
  const { id } = bookmark
  const items = [
    { label: say.sidebar.rename, icon: EditIcon, action: () => openEditor(sync, bookmark) },
    { label: say.library.moveTo, icon: MoveIcon, action: () => move(sync, id) },
    { label: say.sidebar.addInside, icon: FolderPlusIcon, action: () => openNew(sync, { parentId: id }) },
  ]
  return (
    <div class="folder-line" style={{ '--depth': String(depth) }} data-drop-folder={id}>
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
      <a
        class="link"
        href={hrefOf('folder', id)}
        draggable={false}
        data-main
        aria-current={isCurrent ? 'page' : undefined}
      >
        <Icon of={isCurrent ? FolderOpenIcon : FolderIcon} />
        <span dir="auto">{name}</span>
        <span class="count">{number(countLinksIn(node))}</span>
      </a>
      <Menu label={say.sidebar.options(name)} icon={MoreIcon} items={items} />
    </div>
  )
}

function move(sync: Sync, id: string): void {
  openMove(sync, [id], () => focusFolder(id))
}

/** Focuses a folder's link, which may have been drawn again elsewhere. */
function focusFolder(id: string): void {
  const list = document.querySelector<HTMLElement>('#sidebar')
  if (list) focusRow(list, id)
}

/** Handles the keys of a folder's link, which settings/shortcuts.tsx explains to the person. */
function handleKeys(event: TargetedKeyboardEvent<HTMLElement>, sync: Sync): void {
  const { target, altKey, ctrlKey, metaKey } = event
  const link = target instanceof Element ? target.closest('[data-main]') : null
  const folder = sync.get(link?.closest<HTMLElement>('li[data-id]')?.dataset.id ?? '')
  if (!folder || ctrlKey || metaKey) return
  const edit = () => openEditor(sync, folder)
  const actions: Record<string, () => unknown> = altKey
    ? { ArrowUp: () => moveBy(sync, folder, -1), ArrowDown: () => moveBy(sync, folder, 1) }
    : { F2: edit, e: edit, m: () => move(sync, folder.id) }
  const action = actions[shortcutOf(event)]
  if (!action) return
  event.preventDefault()
  Promise.resolve(action()).catch(tellFailure)
}

/** Moves a folder up or down among its siblings. */
async function moveBy(sync: Sync, { id, parentId }: Bookmark, step: 1 | -1): Promise<void> {
  const siblings = sync.contents(parentId)
  const folders = siblings.filter((one) => isFolder(sync.get(one) as Bookmark))
  const neighbour = folders[folders.indexOf(id) + step]
  if (neighbour === undefined) return
  await moveBefore(sync, [id], parentId, step < 0 ? neighbour : siblings[siblings.indexOf(neighbour) + 1])
  focusFolder(id)
}

function linesOf(nodes: readonly TreeNode[], open: ReadonlySet<string>, depth = 0): Line[] {
  return nodes
    .filter(({ bookmark }) => isFolder(bookmark))
    .flatMap((node) => [
      { node, depth },
      ...(open.has(node.bookmark.id) ? linesOf(node.children, open, depth + 1) : []),
    ])
}
