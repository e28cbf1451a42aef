import fc from 'fast-check'
import t from 'tap'
import { buildTree, type TreeNode } from '../../../src/client/bookmark/tree.ts'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { Emitter } from '../../../src/client/sync/store/emitter.ts'
import { indexedDbStore } from '../../../src/client/sync/store/indexed-db.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import type { Replica } from '../../../src/client/sync/store/replica.ts'
import { viewOf } from '../../../src/client/sync/store/row.ts'
import type { Sync } from '../../../src/client/sync/sync.ts'
import { type Selection, Selections } from '../../../src/client/sync/view/selections.ts'
import { TreeCache } from '../../../src/client/sync/view/tree-cache.ts'
import { depth } from '../../support/depth.ts'
import { bookmark } from './device.ts'
import { down } from './network.ts'
import { openPeople } from './person.ts'
import { until } from './turns.ts'
import './stores.ts'

const people = await openPeople()
const folder = (id: string, fields: Partial<PlaintextBookmark> = {}): PlaintextBookmark => ({
  ...{ id, title: id, source: 'bookmarks' },
  ...fields,
})

t.test('a selection tells its listener when its value differs, and stays the same until then', async (t) => {
  const { sync } = (await people.person(t)).device('a')
  const [x, y] = [
    { parentId: 'f', position: 'a0' },
    { parentId: 'f', position: 'a1' },
  ]
  await sync.put([folder('f'), bookmark('x', 'one', x), bookmark('y', 'other', y)])
  const selected = {
    x: sync.select(({ get }) => get('x')),
    f: sync.select(({ contents }) => contents('f')),
    top: sync.select(({ contents }) => contents()),
    tree: sync.select(({ tree }) => tree()),
    count: sync.select(({ bookmarks }) => bookmarks().size),
    tagged: sync.select(({ bookmarks }) => [...bookmarks().values()].filter(({ tags }) => tags?.includes('new'))),
    waiting: sync.select(({ status }) => ({ waiting: status().waiting })),
  }
  const toldBy = tellers(selected)

  await sync.put(bookmark('x', 'two', x))
  t.same(toldBy(), ['x', 'tree'])
  await sync.put(bookmark('z', 'new', { tags: ['new'] }))
  t.same(toldBy(), ['top', 'tree', 'count', 'tagged', 'waiting'])
  await sync.put(bookmark('y', 'other', { ...y, description: 'a note' }))
  t.same(toldBy(), ['tree'])
  await sync.move('y', { parentId: 'f', before: 'x' })
  t.same(toldBy(), ['f', 'tree'])
  await sync.syncNow()
  t.same(toldBy(), ['waiting'], 'the service has confirmed everything')
  await sync.remove('x')
  t.same(toldBy(), ['x', 'f', 'tree', 'count', 'waiting'])
  t.equal(selected.x.read(), undefined)
})

t.test('reading the store again changes no value', async (t) => {
  const person = await people.person(t)
  const { sync, network } = person.device('a', { store: indexedDbStore(person.user.userId) })
  await sync.put([folder('f'), bookmark('x', 'one', { parentId: 'f', tags: ['a'] })])
  const selected = { x: sync.select(({ get }) => get('x')), tree: sync.select(({ tree }) => tree()) }
  const toldBy = tellers(selected)
  const before = sync.get('x')
  network.fate = down
  await sync.start()
  await until(() => network.calls.length > 0)
  t.same(toldBy(), [])
  t.equal(sync.get('x'), before)
})

t.test('a listener that was removed is not called, and one that throws or cannot select stops no other', async (t) => {
  const { sync } = (await people.person(t)).device('a')
  await sync.put(bookmark('x', 'one'))
  const told: string[] = []
  const title = sync.select(({ get }) => (get('x') as PlaintextBookmark).title)
  const remove = title.subscribe(() => told.push('removed'))
  title.subscribe(() => told.push('kept'))
  sync.select(({ get }) => get('x')?.title).subscribe(() => told.push('beside'))
  remove()
  await sync.remove('x')
  t.same(told, ['kept', 'beside'])
  t.throws(() => title.read(), TypeError)
})

t.test('a listener of `change` already reads new values', async (t) => {
  const { sync } = (await people.person(t)).device('a')
  const count = sync.select(({ bookmarks }) => bookmarks().size)
  const read: number[] = [count.read()]
  sync.on('change', () => read.push(count.read()))
  await sync.put(bookmark('x', 'one'))
  t.same(read, [0, 1])
})

t.test('after signing out, selections show nothing', async (t) => {
  const { sync } = (await people.person(t)).device('a')
  await sync.put([folder('f'), bookmark('x', 'one', { parentId: 'f' })])
  const everything = ({ get, tree, contents }: Pick<Sync, 'get' | 'tree' | 'contents'>) => [
    ...[get('x'), tree(), contents(), contents('f')],
  ]
  const selected = sync.select(everything)
  const toldBy = tellers({ selected })
  await sync.signOut({ discardUnsent: true })
  t.same(toldBy(), ['selected'])
  t.same(selected.read(), [undefined, [], [], []])
})

t.test('a selection of a tree deeper than any call stack differs once something in its depths does', async (t) => {
  const nested = (title: string) => {
    let nodes: TreeNode[] = [{ bookmark: bookmark('leaf', title), children: [] }]
    for (let level = 0; level < 20_000; level++) nodes = [{ bookmark: folder(`f${level}`), children: nodes }]
    return nodes
  }
  const selections = new Selections(new Emitter())
  let title = 'one'
  const selection = selections.select(() => nested(title))
  const first = selection.read()
  selections.refresh()
  t.ok(selection.read() === first)
  title = 'two'
  selections.refresh()
  t.ok(selection.read() !== first)
})

t.test('an edit in a list of two thousand looks at the places of few of them', async (t) => {
  let looked = 0
  const at = (index: number): PlaintextBookmark => ({
    ...bookmark(`b${index}`, ''),
    get position() {
      looked++
      return `a${index + 1000}`
    },
  })
  const live = new Map(Array.from({ length: 2000 }, (_, index) => [`b${index}`, at(index)]))
  const replica = { live, rows: new Map() } as unknown as Replica
  const tree = new TreeCache()
  const { signal } = new AbortController()
  await tree.update(replica, [...live.keys()], signal)
  looked = 0
  live.set('b7', at(1500.5))
  live.delete('b8')
  await tree.update(replica, ['b7', 'b8'], signal)
  t.ok(looked < 120, `${looked} looks`)
  t.strictSame(tree.read(), buildTree(live.values()))
})

t.test(
  'after any edits, the tree is the one that buildTree makes and a device that starts then shows; what is unchanged is reused',
  async (t) => {
    const ids = ['f', 'g', 'h', 'x', 'y', 'z', 'u', 'v']
    const id = fc.constantFrom(...ids)
    const one = fc.record({ id, parentId: id, position: fc.constantFrom('a0', 'a1', 'a2') })
    const edit = fc.oneof(
      fc.record({ type: fc.constant('put' as const), list: fc.array(one, { minLength: 1 }) }),
      fc.record({ type: fc.constant('move' as const), id, parentId: fc.option(id, { nil: undefined }) }),
      fc.record({ type: fc.constant('remove' as const), ids: fc.array(id) }),
    )
    const person = await people.person(t)
    const property = fc.asyncProperty(fc.array(fc.array(edit, { minLength: 1, maxLength: 3 })), async (rounds) => {
      const store = memoryStore()
      const { sync } = person.device('a', { store })
      for (const [number, edits] of rounds.entries()) {
        const copied: string[] = []
        for (const edit of edits) {
          const before = nodesOf(sync.tree())
          if (edit.type === 'remove') await sync.remove(edit.ids)
          // A move into something that is no folder is refused.
          else if (edit.type === 'move') await sync.move(edit.id, { parentId: edit.parentId }).catch(() => {})
          else {
            const list = edit.list.map(({ id, parentId, position }) => ({ ...pick(id, parentId), position }))
            await sync.put(list.map((one) => ({ ...one, title: `${number}` })))
          }
          for (const [id, node] of nodesOf(sync.tree())) {
            const old = before.get(id)
            if (old !== node && JSON.stringify(old) === JSON.stringify(node)) copied.push(id)
          }
        }
        const fresh = person.device('fresh', { store }).sync
        await fresh.put([])
        const stored = new Map((await store.load()).rows.map((row) => [row.id, row]))
        const built = buildTree(sync.bookmarks().values(), (id) => viewOf(stored.get(id)).timestamp)
        const trees = new Set([built, sync.tree(), fresh.tree()].map((tree) => JSON.stringify(tree)))
        if (copied.length > 0 || trees.size > 1) return false
      }
      return true
    })
    await fc.assert(property, { numRuns: depth(20, 500) })
  },
)

/** Folders are f, g and h. */
function pick(id: string, parentId: string): PlaintextBookmark {
  return 'fgh'.includes(id) ? folder(id, { parentId }) : bookmark(id, id, { parentId })
}

function nodesOf(tree: readonly TreeNode[]): Map<string, TreeNode> {
  const nodes = [...tree]
  for (const { children } of nodes) nodes.push(...children)
  return new Map(nodes.map((node) => [node.bookmark.id, node]))
}

/** Returns who was told since the last call, after checking that they read something new, and the others do not. */
function tellers(selected: Record<string, Selection<unknown>>): () => string[] {
  const told = new Set<string>()
  const values = new Map(Object.entries(selected).map(([name, { read }]) => [name, read()]))
  for (const [name, { subscribe }] of Object.entries(selected)) subscribe(() => told.add(name))
  return () => {
    const names = Object.keys(selected).filter((name) => told.has(name))
    const differing = Object.keys(selected).filter((name) => selected[name]?.read() !== values.get(name))
    t.same(names, differing)
    for (const name of names) values.set(name, selected[name]?.read())
    told.clear()
    return names
  }
}
