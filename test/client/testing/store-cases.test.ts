import t from 'tap'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import { isBlank } from '../../../src/client/sync/store/row.ts'
import type { Store } from '../../../src/client/sync/store/store.ts'
import { storeCases } from '../../../src/client/testing/store-cases.ts'

/** Faults that a store may have, each with the case that finds it. */
const faults: Record<string, { change(store: Store, all: Store[]): Partial<Store>; found: string }> = {
  'forgets everything when it is closed': {
    change: (store) => ({ close: () => void store.wipe() }),
    found: 'What was written is there after the store was opened again.',
  },
  'reads all rows': {
    change: (store) => ({ read: () => store.load() }),
    found: 'Reading some rows gives those that exist, and the meta.',
  },
  'writes the meta only with rows': {
    change: (store) => ({
      write: async (rows, meta) => store.write(rows, rows.length > 0 ? meta : ((await store.load()).meta ?? meta)),
    }),
    found: 'A write without rows changes the meta alone.',
  },
  'keeps what a blank row should remove': {
    change: (store) => ({
      write: (rows, meta) =>
        store.write(
          rows.filter((row) => !isBlank(row)),
          meta,
        ),
    }),
    found: 'A blank row is removed.',
  },
  'stops after 500 rows': {
    change: (store) => ({ write: (rows, meta) => store.write(rows.slice(0, 500), meta) }),
    found: '600 rows are written and read in one call.',
  },
  'cuts texts at a NUL': {
    change: (store) => ({
      load: async () => JSON.parse(JSON.stringify(await store.load()).replaceAll(/\\u0000[^"]*/g, '')),
    }),
    found: 'Every text and every field of a bookmark comes back as it was.',
  },
  'wipes all users': {
    change: (_, all) => ({
      wipe: async () => {
        for (const store of all) await store.wipe()
      },
    }),
    found: "A store is one user's.",
  },
  'wipes nothing': {
    change: () => ({ wipe: async () => {} }),
    found: 'A store that was wiped is empty when it is opened again.',
  },
}

for (const [fault, { change, found }] of Object.entries(faults)) {
  t.test(`A store that ${fault} fails: ${found}`, async (t) => {
    const stores = new Map<string, Store>()
    const open = (userId: string) => {
      const store = stores.get(userId) ?? memoryStore()
      stores.set(userId, store)
      return { ...store, ...change(store, [...stores.values()]) }
    }
    const failed: string[] = []
    for (const { title, run } of storeCases) await run(open).catch(() => failed.push(title))
    t.ok(failed.includes(found), failed.join(' '))
  })
}
