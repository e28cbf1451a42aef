import type { Conflict, PlaintextBookmark, Sync, TreeNode } from '../../../src/client/index.ts'
import { idOf, nameOf, rowKey, typeOf } from '../../../src/client/sync/store/key.ts'

/** In a run with tab groups and history, the records' keys serve as ids, so edits of bookmarks apply to all types. */

type Edited = Pick<Sync, 'get' | 'isWaiting' | 'put' | 'update' | 'remove'>

/** The record with its key and its folder's key instead of ids. */
export function keyed(record: Readonly<PlaintextBookmark>, key: string): PlaintextBookmark {
  const { parentId } = record
  return { ...record, id: key, ...(parentId !== undefined && { parentId: rowKey(parentId, typeOf(key)) }) }
}

function unkeyed({ id, parentId, ...rest }: PlaintextBookmark): PlaintextBookmark {
  return { ...rest, id: idOf(id), ...(parentId !== undefined && { parentId: idOf(parentId) }) }
}

export function sourceOf(key: string): PlaintextBookmark['source'] {
  return ({ bookmark: 'bookmarks', group: 'groups', history: 'history' } as const)[typeOf(key)]
}

/** The conflict with the record's key as its id. */
export function keyedConflict({ id, entityType, mine, theirs, fields }: Conflict): Conflict {
  const key = rowKey(id, entityType)
  return { id: key, fields, mine: mine && keyed(mine, key), theirs: theirs && keyed(theirs, key) }
}

/** A sync with the keys of records of all types as ids, as if all were bookmarks. */
export function mixed(sync: Sync): Sync {
  const of = (key: string): Edited => ({ bookmark: sync, group: sync.groups, history: sync.history })[typeOf(key)]
  const maps = { bookmark: sync.bookmarks(), group: sync.groups.records(), history: sync.history.records() }
  const all = () =>
    (['bookmark', 'group', 'history'] as const).flatMap((type) =>
      [...maps[type]].map(([id, one]) => [rowKey(id, type), keyed(one, rowKey(id, type))] as const),
    )
  const keyedTree = (nodes: readonly TreeNode[], type: 'bookmark' | 'group'): TreeNode[] =>
    nodes.map(({ bookmark, children }) => ({
      bookmark: keyed(bookmark, rowKey(bookmark.id, type)),
      children: keyedTree(children, type),
    }))
  return Object.defineProperty<Sync>(
    {
      ...sync,
      get(key) {
        const found = of(key).get(idOf(key))
        return found && keyed(found, key)
      },
      bookmarks: () => new Map(all()),
      tree: () => [
        ...keyedTree(sync.tree(), 'bookmark'),
        ...keyedTree(sync.groups.tree(), 'group'),
        ...all()
          .filter(([key]) => typeOf(key) === 'history')
          .sort(([one], [other]) => (one < other ? -1 : 1))
          .map(([, bookmark]) => ({ bookmark, children: [] })),
      ],
      isWaiting: (key) => of(key).isWaiting(idOf(key)),
      put(bookmarks, { seen } = {}) {
        const list = [bookmarks].flat()
        const options = typeof seen === 'object' ? { seen: unkeyed(seen) } : {}
        return of(list[0]?.id ?? '').put(list.map(unkeyed), options)
      },
      update(keys, update, options) {
        const [key = ''] = [keys].flat()
        const own = (patch: Partial<PlaintextBookmark>) => ({
          ...patch,
          ...(patch.parentId !== undefined && { parentId: idOf(patch.parentId) }),
        })
        const patched: typeof update = (current) => {
          const patch = typeof update === 'function' ? update(keyed(current, key)) : update
          return patch && own(patch as Partial<PlaintextBookmark>)
        }
        return of(key).update(idOf(key), patched, options)
      },
      remove(keys, options) {
        const list = [keys].flat()
        return of(list[0] ?? '').remove(list.map(idOf), options)
      },
      async move(keys, { parentId, before }) {
        const [key = ''] = [keys].flat()
        const type = typeOf(key)
        if (type === 'history') throw new RangeError('It has no place')
        const near = (id: string | undefined) => (id !== undefined && typeOf(id) === type ? idOf(id) : undefined)
        await (type === 'group' ? sync.groups : sync).move(idOf(key), {
          parentId: near(parentId),
          before: near(before),
        })
      },
      conflicts: () => sync.conflicts().map(keyedConflict),
      async resolve(which, choice) {
        const isMeant = (one: Conflict) => rowKey(one.id, one.entityType) === which
        await Promise.all(
          sync
            .conflicts()
            .filter(isMeant)
            .map((one) => sync.resolve(one, choice)),
        )
      },
      quarantined: () =>
        sync.quarantined().map(({ id, entityType, ...one }) => ({ ...one, id: rowKey(id, entityType) })),
      dropQuarantined: (keys) => sync.dropQuarantined([keys].flat().map((key) => nameOf(String(key)))),
      on: (name, listener) =>
        sync.on(name, (event) => listener(name === 'conflict' ? (keyedConflict(event as Conflict) as never) : event)),
    },
    'deviceId',
    { get: () => sync.deviceId },
  )
}
