/** A page may come from a cache that lacks the sync's second file. */
import t from 'tap'
import { OfflineError } from '../../../src/client/errors.ts'
import * as deferred from '../../../src/client/sync/deferred.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import { bookmark } from './device.ts'
import { openPeople, shown } from './person.ts'
import { turns, until } from './turns.ts'

const people = await openPeople()

t.test('without its second file, a device shows and edits what it has, and syncs once the file arrives', async (t) => {
  const person = await people.person(t)
  const store = memoryStore()
  await person.device('a', { store }).sync.put(bookmark('old', 'stored'))
  let isThere = false
  const loadDeferred = async () => {
    if (!isThere) throw new OfflineError()
    return deferred
  }
  const a = person.device('a', { store, loadDeferred })
  await a.sync.start()
  await a.sync.put([bookmark('new', 'made'), bookmark('gone', 'removed')])
  await a.sync.update('new', { title: 'edited' })
  await a.sync.move('new', { before: 'old' })
  await a.sync.remove('gone')
  t.same(shown(a), { new: 'edited', old: 'stored' })
  await t.rejects(a.sync.importBookmarks([bookmark('more', 'imported')]), { name: 'OfflineError' })
  await t.rejects(a.sync.search('edited'), { name: 'OfflineError' })
  await t.rejects(a.sync.syncNow(), { name: 'OfflineError' })
  t.match(a.sync.status(), { state: 'offline', reason: 'network', waiting: 2 })
  t.same(a.errors, [])

  isThere = true
  await person.world.pass(10_000)
  await until(() => a.sync.status().waiting === 0)
  t.same(await person.stored(), { new: 'edited', old: 'stored' })
  t.same(
    (await a.sync.search('edited')).map(({ id }) => id),
    ['new'],
  )
})

t.test('a sync that waits for its second file stops at once', async (t) => {
  const person = await people.person(t)
  const a = person.device('a', { loadDeferred: () => new Promise(() => {}) })
  await a.sync.start()
  const [syncing, importing] = [a.sync.syncNow(), a.sync.importBookmarks([bookmark('one', 'One')])]
  const ends = Promise.allSettled([syncing, importing])
  await turns()
  await a.sync.stop()
  t.match(await ends, [{ reason: { name: 'AbortError' } }, { reason: { name: 'AbortError' } }])
  t.equal(person.world.sleepers, 0)
})
