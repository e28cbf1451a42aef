/** A device that chooses entity types receives only these, and its cursor skips the others. */
import fc from 'fast-check'
import t from 'tap'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import { openDevice, startService } from '../realtime/device.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, push, pushMany } from '../support/changes.ts'
import { isPostgres } from '../support/database-url.ts'
import { depth } from '../support/depth.ts'
import { digestOf } from '../support/digest.ts'

type EntityType = Schemas['EntityType']

const types: EntityType[] = ['bookmark', 'history', 'group']
const { origin, user } = await startService(t)

const pull = async (user: TestUser, body: object): Promise<Schemas['PullResponse']> =>
  (await user.call('POST', '/api/v1/sync/pull', { body })).body

let people = 0
const newUser = () => user(`person ${++people}`)

t.test('Pages of some types have each change once, even with writes between the pages', async () => {
  const edit = fc.record({ type: fc.constantFrom(...types), id: fc.integer({ min: 1, max: 30 }) })
  const round = fc.record({ edits: fc.array(edit, { maxLength: 12 }), limit: fc.integer({ min: 1, max: 4 }) })
  await fc.assert(
    fc.asyncProperty(
      fc.subarray(types, { minLength: 1 }),
      fc.array(round, { minLength: 1, maxLength: 6 }),
      async (wanted, rounds) => {
        const ada = await newUser()
        const known = new Map<string, string>()
        let [since, made, hasMore] = [0, 0, true]
        const read = async (limit: number) => {
          const page = await pull(ada, { since, limit, entity_types: wanted })
          for (const { entity_type, entity_id, id } of page.changes) {
            if (!wanted.includes(entity_type)) throw new Error(`a ${entity_type}`)
            known.set(`${entity_type} ${entity_id}`, id)
          }
          if (page.has_more && page.last_sync_timestamp <= since) throw new Error('the cursor stands still')
          since = page.last_sync_timestamp
          hasMore = page.has_more
        }
        for (const { edits, limit } of rounds) {
          const changes = edits.map(({ type, id }) =>
            change({ entity_type: type, entity_id: `${id}`, timestamp: Date.now() + ++made }),
          )
          if (changes.length > 0) await push(ada, ...changes)
          await read(limit)
        }
        for (hasMore = true; hasMore; ) await read(3)
        const all = await pull(ada, {})
        const expected = all.changes.filter(({ entity_type }) => wanted.includes(entity_type))
        const names = (of: Iterable<[string, string]>) => JSON.stringify([...of].sort())
        const current = names(expected.map((one) => [`${one.entity_type} ${one.entity_id}`, one.id]))
        if (names(known) !== current) throw new Error(`${names(known)} instead of ${current}`)
        const rest = await pull(ada, { since })
        if (rest.changes.length > 0) throw new Error('the cursor has not passed the changes of other types')
      },
    ),
    { numRuns: depth(isPostgres ? 8 : 25, 2000) },
  )
})

t.test('Changes of other types are skipped in short queries, without reading their ciphertext', async (t) => {
  const many = depth(4_500, 110_000)
  const { user } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '100000000' })
  const ada = await user('ada')
  const visits = Array.from({ length: many }, (_, index) => change({ entity_type: 'history', entity_id: `${index}` }))
  await push(ada, change({ entity_id: 'first' }))
  await pushMany(ada, visits)
  await push(ada, change({ entity_id: 'last' }))
  const pages: Schemas['PullResponse'][] = []
  for (let since = 0; pages.at(-1)?.has_more !== false; since = pages.at(-1)?.last_sync_timestamp ?? 0)
    pages.push(await pull(ada, { since, entity_types: ['bookmark', 'group'] }))
  t.same(pages.flatMap(({ changes }) => changes.map(({ entity_id }) => entity_id)).sort(), ['first', 'last'])
  t.equal(pages.length, Math.ceil((many + 2) / 25_000), 'each request skips up to 25,000 changes')
  t.equal((await pull(ada, { since: pages.at(-1)?.last_sync_timestamp ?? 0 })).changes.length, 0)
})

t.test('The status counts and sums only the requested types', async (t) => {
  const ada = await newUser()
  const hash = (digit: string) => digit.repeat(64)
  await push(ada, change({ entity_id: 'a', data_hash: hash('a') }), change({ entity_id: 'b', data_hash: hash('b') }))
  await push(ada, change({ entity_type: 'history', entity_id: 'a', data_hash: hash('c') }))
  await push(ada, change({ entity_type: 'group', entity_id: 'a', data_hash: 'none' }))
  await push(ada, change({ entity_type: 'history', entity_id: 'gone', data_hash: hash('d') }))
  const gone = { entity_type: 'history', entity_id: 'gone', operation: 'delete', timestamp: Date.now() + 9 } as const
  await push(ada, change(gone))
  const status = async (query: string) => {
    const headers = { 'x-device-id': 'phone' }
    const { pending_changes, digest } = (await ada.call('GET', `/api/v1/sync/status${query}`, { headers })).body
    return [pending_changes, digest]
  }
  const sum = (...all: string[]) => digestOf(all.map((data_hash) => ({ data_hash })))
  const [bookmarks, all] = [
    [hash('a'), hash('b')],
    [hash('a'), hash('b'), hash('c'), 'none'],
  ]
  t.same(await status(''), [5, sum(...all)])
  t.same(await status('?entity_types=bookmark,history,group'), [5, sum(...all)])
  t.same(await status('?entity_types=bookmark'), [2, sum(...bookmarks)])
  t.same(await status('?entity_types=history'), [2, sum(hash('c'))])
  t.same(await status('?entity_types=group,group'), [1, sum('none')], 'twice is once')
})

t.test('A socket for some types gets only these, and can tell that nothing is missing', async (t) => {
  const ada = await newUser()
  await push(ada, change({ entity_type: 'history', entity_id: 'earlier' }))
  const { last_sync_timestamp: since } = await pull(ada, { entity_types: ['bookmark'] })
  await push(ada, change({ entity_type: 'history', entity_id: 'missed' }), change({ entity_id: 'one' }))
  const device = await openDevice(t, origin, ada, { since, types: 'bookmark,group' })
  const first = await device.nextSync()
  t.match(first, { event: { entity_id: 'one' }, previous_stamp: since })
  await push(ada, change({ entity_type: 'history', entity_id: 'visit' }))
  await push(ada, change({ entity_type: 'history', entity_id: 'visit 2' }), change({ entity_id: 'two' }))
  t.match(await device.nextSync(), { event: { entity_id: 'two' }, previous_stamp: first.stamp })
  const own = change({ entity_type: 'history', entity_id: 'own', device_id: 'device-b' })
  device.send({ type: 'sync', event: own })
  const acknowledged = await device.nextSync()
  t.equal(acknowledged.event.id, own.id, 'its own change is acknowledged')
  t.equal(acknowledged.previous_stamp, undefined, 'the acknowledgement does not move its cursor')
})

t.test('An unknown type is refused', async (t) => {
  const ada = await newUser()
  const refused = [
    [['bookmark', 'star'], 'entity_types.1 must be one of: bookmark, history, group'],
    [[], 'entity_types must be an array of 1 to 3 elements'],
    ['bookmark', 'entity_types must be an array of 1 to 3 elements'],
  ]
  for (const [entity_types, error] of refused) {
    const { status, body } = await ada.call('POST', '/api/v1/sync/pull', { body: { entity_types } })
    t.same([status, body], [400, { error }])
  }
  const error = 'entity_types must be one or more of: bookmark, history, group, separated by commas'
  for (const types of ['star', '', 'bookmark,', 'bookmark,star', 'bookmark history']) {
    const { status, body } = await ada.call('GET', `/api/v1/sync/status?entity_types=${encodeURIComponent(types)}`)
    t.same([status, body], [400, { error }], types)
    await t.rejects(openDevice(t, origin, ada, { types: types || ',' }), /closed with 1006/)
  }
})
