import type { PlaintextBookmark } from '../bookmark.ts'
import { blankRow } from '../sync/store/row.ts'
import type { Meta, Row, Store } from '../sync/store/store.ts'

/** Opens a user's store, as after a restart: with everything that was written to it before. */
export type OpenStore = (userId: string) => Store | Promise<Store>

/** A rule that every store must obey. */
export interface StoreCase {
  /** The rule, as a full sentence. */
  title: string
  /** Rejects if the store breaks the rule. Opens stores of new users. */
  run(open: OpenStore): Promise<void>
}

/** More rows than a store is likely to read or write in one step. */
const manyRows = 600

/** The rules for every `Store`. Give each case to the test runner: `test(title, () => run(open))`. */
export const storeCases: readonly StoreCase[] = [
  ofOneUser('A new store is empty.', async (store) => {
    assertEqual(await store.load(), { meta: undefined, rows: [] })
    assertEqual(await store.read(['a']), { meta: undefined, rows: [] })
  }),
  ofOneUser('What was written is there after the store was opened again.', async (store, meta, reopen) => {
    await store.write([rowOf('a'), rowOf('b'), waitingRow('c', meta.userId)], meta)
    await store.write([rowOf('b', 'changed')], { ...meta, cursor: 8 })
    assertEqual(sorted(await (await reopen()).load()), {
      meta: { ...meta, cursor: 8 },
      rows: [rowOf('a'), rowOf('b', 'changed'), waitingRow('c', meta.userId)],
    })
  }),
  ofOneUser('Reading some rows gives those that exist, and the meta.', async (store, meta) => {
    await store.write([rowOf('a'), rowOf('b'), rowOf('c')], meta)
    assertEqual(sorted(await store.read(['c', 'z', 'a'])), { meta, rows: [rowOf('a'), rowOf('c')] })
    assertEqual(await store.read([]), { meta, rows: [] })
  }),
  ofOneUser('A write without rows changes the meta alone.', async (store, meta) => {
    await store.write([rowOf('a')], meta)
    await store.write([], { ...meta, cursor: 9 })
    assertEqual(await store.load(), { meta: { ...meta, cursor: 9 }, rows: [rowOf('a')] })
  }),
  ofOneUser('A blank row is removed.', async (store, meta) => {
    await store.write([rowOf('a'), rowOf('b')], meta)
    await store.write([blankRow('a'), blankRow('c')], meta)
    assertEqual((await store.load()).rows, [rowOf('b')])
  }),
  ofOneUser(`${manyRows} rows are written and read in one call.`, async (store, meta) => {
    const rows = Array.from({ length: manyRows }, (_, index) => rowOf(`row-${String(index).padStart(4, '0')}`))
    await store.write(rows, meta)
    assertEqual(sorted(await store.load()), { meta, rows })
    assertEqual(sorted(await store.read(rows.map(({ id }) => id))), { meta, rows })
  }),
  ofOneUser('Every text and every field of a bookmark comes back as it was.', async (store, meta, reopen) => {
    const strange = rowOf('__proto__', 'null \u0000, quote \' " ` \\, é, 字, \u{1f600}')
    const odd = { tags: ['', 'b'], description: null, 'a field of tomorrow': { deep: [1.5] } }
    const more = { ...bookmarkOf('x', ''), ...odd }
    const rows = [strange, { ...rowOf('x'), version: { ...versionOf('x', ''), bookmark: more } }]
    await store.write(rows, meta)
    assertEqual(sorted(await (await reopen()).load()).rows, rows)
  }),
  {
    title: "A store is one user's.",
    async run(open) {
      const [ann, ben] = [metaOf(newUser()), metaOf(newUser())]
      const [anns, bens] = [await open(ann.userId), await open(ben.userId)]
      await anns.write([rowOf('a')], ann)
      assertEqual(await bens.load(), { meta: undefined, rows: [] })
      await bens.write([rowOf('b')], ben)
      await bens.wipe()
      assertEqual(await anns.load(), { meta: ann, rows: [rowOf('a')] })
      anns.close()
    },
  },
  ofOneUser('A store that was wiped is empty when it is opened again.', async (store, meta, reopen) => {
    await store.write([rowOf('a')], meta)
    await store.wipe()
    assertEqual(await (await reopen()).load(), { meta: undefined, rows: [] })
  }),
  {
    title: 'A shared store shows at once what was written through another object.',
    async run(open) {
      const meta = metaOf(newUser())
      const [one, other] = [await open(meta.userId), await open(meta.userId)]
      if (one.shared) {
        await one.load()
        await other.write([rowOf('a')], meta)
        assertEqual(await one.read(['a']), { meta, rows: [rowOf('a')] })
      }
      one.close()
      other.close()
    },
  },
]

/** `reopen` closes the store, and opens it again. */
function ofOneUser(
  title: string,
  check: (store: Store, meta: Meta, reopen: () => Promise<Store>) => Promise<void>,
): StoreCase {
  return {
    title,
    async run(open) {
      const meta = metaOf(newUser())
      let store = await open(meta.userId)
      const reopen = async () => {
        store.close()
        store = await open(meta.userId)
        return store
      }
      await check(store, meta, reopen)
      store.close()
    },
  }
}

function newUser(): string {
  return `user-${crypto.randomUUID()}`
}

export function metaOf(userId: string): Meta {
  return { userId, cursor: 7, clockOffset: -3, lastTick: 1, lastSync: 2, guarding: false }
}

function bookmarkOf(id: string, title: string): PlaintextBookmark {
  return { id, title, source: 'bookmarks', url: `https://example.org/${id}` }
}

function versionOf(id: string, title: string) {
  return {
    event_id: `event-${id}`,
    timestamp: 5,
    device_id: 'phone',
    operation: 'create' as const,
    data_hash: 'ab12',
    bookmark: bookmarkOf(id, title),
    confirmed: true,
  }
}

function rowOf(id: string, title = 'title'): Row {
  return { ...blankRow(id), version: versionOf(id, title) }
}

/** A row with an edit that was sent, a delete that the user must approve (`held`), and an edit that lost. */
function waitingRow(id: string, user_id: string): Row {
  const change = {
    ...{ id: `edit-${id}`, user_id, entity_type: 'bookmark' as const, entity_id: id, operation: 'update' as const },
    ...{ timestamp: 6, device_id: 'laptop', encrypted_data: 'AQID', data_hash: 'cd34', base: 7 },
  }
  const held = { ...versionOf(id, ''), operation: 'delete' as const, data_hash: null, bookmark: null, base: 3 }
  const conflict = { id, fields: ['title'], mine: bookmarkOf(id, 'lost'), theirs: bookmarkOf(id, 'title') }
  const waiting = [{ change, bookmark: bookmarkOf(id, 'edited'), sent: true }]
  return { ...rowOf(id), waiting, held, conflicts: [conflict] }
}

function sorted<Stored extends { rows: Row[] }>(stored: Stored): Stored {
  return { ...stored, rows: [...stored.rows].sort((one, other) => (one.id < other.id ? -1 : 1)) }
}

/** Compares two JSON values, whose fields may be in any order. Works without a test runner. */
function assertEqual(found: unknown, wanted: unknown): void {
  const [one, other] = [canonical(found), canonical(wanted)]
  if (one !== other) throw new Error(`Found ${one}\nbut wanted ${other}`)
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    return Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
  })
}
