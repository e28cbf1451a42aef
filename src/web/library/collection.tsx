import type { ComponentChildren } from 'preact'
import { useCallback, useMemo, useRef } from 'preact/hooks'
import { useSync } from '../../client/react.ts'
import { VirtualList } from '../ui/virtual-list.tsx'
import { remove } from './actions.ts'
import { CollectionContext } from './collection-context.ts'
import { useDrag } from './drag.ts'
import { focusRow, neighbourOf } from './focus.ts'
import { pressed } from './keys.ts'
import { orders } from './order.ts'
import { useRemembered } from './remembered.ts'
import { Row } from './row.tsx'
import { useSelected } from './selected.ts'
import { SelectionBar } from './selection-bar.tsx'
import type { Order } from './sorter.ts'
import { Toolbar } from './toolbar.tsx'

interface CollectionProps {
  /** What the list is called, for screen readers. */
  label: string
  heading: ComponentChildren
  /** In the order in which they are shown. */
  ids: readonly string[]
  order?: Order
  setOrder?: (order: Order) => void
  /** The folder that is shown: there bookmarks can be added, and moved up and down in the person's own order. */
  folder?: { id: string | undefined }
  words?: readonly string[]
  showsPath?: boolean
  /** Shown where there is nothing. */
  empty: ComponentChildren
}

const rowHeights = { list: 3.75, cards: 9.375 }
const cardWidth = 15.625
const noWords: readonly string[] = []

/** Bookmarks and folders as a list or as cards, to be selected, moved, tagged and deleted. */
export function Collection(props: CollectionProps) {
  const { label, heading, ids, order, setOrder, folder, words = noWords, showsPath = false, empty } = props
  const sync = useSync()
  const [layout, setLayout] = useRemembered('layout', ['list', 'cards'])
  const selected = useSelected(ids)
  const { toggle } = selected
  const section = useRef<HTMLElement>(null)
  const ownOrder = order === 'own' ? folder : undefined
  useDrag(section, { sync, ids, selected: selected.ids, folder: ownOrder })
  const latest = useRef(ids)
  latest.current = ids
  const removeHere = useCallback(
    async (removed: readonly string[]) => {
      const next = neighbourOf(latest.current, removed)
      await remove(sync, removed)
      if (next !== undefined && section.current) focusRow(section.current, next)
      else document.querySelector<HTMLElement>('#main')?.focus()
    },
    [sync],
  )
  const look = useMemo(
    () => ({ layout, words, showsPath, toggle, remove: removeHere }),
    [layout, words, showsPath, toggle, removeHere],
  )
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: The keys are those of the rows inside.
    <section
      ref={section}
      class={`collection${selected.ids.size > 0 ? ' selecting' : ''}`}
      onKeyDown={(event) => pressed(event, { sync, ids, selected, folder: ownOrder, remove: removeHere })}
    >
      {heading}
      {ids.length === 0 && !folder ? null : selected.ids.size > 0 ? (
        <SelectionBar selected={selected} count={ids.length} remove={removeHere} />
      ) : (
        <Toolbar
          count={ids.length}
          layout={layout}
          setLayout={setLayout}
          folder={folder}
          {...(order && setOrder && { order, setOrder })}
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
            {...(layout === 'cards' && { columnWidth: cardWidth })}
            keyOf={(index) => ids[index] as string}
            item={(index) => <Row id={ids[index] as string} isSelected={selected.ids.has(ids[index] as string)} />}
          />
        </CollectionContext.Provider>
      )}
    </section>
  )
}

/** The order that this browser remembers for lists of a kind. */
export function useOrder(kind: 'folder' | 'all' | 'found'): [Order, (order: Order) => void] {
  return useRemembered(
    `order-${kind}`,
    orders.map(({ order }) => order),
  )
}
