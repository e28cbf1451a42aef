import type { SyncReader } from '../../client/index.ts'

/**
 * A selector that computes its value only when a bookmark has changed: selectors also run with each change of the status,
 * which is several times an edit.
 */
export function byTree<T>(select: (sync: SyncReader) => T): (sync: SyncReader) => T {
  let last: { tree: unknown; value: T } | undefined
  return (sync) => {
    const tree = sync.tree()
    if (last?.tree !== tree) last = { tree, value: select(sync) }
    return last.value
  }
}
