import { isBlank } from './row.ts'
import type { Meta, Row, Store } from './store.ts'

/** Keeps the bookmarks in memory only, for as long as the object exists: for scripts, servers and tests. */
export function memoryStore(): Store {
  const rows = new Map<string, Row>()
  let meta: Meta | undefined
  return {
    shared: false,
    load: async () => ({ meta, rows: [...rows.values()] }),
    read: async (ids) => ({ meta, rows: ids.flatMap((id) => rows.get(id) ?? []) }),
    async write(changed, next) {
      for (const row of changed) {
        if (isBlank(row)) rows.delete(row.id)
        else rows.set(row.id, row)
      }
      meta = { ...next }
    },
    async wipe() {
      rows.clear()
      meta = undefined
    },
    close() {},
  }
}
