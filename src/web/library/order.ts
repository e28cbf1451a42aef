import { useMemo } from 'preact/hooks'
import type { SyncReader } from '../../client/index.ts'
import { useSelection } from '../../client/react.ts'
import { byTree } from './by-tree.ts'
import { type Order, sorter } from './sorter.ts'

export const orders: readonly { order: Order; label: string }[] = [
  { order: 'own', label: 'My own order' },
  { order: 'title', label: 'By title' },
  { order: 'host', label: 'By site' },
  { order: 'newest', label: 'Newest first' },
  { order: 'oldest', label: 'Oldest first' },
]

/** @param idsOf in the person's own order; a function from outside the component, or from `useCallback` */
export function useSorted(idsOf: (sync: SyncReader) => readonly string[], order: Order): readonly string[] {
  return useSelection(useMemo(() => byTree(sorter(idsOf, order)), [idsOf, order]))
}
