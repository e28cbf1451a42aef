import fc from 'fast-check'
import t from 'tap'
import { compareVersions, type Version } from '../../src/protocol/order.ts'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import type { TestUser } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { sharedApp, sharedUser } from '../support/shared-app.ts'

type Change = Schemas['Change']

t.test('A push returns accepted, accepted_ids in request order, and timestamp', async (t) => {
  const ada = await sharedUser()
  const changes = ['c', 'a', 'b'].map((entity_id) => change({ entity_id }))
  const before = Date.now()
  const { status, body } = await push(ada, ...changes)
  t.equal(status, 200)
  t.equal(body.accepted, 3)
  t.same(
    body.accepted_ids,
    changes.map(({ id }) => id),
  )
  t.same(body.conflicts, [])
  t.ok(body.timestamp >= before && body.timestamp <= Date.now(), "the server's time")
})

t.test("A push returns the device's new cursor, unless there is more to pull", async (t) => {
  const eve = await sharedUser()
  const headers = { 'x-device-id': 'device-a' }
  const cursors = async (...changes: Change[]) => {
    const { body } = await eve.call('POST', '/api/v1/sync/push', { body: { changes }, headers })
    return [body.previous_sync_timestamp, body.last_sync_timestamp]
  }
  const { cursor: start } = await pullAll(eve)
  const first = [change({ entity_id: 'x', timestamp: 1000, device_id: 'b' }), change({ entity_id: 'y' })]
  const [before, after] = await cursors(...first)
  t.same([before, after], [start, (await pullAll(eve)).cursor])
  const [again, end] = await cursors(change({ entity_id: 'z' }))
  t.equal(again, after)
  t.same((await pullAll(eve, { since: end })).changes, [], 'no change is left to pull')

  const none = [undefined, undefined]
  t.same(Object.keys((await push(eve, change({ entity_id: 'v' }))).body), [
    ...['accepted', 'accepted_ids', 'conflicts', 'timestamp', 'epoch'],
  ])
  t.same(await cursors(...first), none, 'nothing is stored')
  t.same(
    await cursors(change({ entity_id: 'x', timestamp: 900, device_id: 'a' }), change({ entity_id: 'w' })),
    none,
    'one lost',
  )
  t.same(await cursors(change({ entity_id: 'x', timestamp: 2000, device_id: 'a', base: start })), none, 'unseen')
  t.same(await cursors(change({ entity_id: 'x', timestamp: 3000, device_id: 'a' })), none, 'a pull is needed')
})

t.test('The last write wins, and a losing push is reported', async (t) => {
  const ada = await sharedUser()
  const [older, newer] = [
    change({ entity_id: 'x', timestamp: 1000, device_id: 'a' }),
    change({ entity_id: 'x', timestamp: 2000, device_id: 'b' }),
  ]

  await push(ada, newer)
  const lost = await push(ada, older)
  t.same(lost.body.accepted_ids, [])
  t.match(
    lost.body.conflicts,
    [
      {
        entity_id: 'x',
        event_id: older.id,
        resolution: 'rejected',
        reason: 'Last write wins: the version of 2000 by b is newer',
      },
    ],
    'the loser is rejected and reported',
  )
  t.equal((await pullAll(ada)).changes[0]?.id, newer.id, 'the winner is kept')

  const tie = change({ entity_id: 'x', timestamp: 2000, device_id: 'c' })
  t.equal((await push(ada, tie)).body.accepted, 1, 'with equal timestamps, the greater device_id wins')
  t.match((await pullAll(ada)).changes[0], { id: tie.id, conflict_resolved: true, resolution_strategy: 'device_id' })
  const lowTie = change({ entity_id: 'x', timestamp: 2000, device_id: 'C' })
  t.match((await push(ada, lowTie)).body.conflicts, [{ entity_id: 'x', reason: /device_id/ }])
})

t.test('A change of another user, or from the far future, is rejected in conflicts', async (t) => {
  const [ada, bob] = [await sharedUser(), await sharedUser()]
  const foreign = change({ entity_id: 'x', user_id: bob.userId })
  const early = change({ entity_id: 'y', timestamp: Date.now() + 86_400_000 + 60_000 })
  const own = change({ entity_id: 'z', user_id: ada.userId, timestamp: Date.now() + 86_400_000 - 60_000 })
  const { body } = await push(ada, foreign, early, own)
  t.same(body.accepted_ids, [own.id])
  t.match(body.conflicts, [
    { event_id: foreign.id, reason: /another user/ },
    { event_id: early.id, reason: new RegExp(String(body.timestamp)) },
  ])
  t.equal((await pullAll(bob)).changes.length, 0)
  const status = await ada.call('GET', '/api/v1/sync/status')
  t.equal(status.body.conflict_count, 0, 'rejected changes do not count as conflicts')
})

t.test('A loser with the same content as the winner is accepted, unless its operation differs', async (t) => {
  const ada = await sharedUser()
  const same = { entity_id: 'x', data_hash: 'h' }
  await push(ada, change({ ...same, operation: 'update', timestamp: 2000 }))
  await push(ada, change({ entity_id: 'y', operation: 'delete', timestamp: 2000 }))
  const older = { timestamp: 1000, device_id: 'device-b' }
  const update = change({ ...same, ...older, operation: 'update' })
  const created = change({ ...same, ...older, operation: 'create' })
  const deleted = change({ entity_id: 'y', ...older, operation: 'delete', data_hash: 'ignored' })
  const { body } = await push(ada, update, created, deleted)
  t.same(body.accepted_ids, [update.id, deleted.id])
  t.match(body.conflicts, [{ event_id: created.id }])
})

t.test("A delete of an unknown entity keeps its own data_hash, of a known one the record's", async (t) => {
  const ada = await sharedUser()
  await push(ada, change({ entity_id: 'known', timestamp: 1000, data_hash: 'of the record' }))
  const deletes = ['unknown', 'known'].map((entity_id) => {
    return change({ entity_id, operation: 'delete', timestamp: 2000, data_hash: 'of the delete' })
  })
  await push(ada, ...deletes)
  t.match((await pullAll(ada)).changes, [
    { entity_id: 'unknown', operation: 'delete', data_hash: 'of the delete' },
    { entity_id: 'known', operation: 'delete', data_hash: 'of the record' },
  ])
  t.equal((await push(ada, ...deletes)).body.accepted, 2, 'a retry')
})

/** Devices edit three entities with clocks up to 23 h off, with or without a base. */
const script = fc.array(
  fc.record({
    device: fc.integer({ min: 0, max: 4 }),
    entity: fc.constantFrom('x', 'y', 'z'),
    operation: fc.constantFrom('create' as const, 'update' as const, 'delete' as const),
    skew: fc.integer({ min: -23, max: 23 }),
    sameTime: fc.boolean(),
  }),
  { minLength: 1, maxLength: 14 },
)

t.test('The winner does not depend on the order, batching or repetition of pushes', async (t) => {
  const { user } = await sharedApp()
  let run = 0
  await fc.assert(
    fc.asyncProperty(script, fc.infiniteStream(fc.nat()), async (edits, random) => {
      run += 1
      const start = Date.now()
      const changes = edits.map(({ device, entity, operation, skew, sameTime }, index) =>
        change({
          id: `event-${index}`,
          entity_id: entity,
          operation,
          device_id: `device-${device}`,
          timestamp: start + skew * 3_600_000 + (sameTime ? 0 : index),
        }),
      )
      const next = () => random.next().value as number
      const states: string[] = []
      for (const order of ['one', 'two']) {
        const person = await user(`person-${run}-${order}`)
        const shuffled = [...changes].sort(() => (next() % 2 === 0 ? 1 : -1))
        const delivery = await deliver(person, shuffled, next)
        const state = (await pullAll(person)).changes
        states.push(JSON.stringify(state.map(({ entity_id, id }) => [entity_id, id]).sort()))
        assertWinners(changes, state)
        assertNoSilentLoser(changes, state, delivery)
        const before = JSON.stringify(await pullAll(person))
        for (const kept of state) {
          const retry = changes.find(({ id }) => id === kept.id)
          if (retry) await push(person, retry)
        }
        if (JSON.stringify(await pullAll(person)) !== before) throw new Error('a retry wrote something')
      }
      return states[0] === states[1]
    }),
    { numRuns: depth(6, 120) },
  )
  t.pass(`${run} scripts`)
})

interface Delivery {
  rejected: Set<string>
  /** The ids of events that were the stored version at some time. */
  stood: Set<string>
  /** The changes of each request, in order. */
  pieces: Change[][]
}

/** Pushes in batches of random size, some of them twice, and records the outcome of each change. */
async function deliver(person: TestUser, changes: Change[], next: () => number): Promise<Delivery> {
  const delivery: Delivery = { rejected: new Set(), stood: new Set(), pieces: [] }
  for (let rest = changes; rest.length > 0; ) {
    const piece = rest.slice(0, 1 + (next() % 4))
    rest = rest.slice(piece.length)
    delivery.pieces.push(piece)
    for (let times = 1 + (next() % 2); times > 0; times -= 1) {
      const { body } = await push(person, ...piece)
      const answered = [
        ...body.accepted_ids,
        ...body.conflicts.map((conflict: Schemas['ConflictInfo']) => conflict.event_id),
      ]
      if (
        answered.sort().join() !==
        piece
          .map(({ id }) => id)
          .sort()
          .join()
      )
        throw new Error('a change was not reported exactly once')
      for (const { event_id } of body.conflicts) delivery.rejected.add(event_id)
      for (const { id } of (await pullAll(person)).changes) delivery.stood.add(id)
    }
  }
  return delivery
}

function assertWinners(changes: Change[], state: Schemas['SyncEvent'][]): void {
  for (const event of state) {
    const rivals = changes.filter(({ entity_id }) => entity_id === event.entity_id).map(toVersion)
    const greatest = rivals.reduce((best, other) => (compareVersions(other, best) > 0 ? other : best))
    if (greatest.event_id !== event.id)
      throw new Error(`${event.entity_id}: ${event.id} is kept, ${greatest.event_id} is the greatest`)
  }
}

/** Each loser was reported, was current for a while, was pushed together with its device's winner, or repeated a delete. */
function assertNoSilentLoser(
  changes: Change[],
  state: Schemas['SyncEvent'][],
  { rejected, stood, pieces }: Delivery,
): void {
  for (const change of changes) {
    const piece = pieces.find((sent) => sent.includes(change)) as Change[]
    const isBeatenBy = (other: Change) =>
      other.entity_id === change.entity_id && compareVersions(toVersion(other), toVersion(change)) > 0
    const ownNewer = piece.some((other) => other.device_id === change.device_id && isBeatenBy(other))
    const sameDelete =
      change.operation === 'delete' && changes.some((other) => other.operation === 'delete' && isBeatenBy(other))
    if (!rejected.has(change.id) && !stood.has(change.id) && !ownNewer && !sameDelete)
      throw new Error(`${change.id} was lost without a report`)
  }
  for (const { id } of state) if (rejected.has(id)) throw new Error(`the winner ${id} was reported as a loser`)
}

function toVersion({ id, timestamp, device_id, operation, data_hash, encrypted_data }: Change): Version {
  return {
    event_id: id,
    timestamp,
    device_id,
    operation,
    data_hash: data_hash ?? null,
    encrypted_data: encrypted_data ?? null,
  }
}

t.test('An edit made after seeing a version wins over it, even with wrong clocks', async (t) => {
  const { user } = await sharedApp()
  const devices = fc.array(
    fc.record({ device: fc.constantFrom('a', 'b', 'c'), skew: fc.integer({ min: -23, max: 23 }) }),
    { minLength: 2, maxLength: 8 },
  )
  let run = 0
  await fc.assert(
    fc.asyncProperty(devices, async (edits) => {
      run += 1
      const person = await user(`seer-${run}`)
      for (const { device, skew } of edits) {
        const { changes, cursor } = await pullAll(person)
        const seen = changes[0]?.timestamp ?? 0
        const clock = Date.now() + skew * 3_600_000
        const edit = change({ entity_id: 'x', device_id: device, timestamp: Math.max(clock, seen + 1), base: cursor })
        const { body } = await push(person, edit)
        if (body.accepted !== 1) return false
        const [kept] = (await pullAll(person)).changes
        if (kept?.id !== edit.id || kept.conflict_resolved) return false
      }
      return true
    }),
    { numRuns: depth(6, 60) },
  )
  t.pass(`${run} chains`)
})
