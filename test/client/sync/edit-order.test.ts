import fc from 'fast-check'
import t from 'tap'
import type { PlaintextBookmark, Sync } from '../../../src/client/index.ts'
import * as deferred from '../../../src/client/sync/deferred.ts'
import { depth } from '../../support/depth.ts'
import { turns } from './clock.ts'
import { bookmark, openPeople, shown } from './device.ts'

const people = await openPeople()
const links = [bookmark('x', 'x', { description: 'x' }), bookmark('y', 'y'), bookmark('gone', 'gone')]
const folders = ['f', 'g'].map((id) => bookmark(id, id, { url: undefined as never }))

/** One edit; `name` is unique. */
type Call = (sync: Sync, name: string) => Promise<unknown>

const id = fc.constantFrom('x', 'y')
const anyId = fc.constantFrom('x', 'y', 'gone', 'none')
const folder = fc.constantFrom('f', 'g', undefined, 'none')
const call: fc.Arbitrary<Call> = fc.oneof(
  fc.tuple(anyId, folder).map(([id, parentId]): Call => {
    return (sync) => sync.move(id, { parentId })
  }),
  fc.tuple(anyId, folder).map(([id, parentId]): Call => {
    return (sync) => sync.update(id, { parentId })
  }),
  anyId.map((id): Call => {
    return (sync, title) =>
      sync.update(id, ({ description = '' }) => ({ title, description: `${description}${title}` }))
  }),
  id.map((id): Call => {
    return (sync, title) => sync.put({ ...(sync.get(id) as PlaintextBookmark), title })
  }),
  folder.map((parentId): Call => {
    const inFolder = (name: string) => bookmark(name, name, { ...(parentId && { parentId }) })
    return (sync, name) => sync.put([inFolder(name), inFolder(`${name}2`)])
  }),
  fc.constant<Call>((sync) => sync.remove('gone')),
)

t.test('edits that are not awaited end like awaited ones, also if the deferred file is late', async (t) => {
  const person = await people.person(t)
  const steps = fc.array(fc.record({ call, pause: fc.constantFrom(0, 0, 0, 1, 5) }), { minLength: 2, maxLength: 8 })
  const run = async (list: { call: Call; pause: number }[], arrival: number) => {
    const file = Promise.withResolvers<typeof deferred>()
    const [hurried, patient] = [person.device('a', { loadDeferred: () => file.promise }), person.device('a')]
    for (const { sync } of [hurried, patient]) await sync.put([...folders, ...links])
    const calls: Promise<unknown>[] = []
    for (const [index, { call, pause }] of list.entries()) {
      if (index === arrival) file.resolve(deferred)
      const made = call(hurried.sync, `n${index}`)
      made.catch(() => {})
      calls.push(made)
      await turns(pause)
    }
    file.resolve(deferred)
    const outcomes = await Promise.allSettled(calls)
    const expected: PromiseSettledResult<unknown>[] = []
    for (const [index, { call }] of list.entries()) {
      expected.push(...(await Promise.allSettled([call(patient.sync, `n${index}`)])))
    }
    const all = [outcomes, expected].map((some) =>
      some.map((one) => (one.status === 'rejected' ? one.reason.name : one.value)),
    )
    const [is, should] = [hurried, patient].map(({ sync }, index) => {
      return {
        outcomes: all[index],
        bookmarks: [...sync.bookmarks().values()],
        tree: sync.tree(),
        conflicts: sync.conflicts(),
      }
    })
    await Promise.all([hurried, patient].map(({ sync }) => sync.stop()))
    const text = (value: unknown) => JSON.stringify(value, sortedKeys)
    if (text(is) !== text(should)) throw new Error(`${text(is)}\nshould be\n${text(should)}`)
  }
  await fc.assert(fc.asyncProperty(steps, fc.nat(8), run), { numRuns: depth(30, 2000) })
})

function sortedKeys(_: string, value: unknown): unknown {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))) : value
}

t.test('an edit that waits for `deferred.ts`, which cannot be loaded, does not block later edits', async (t) => {
  const file = Promise.withResolvers<typeof deferred>()
  const { a } = await people.open(t, { a: { loadDeferred: () => file.promise } })
  await a.sync.put(links)
  const calls = [a.sync.move('x', {}), a.sync.update('y', { title: 'edited' })]
  await turns(5)
  t.match(shown(a), { y: 'y' }, 'edits after a move wait with it')
  file.reject(new TypeError('no network'))
  const [moved, updated] = await Promise.allSettled(calls)
  t.match([moved?.status, updated?.status, shown(a)], ['rejected', 'fulfilled', { y: 'edited' }])
})

t.test('an edit does not wait for imports, restores or calls that are not edits', async (t) => {
  const { a } = await people.open(t, { a: { loadDeferred: () => new Promise(() => {}) } })
  const slow: Promise<unknown>[] = [
    a.sync.importBookmarks([bookmark('z', 'z')]),
    a.sync.restoreExport({ bookmarks: [bookmark('z', 'z')] }),
    a.sync.explain(),
  ]
  await a.sync.put(links)
  t.match(shown(a), { x: 'x' })
  await a.sync.stop()
  for (const call of slow) await t.rejects(call, { name: 'AbortError' })
})
