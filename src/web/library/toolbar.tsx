import { useSync } from '../../client/react.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { counted } from '../ui/counted.ts'
import { BookmarkPlusIcon, CardsIcon, FolderPlusIcon, ListIcon, SortIcon } from '../ui/icons.ts'
import { Menu } from '../ui/menu.tsx'
import { openNew } from './editor.tsx'
import { orders } from './order.ts'
import type { Order } from './sorter.ts'

interface ToolbarProps {
  count: number
  layout: 'list' | 'cards'
  setLayout: (layout: 'list' | 'cards') => void
  order?: Order
  setOrder?: (order: Order) => void
  folder: { id: string | undefined } | undefined
}

export function Toolbar({ count, layout, setLayout, order, setOrder, folder }: ToolbarProps) {
  const sync = useSync()
  const place = folder?.id === undefined ? {} : { parentId: folder.id }
  const label = orders.find((one) => one.order === order)?.label ?? ''
  const isList = layout === 'list'
  return (
    <div class="toolbar">
      {folder && (
        <>
          <Button look="primary" icon={BookmarkPlusIcon} onClick={() => openNew(sync, { url: '', ...place })}>
            Add bookmark
          </Button>
          <Button icon={FolderPlusIcon} class="compact" onClick={() => openNew(sync, place)}>
            Add folder
          </Button>
        </>
      )}
      <span class="toolbar-count">{count > 0 && counted(count, 'item')}</span>
      {count > 0 && setOrder && (
        <Menu
          label={`Sort: ${label}`}
          icon={SortIcon}
          items={orders.map((one) => ({
            label: one.label,
            isChecked: one.order === order,
            action: () => setOrder(one.order),
          }))}
        >
          {label}
        </Menu>
      )}
      {count > 0 && (
        <IconButton
          label={isList ? 'Show as cards' : 'Show as a list'}
          icon={isList ? CardsIcon : ListIcon}
          onClick={() => setLayout(isList ? 'cards' : 'list')}
        />
      )}
    </div>
  )
}
