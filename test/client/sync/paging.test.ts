import t from 'tap'
import { ApiError, StorageFullError } from '../../../src/client/errors.ts'
import type { PullResponse } from '../../../src/client/sync/exchange/transport.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import type { Store } from '../../../src/client/sync/store/store.ts'
import { bookmark } from './device.ts'
import { openPeople, type Person, shown } from './person.ts'
import { until } from './turns.ts'

const people = await openPeople()
const list = Array.from({ length: 12 }, (_, index) => bookmark(`b${index}`, String(index)))

t.test('while a page is decrypted and stored, the next one is on its way', async (t) => {
  const person = await people.person(t)
  const { b, pullsAtWrite } = await inPages(person)
  await b.sync.syncNow()
  t.same(shown(b), await person.stored())
  t.same(pullsAtWrite, [2, 3, 3])
})

t.test('a page that cannot be stored is pulled again, whatever came of the next one', async (t) => {
  const person = await people.person(t)
  const { b, failing } = await inPages(person)
  failing.add(2)
  await t.rejects(b.sync.syncNow(), StorageFullError)
  t.equal(b.sync.bookmarks().size, 5)
  t.equal(b.sync.status().lastSync, 0, 'what is there in part is no sync: an extension waits for the rest')
  await b.sync.syncNow()
  t.same(shown(b), await person.stored())
})

t.test(
  'a service whose cursor stands still although more follows is not asked without end, and nothing is lost',
  async (t) => {
    for (const epoch of [undefined, 'restored from a backup']) {
      const person = await people.person(t)
      const { b } = await inPages(person)
      const { pull } = b.network
      let pulls = 0
      await b.sync.put(bookmark('mine', 'not sent yet'))
      if (epoch) await b.sync.syncNow()
      b.network.pull = async (body, options) => {
        if (++pulls > 20) throw new Error('It pulls without end')
        const page = await pull(body, options)
        const stuck = body.since > 0 && { changes: [], last_sync_timestamp: body.since, has_more: true }
        return { ...page, ...stuck, ...(epoch && { epoch }) } as PullResponse
      }
      await t.rejects(b.sync.syncNow(), new ApiError(200, "The service's cursor stands still"))
      await b.sync.start()
      await until(() => b.errors.length === 2)
      t.match([b.errors, b.states.at(-1), pulls < 9], [[{ error: ApiError }, { error: ApiError }], 'offline', true])
      t.equal(b.sync.get('mine')?.title, 'not sent yet')
      b.network.pull = pull
      await person.world.pass(60_000)
      t.same(shown(b), await person.stored())
      t.equal(b.sync.bookmarks().size, 13)
    }
  },
)

t.test('a service whose epoch is another on each page is not asked without end, and nothing is lost', async (t) => {
  const person = await people.person(t)
  const { b } = await inPages(person)
  const { pull } = b.network
  await b.sync.put(bookmark('mine', 'not sent yet'))
  let pulls = 0
  b.network.pull = async (body, options) => {
    if (++pulls > 100) throw new Error('It pulls without end')
    return { ...(await pull(body, options)), epoch: `${pulls}` }
  }
  await t.rejects(b.sync.syncNow(), new ApiError(200, "The service's epoch does not last"))
  t.ok(pulls < 20, `${pulls} pulls`)
  b.network.pull = pull
  await b.sync.syncNow()
  t.same(shown(b), await person.stored())
  t.equal(b.sync.bookmarks().size, 13)
})

/** A device that pulls five changes a page, of the twelve that another has made. */
async function inPages(person: Person) {
  const a = person.device('a')
  await a.sync.put(list)
  await a.sync.syncNow()
  const store = memoryStore()
  const pullsAtWrite: number[] = []
  const failing = new Set<number>()
  const write: Store['write'] = async (rows, meta) => {
    pullsAtWrite.push(b.network.calls.filter((name) => name === 'pull').length)
    if (failing.delete(pullsAtWrite.length)) throw new StorageFullError()
    return store.write(rows, meta)
  }
  const b = person.device('b', { store: { ...store, write } })
  const { pull } = b.network
  b.network.pull = (body, options) => pull({ ...body, limit: 5 } as typeof body, options)
  return { b, pullsAtWrite, failing }
}
