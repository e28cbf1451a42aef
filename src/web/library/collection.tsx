import type { ComponentChildren } from 'preact'
import { useCallback, useMemo, useRef } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { useSync } from '../../client/react.ts'
import { Button, IconButton } from '../ui/button.tsx'
import {
  BookmarkPlusIcon,
  CardsIcon,
  CloseIcon,
  FolderPlusIcon,
  ListIcon,
  MoveIcon,
  SelectAllIcon,
  SortIcon,
  TagIcon,
  TrashIcon,
} from '../ui/icons.tsx'
import { Menu } from '../ui/menu.tsx'
import { remembered, useRemembered } from '../ui/remembered.ts'
import { VirtualList } from '../ui/virtual-list.tsx'
import { say } from '../words/words.ts'
import { remove } from './actions.ts'
import { useDrag, useLongPress, useSwipe } from './drag.ts'
import { type FirstEntries, openNew } from './editor.tsx'
import { handleKeys, neighbourOf, type Selected, useSelected } from './keys.ts'
import type { Bookmark } from './kind.ts'
import { openMove } from './move.tsx'
import { focusRow, useRevealed } from './reveal.ts'
import { CollectionContext, Row } from './row.tsx'
import { type Order, sortedBy, sorter } from './sorter.ts'
import { openTags } from './tags.tsx'

interface CollectionProps {
  /** The list's name, for screen readers. */
  label: string
  heading: ComponentChildren
  /** The ids in display order. */
  ids: readonly string[]
  sorting?: Sorting
  /** Set if the list is a folder: folders can be added and, in the person's own order, entries moved up and down. */
  folder?: { id: string | undefined }
  /** The fields of bookmarks that are added here; undefined if none can be added. */
  adds?: FirstEntries
  words?: readonly string[]
  showsPath?: boolean
  /** Shown if the list is empty. */
  empty: ComponentChildren
}

const rowHeights = { list: 3.75, cards: 9.375 }
const cardWidth = 15.625
const noWords: readonly string[] = []

/** Bookmarks and folders as a list or as cards. They can be selected, moved and deleted, and the bookmarks tagged. */
export function Collection(props: CollectionProps) {
  const { label, heading, ids, sorting, folder, adds, words = noWords, showsPath = false, empty } = props
  const sync = useSync()
  const [layout, setLayout] = useRemembered('layout', ['list', 'cards'])
  const isCards = layout === 'cards'
  const selected = useSelected(ids)
  const { toggle } = selected
  const section = useRef<HTMLElement>(null)
  const ownOrder = sorting?.order === 'own' ? folder : undefined
  useDrag(section, { sync, ids, selected: selected.ids, folder: ownOrder, isCards })
  useLongPress(section, toggle)
  useRevealed(section, ids, folder !== undefined)
  const left = { name: say.ui.delete, run: (id: string) => removeHere([id]) }
  const right = { name: say.library.tag, run: (id: string) => openTags(sync, [id]) }
  useSwipe(section, !isCards && { left, right })
  const latest = useRef(ids)
  latest.current = ids
  /** Returns a function that sets the focus after an action on these ids: on the first if it stays, or a neighbour. */
  const leaving = (ids: readonly string[]) => {
    const next = neighbourOf(latest.current, ids)
    return () => {
      const first = sync.get(ids[0] ?? '')
      const stays = first && (!folder || first.parentId === folder.id)
      const id = stays ? first.id : next
      if (id !== undefined && section.current) focusRow(section.current, id)
      else document.querySelector<HTMLElement>('#main')?.focus()
    }
  }
  const removeHere = useCallback(
    async (removed: readonly string[]) => {
      await remove(sync, removed, leaving(removed))
    },
    [sync],
  )
  const moveHere = useCallback((moved: readonly string[]) => openMove(sync, moved, leaving(moved)), [sync, folder?.id])
  const look = useMemo(
    () => ({ layout, words, showsPath, toggle, remove: removeHere, move: moveHere }),
    [layout, words, showsPath, toggle, removeHere, moveHere],
  )
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: The keys are those of the rows inside.
    <section
      ref={section}
      class={`collection${selected.ids.size > 0 ? ' selecting' : ''}`}
      onClick={({ target, ctrlKey, metaKey, shiftKey }) => {
        if (ctrlKey || metaKey || shiftKey) selectAt(target, toggle, shiftKey)
        else if (isOnIcon(target)) target.closest('li')?.querySelector<HTMLElement>('[data-main]')?.click()
      }}
      onKeyDown={(event) =>
        handleKeys(event, { sync, ids, selected, folder: ownOrder, remove: removeHere, move: moveHere })
      }
    >
      {heading}
      {ids.length === 0 && !adds ? null : selected.ids.size > 0 ? (
        <SelectionBar selected={selected} count={ids.length} remove={removeHere} move={moveHere} />
      ) : (
        <Toolbar
          count={ids.length}
          layout={layout}
          setLayout={setLayout}
          folder={folder}
          adds={adds}
          sorting={sorting}
        />
      )}
      {ids.length === 0 ? (
        empty
      ) : (
        <CollectionContext.Provider value={look}>
          <VirtualList
            key={layout}
            label={label}
            count={ids.length}
            rowHeight={rowHeights[layout]}
            {...(isCards && { columnWidth: cardWidth })}
            keyOf={(index) => ids[index] as string}
            item={(index) => <Row id={ids[index] as string} isSelected={selected.ids.has(ids[index] as string)} />}
          />
        </CollectionContext.Provider>
      )}
    </section>
  )
}

/** Toggles the selection of the row at the target. Ignores links and controls. */
function selectAt(target: EventTarget | null, toggle: Selected['toggle'], isRange: boolean): void {
  if (!(target instanceof Element) || target.closest('a, button, input')) return
  const id = target.closest<HTMLElement>('li[data-id]')?.dataset.id
  if (id !== undefined) toggle(id, isRange)
}

/** True for a touch on the icon, which opens the bookmark. With a mouse, a checkbox appears there. */
function isOnIcon(target: EventTarget | null): target is Element {
  return target instanceof Element && target.closest('[data-icon]') !== null && matchMedia('(pointer: coarse)').matches
}

interface Sorting {
  order: Order
  setOrder: (order: Order) => void
  orders: readonly Order[]
}

const ordersOfLists: readonly Order[] = ['own', ...sortedBy]
const ordersOfFound: readonly Order[] = ['best', ...sortedBy]
const ordersOfStars: readonly Order[] = ['newest', 'oldest', 'title', 'count']

/** The sort order that this browser remembers for a kind of list. */
export function useOrder(kind: 'folder' | 'all' | 'found' | 'stars'): Sorting {
  const orders = { folder: ordersOfLists, all: ordersOfLists, found: ordersOfFound, stars: ordersOfStars }[kind]
  const [order, setOrder] = useRemembered(`order-${kind}`, orders)
  return { order, setOrder, orders }
}

/** The first hit of a search, in display order. */
export async function firstFound(sync: Sync, query: string): Promise<Bookmark | undefined> {
  const order = remembered('order-found', ordersOfFound)
  const found = await sync.search(query, { limit: order === 'best' ? 1 : Number.POSITIVE_INFINITY })
  const ids = found.map(({ id }) => id)
  return sync.get(sorter(() => ids, order)(sync)[0] ?? '')
}

interface ToolbarProps {
  count: number
  layout: 'list' | 'cards'
  setLayout: (layout: 'list' | 'cards') => void
  sorting: Sorting | undefined
  folder: { id: string | undefined } | undefined
  adds: FirstEntries | undefined
}

function Toolbar({ count, layout, setLayout, sorting, folder, adds }: ToolbarProps) {
  const sync = useSync()
  const label = sorting ? say.library.orders[sorting.order] : ''
  const isList = layout === 'list'
  return (
    <div class="toolbar">
      {adds && (
        <Button look="primary" icon={BookmarkPlusIcon} onClick={() => openNew(sync, { url: '', ...adds })}>
          {say.library.addBookmark}
        </Button>
      )}
      {adds && folder && (
        <Button icon={FolderPlusIcon} class="compact" onClick={() => openNew(sync, adds)}>
          {say.library.addFolder}
        </Button>
      )}
      <span class="toolbar-count">{count > 0 && say.ui.items(count)}</span>
      {count > 0 && sorting && (
        <Menu
          label={say.library.sort(label)}
          icon={SortIcon}
          items={sorting.orders.map((one) => ({
            label: say.library.orders[one],
            isChecked: one === sorting.order,
            action: () => sorting.setOrder(one),
          }))}
        >
          {label}
        </Menu>
      )}
      {count > 0 && (
        <IconButton
          label={isList ? say.library.showCards : say.library.showList}
          icon={isList ? CardsIcon : ListIcon}
          onClick={() => setLayout(isList ? 'cards' : 'list')}
        />
      )}
    </div>
  )
}

interface SelectionBarProps {
  selected: Selected
  count: number
  remove: (ids: readonly string[]) => Promise<void>
  move: (ids: readonly string[]) => void
}

/** Actions for all selected bookmarks. */
function SelectionBar({ selected, count, remove, move }: SelectionBarProps) {
  const sync = useSync()
  const ids = [...selected.ids]
  return (
    <div class="toolbar selection-bar" role="toolbar" aria-label={say.library.selectedLabel}>
      <span class="toolbar-count" role="status">
        {say.library.selected(ids.length)}
      </span>
      <Button icon={MoveIcon} class="compact" onClick={() => move(ids)}>
        {say.library.move}
      </Button>
      <Button icon={TagIcon} class="compact" onClick={() => openTags(sync, ids)}>
        {say.library.tag}
      </Button>
      <Button
        look="quiet"
        icon={SelectAllIcon}
        class="compact"
        onClick={ids.length < count ? selected.all : selected.clear}
      >
        {ids.length < count ? say.ui.selectAll : say.ui.selectNone}
      </Button>
      <Button look="quiet" icon={CloseIcon} class="compact" onClick={selected.clear}>
        {say.ui.cancel}
      </Button>
      {/* Last, so that the changing labels of other buttons do not move it. */}
      <Button look="danger" icon={TrashIcon} class="compact" onClick={() => remove(ids)}>
        {say.ui.delete}
      </Button>
    </div>
  )
}
