/** Which versions count as overwritten unseen, for requests with and without a `base` that their device had seen. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import type { TestUser } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { pick } from '../support/pick.ts'
import { sharedApp, sharedUser } from '../support/shared-app.ts'

let made = 0
/** A change without `base`, some ms newer than all earlier ones, with different content. */
const edit = (device_id: string, fields: Partial<Schemas['Change']> = {}) => {
  made += 1
  const content = { data_hash: `hash-${made}`, timestamp: Date.now() + 10 * made }
  return change({ entity_id: 'x', operation: 'update', device_id, ...content, ...fields })
}

const by = (device: string) => ({ headers: device === 'unknown' ? {} : { 'x-device-id': device } })
const content = () => ({ encrypted_data: 'data', data_hash: `hash-${++made}` })

/** The ways to replace bookmark x. */
const writes = {
  push: (user: TestUser, device: string) => push(user, edit(device)),
  put: (user: TestUser, device: string) => user.call('PUT', '/api/v1/bookmarks/x', { body: content(), ...by(device) }),
  delete: (user: TestUser, device: string) => user.call('DELETE', '/api/v1/bookmarks/x', by(device)),
  import: (user: TestUser, device: string) =>
    user.call('POST', '/api/v1/sync/import', { body: { bookmarks: [{ id: 'x', ...content() }] }, ...by(device) }),
}

async function readX(user: TestUser) {
  const { changes, cursor } = await pullAll(user)
  const event = changes.find(({ entity_id }) => entity_id === 'x')
  const lost = event?.overwritten ?? []
  return {
    said: [event?.conflict_resolved, event?.resolution_strategy, pick(lost, 'device_id')],
    lost: lost.map(({ device_id, timestamp, made_on_unseen = false }) => [device_id, [timestamp, made_on_unseen]]),
    timestamp: event?.timestamp ?? 0,
    cursor,
  }
}

const flagged = [true, 'last_write_wins', ['laptop']]
const unflagged = [false, null, []]

for (const [what, write] of Object.entries(writes)) {
  t.test(`${what}: a version counts as seen if its device has pulled or made it`, async (t) => {
    const { user } = await sharedApp()
    const said: Record<string, unknown> = {}
    for (const phone of ['has never pulled', 'has pulled before', 'has pulled', 'made it']) {
      const ada = await user(`ada ${phone}`)
      if (phone === 'has pulled before') await pullAll(ada, by('phone'))
      const first = edit(phone === 'made it' ? 'phone' : 'laptop', what === 'import' ? { operation: 'delete' } : {})
      await push(ada, edit('laptop', { entity_id: 'other' }), first)
      if (phone === 'has pulled') await pullAll(ada, by('phone'))
      t.equal((await write(ada, 'phone')).status, 200)
      said[phone] = (await readX(ada)).said
    }
    t.same(said, {
      'has never pulled': flagged,
      'has pulled before': flagged,
      'has pulled': unflagged,
      'made it': unflagged,
    })
  })
}

t.test('A version that a create overwrites unseen is named in `made_on_unseen`, unlike with an update', async (t) => {
  for (const operation of ['create', 'update'] as const) {
    const ada = await sharedUser()
    await push(ada, edit('laptop'))
    await pullAll(ada, by('phone'))
    const unseen = edit('laptop')
    await push(ada, unseen)
    await push(ada, edit('phone', { operation }))
    t.same((await readX(ada)).lost, [['laptop', [unseen.timestamp, operation === 'create']]])
  }
})

t.test('A REST write or an import without a device id counts as having seen what it replaces', async (t) => {
  const ada = await sharedUser()
  await push(ada, edit('laptop'))
  const said: unknown[] = []
  for (const write of [writes.put, writes.delete, writes.import]) {
    t.equal((await write(ada, 'unknown')).status, 200)
    said.push((await readX(ada)).said)
  }
  t.same(said, [unflagged, unflagged, unflagged])
})

t.test('A change may ask to be rejected instead of overwriting a version that its device has not seen', async (t) => {
  const ada = await sharedUser()
  const conflicts = async () => {
    const [list, status] = await Promise.all(
      ['conflicts', 'status'].map((path) => ada.call('GET', `/api/v1/sync/${path}`, by('phone'))),
    )
    return [list?.body.conflicts.length, status?.body.conflict_count]
  }
  const first = edit('laptop')
  await push(ada, first)
  const { cursor } = await readX(ada)
  const careful = edit('phone', { base: 0, if_unseen: 'reject' })
  for (const _ of ['sent', 'sent again']) {
    const { body } = await push(ada, careful, edit('phone', { entity_id: 'other', if_unseen: 'reject' }))
    t.match(body, {
      accepted: 1,
      conflicts: [
        {
          event_id: careful.id,
          resolution: 'rejected',
          reason: `It was made without having seen the version of ${first.timestamp} by laptop`,
        },
      ],
    })
    t.notOk('last_sync_timestamp' in body, 'there is more to pull')
  }
  t.same([(await readX(ada)).said, await conflicts()], [unflagged, [0, 0]], 'the rejected change is not stored')

  const both = [careful, edit('tablet', { timestamp: careful.timestamp - 1 })] as const
  t.match((await push(ada, ...both)).body, { accepted_ids: [both[1].id], conflicts: [{ event_id: careful.id }] })
  t.same((await readX(ada)).said, flagged, 'the other change of the push is stored')

  const seen = { base: (await readX(ada)).cursor, if_unseen: 'reject' as const }
  for (const change of [edit('phone', seen), edit('phone', { base: cursor, if_unseen: 'reject' })]) {
    t.match((await push(ada, change)).body, { accepted_ids: [change.id] }, 'the device has seen or made that version')
  }
  const late = edit('laptop', { base: 0, if_unseen: 'reject', timestamp: 1 })
  t.match((await push(ada, late)).body, { conflicts: [{ reason: /^Last write wins/ }] })
  t.same(await conflicts(), [2, 2], 'a change that loses is a conflict, as is the one that the tablet overwrote')
})

t.test('A merge overwrites merged versions, and is rejected if a later version came', async (t) => {
  const ada = await sharedUser()
  const [first, later] = [edit('laptop'), edit('tablet')]
  await push(ada, first)
  const merge = edit('phone', { base: 0, if_unseen: 'reject', merged_up_to: (await readX(ada)).cursor })
  await push(ada, later)
  const reason = `It was made without having seen the version of ${later.timestamp} by tablet`
  for (const limit of [merge, { ...merge, merged_up_to: 2 ** 52 }])
    t.match((await push(ada, limit)).body, { accepted: 0, conflicts: [{ event_id: merge.id, reason }] })
  const again = { ...merge, merged_up_to: (await readX(ada)).cursor }
  for (const _ of ['sent', 'sent again with the earlier limit']) {
    t.match((await push(ada, again)).body, { accepted_ids: [merge.id], conflicts: [] })
    t.same((await readX(ada)).said, [true, 'last_write_wins', ['laptop', 'tablet']])
    again.merged_up_to = merge.merged_up_to as number
  }
  const tie = edit('watch', { base: 0, if_unseen: 'reject', timestamp: merge.timestamp })
  const { cursor } = await readX(ada)
  t.match(
    (await push(ada, { ...tie, merged_up_to: cursor })).body,
    { accepted_ids: [tie.id] },
    'also a version with the same time',
  )
})

t.test('Changes by a copy of a device under the same id count as made by another device', async (t) => {
  const ada = await sharedUser()
  const first = edit('phone')
  const made_on = first.id
  const copy = edit('phone', { made_on })
  await push(ada, first, edit('phone', { entity_id: 'other', made_on: null, if_unseen: 'reject' }))
  await push(ada, copy)
  const late = edit('phone', { base: 0, made_on, if_unseen: 'reject' })
  const reason = `It was made without having seen the version of ${copy.timestamp} by phone`
  for (const change of [late, { ...late, made_on: null }, edit('phone', { made_on, if_unseen: 'reject' })])
    t.match((await push(ada, change)).body, { accepted: 0, conflicts: [{ event_id: change.id, reason }] })
  const merge = { ...late, merged_up_to: (await readX(ada)).cursor }
  t.match((await push(ada, merge)).body, { accepted_ids: [merge.id] })
  t.same((await readX(ada)).said, [true, 'last_write_wins', ['phone']], 'the copy gets a conflict')
  const next = edit('phone', { base: 0, made_on: `${merge.id}~001`, if_unseen: 'reject' })
  t.match((await push(ada, next)).body, { accepted_ids: [next.id] }, 'the device made that version itself')
  t.same((await readX(ada)).lost, [['phone', [copy.timestamp, true]]])
})

t.test('A version that is sent again keeps the list that it comes with, and the last of each device', async (t) => {
  const ada = await sharedUser()
  const tablet = { device_id: 'tablet', timestamp: 6 }
  const overwritten = [{ device_id: 'laptop', timestamp: 5, made_on_unseen: true }, tablet]
  await push(ada, edit('phone', { operation: 'create', overwritten }))
  const listed = ['tablet', [6, false]]
  t.same((await readX(ada)).lost, [['laptop', [5, true]], listed])
  await push(ada, edit('phone', { overwritten: [{ device_id: 'laptop', timestamp: 7 }] }))
  t.same((await readX(ada)).lost, [listed, ['laptop', [7, false]]])
})

t.test('Of two versions with the same time neither has seen the other, whatever was pulled since', async (t) => {
  const ada = await sharedUser()
  const first = edit('laptop')
  await push(ada, first)
  await pullAll(ada, by('phone'))
  await push(ada, edit('phone', { timestamp: first.timestamp }))
  t.same((await readX(ada)).said, [true, 'device_id', ['laptop']])
})

t.test('A change that asks to be rejected is accepted if the unseen version has the same content', async (t) => {
  const ada = await sharedUser()
  const first = edit('laptop')
  const { data_hash } = first
  await push(ada, first)
  const same = edit('phone', { base: 0, if_unseen: 'reject', ...(data_hash && { data_hash }) })
  t.match((await push(ada, same)).body, { accepted_ids: [same.id], conflicts: [] })
})

t.test('All later versions name each version that was replaced unseen, and no others', async (t) => {
  const step = fc.record({
    device: fc.constantFrom('a', 'b', 'c', 'unknown'),
    pulls: fc.boolean(),
    way: fc.constantFrom('put' as const, 'push' as const, 'base' as const, 'create' as const),
  })
  let run = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 10 }), async (steps) => {
      run++
      const person = await sharedUser()
      await push(person, edit('a'))
      const seen: Record<string, number> = {}
      const lost = new Map<string, [timestamp: number, isMadeOnUnseen: boolean]>()
      const earlier: { device: string; stamp: number }[] = []
      const first = await readX(person)
      let stored = { device: 'a', stamp: first.cursor, timestamp: first.timestamp }
      for (const { device, pulls, way } of steps) {
        if (pulls && device !== 'unknown') seen[device] = (await pullAll(person, by(device))).cursor
        const base = seen[device] ?? 0
        const { device: maker, timestamp } = stored
        const hasSeen = device === maker || base >= stored.stamp
        const isUnseen = !hasSeen && !(device === 'unknown' && way === 'put')
        if (isUnseen) {
          lost.delete(maker)
          const isOnOthers = earlier.some((one) => one.stamp > base && one.device !== maker)
          const hasSeenNone = base < first.cursor
          lost.set(maker, [timestamp, way === 'create' || hasSeenNone || isOnOthers])
        }
        earlier.push(stored)
        if (way === 'base' || way === 'create') {
          await push(person, edit(device, { base, ...(way === 'create' && { operation: way }) }))
        } else await writes[way](person, device)
        const now = await readX(person)
        assert.deepEqual(now.said.slice(0, 2), [isUnseen, isUnseen ? 'last_write_wins' : null])
        assert.deepEqual(now.lost, [...lost])
        stored = { device, stamp: now.cursor, timestamp: now.timestamp }
      }
    }),
    { numRuns: depth(12, 200) },
  )
  t.pass(`${run} sequences`)
})

for (const entity_type of ['bookmark', 'group', 'history'] as const) {
  t.test(`The base of a lost ${entity_type} counts, whether or not its versions are kept`, async (t) => {
    for (const seen of [1, 2]) {
      const person = await sharedUser()
      const cursors: number[] = []
      for (const device of ['a', 'b', 'c']) {
        await push(person, edit(device, { entity_type, base: cursors.at(-1) ?? 0 }))
        cursors.push((await readX(person)).cursor)
      }
      await push(person, edit('d', { entity_type, base: cursors[seen - 1] as number }))
      t.match((await readX(person)).lost, [['c', [Number, seen === 1]]])
    }
  })
}

t.test('A tie is unseen by both; equal content and rivals within one push lose nothing', async (t) => {
  const [tie, same, rivals] = [await sharedUser(), await sharedUser(), await sharedUser()]
  await push(tie, edit('a', { timestamp: 5, base: 0 }))
  await push(tie, edit('b', { timestamp: 5, base: 2 ** 52 }))
  t.same((await readX(tie)).lost, [['a', [5, true]]])
  await push(same, edit('a', { timestamp: 5, base: 0, data_hash: 'equal' }))
  await push(same, edit('b', { timestamp: 6, base: 0, data_hash: 'equal' }))
  t.same((await readX(same)).lost, [])
  await push(rivals, edit('a', { timestamp: 5, base: 0 }), edit('b', { timestamp: 5, base: 0 }))
  t.same((await readX(rivals)).lost, [], 'the response to the push reports the loss')
})

t.test('Named versions survive REST writes and imports, and are of at most 16 devices', async (t) => {
  const person = await sharedUser()
  for (let device = 0; device < 20; device++) await push(person, edit(`d${device}`, { base: 0 }))
  const named = async () => (await readX(person)).said[2]
  const latest = Array.from({ length: 16 }, (_, index) => `d${index + 3}`)
  t.same(await named(), latest)
  await writes.put(person, 'unknown')
  t.same(await named(), latest)
  await writes.delete(person, 'unknown')
  await writes.import(person, 'unknown')
  t.same(await named(), latest)
})

t.test('Named versions take at most 1,700 characters: 16 of devices with UUIDs, fewer with longer ids', async (t) => {
  const { user } = await sharedApp()
  const ada = await user('ada long ids')
  const listOf = (length: number) =>
    Array.from({ length: 16 }, (_, index) => ({
      device_id: `${index}`.padStart(length, 'd'),
      timestamp: Date.now(),
      made_on_unseen: true,
    }))
  const named = async (length: number) => {
    t.equal((await push(ada, edit('laptop', { overwritten: listOf(length) }))).body.accepted, 1)
    return (await readX(ada)).said[2]
  }
  t.same(await named(36), pick(listOf(36), 'device_id'))
  t.same(await named(128), pick(listOf(128).slice(-8), 'device_id'), 'the newest')
})
