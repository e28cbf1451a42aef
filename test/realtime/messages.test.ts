import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { closeCodes } from '../../generated/channel.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { breakDatabase, countRows, interceptWrites } from '../support/database.ts'
import { holdTime } from '../support/intervals.ts'
import { until } from '../support/until.ts'
import { maxUserBytes } from '../support/usage.ts'
import { openDevice, openPerson, startService } from './device.ts'

// On a slow machine, a ping would come between the messages, and a rate would refill.
holdTime(t)
const common = await startService(t)
const limited = await startService(t, { RATE_LIMIT_PER_MINUTE: '10' })
const open = (t: Test, app = common) => openPerson(t, app)

const own = (fields: Parameters<typeof change>[0]) => change({ device_id: 'device-b', ...fields })

t.test('A retry is acknowledged with the same stamp as before, and changes nothing', async (t) => {
  const { ada, device } = await open(t)
  const event = own({ entity_id: 'x' })
  device.send({ type: 'sync', event })
  const first = await device.nextSync()
  await push(ada, own({ entity_id: 'y' }))
  await device.nextSync()
  device.send({ type: 'sync', event })
  const { previous_stamp: _, ...message } = first
  t.same(await device.nextSync(), message)
  device.send({ type: 'ping' })
  t.same(await device.next(), { type: 'pong' }, 'and only once')
})

t.test('A sync reaches the other sockets once, and its sender as one acknowledgement', async (t) => {
  const { origin, ada, device } = await open(t)
  const [twin, other] = [await openDevice(t, origin, ada), await openDevice(t, origin, ada, { deviceId: 'device-c' })]
  const ids = Array.from({ length: 50 }, (_, index) => `bookmark-${index}`)
  for (const entity_id of ids) device.send({ type: 'sync', event: own({ entity_id }) })
  await device.take((message) => message.type === 'sync' && message.event.entity_id === 'bookmark-49')
  await push(ada, change({ entity_id: 'last' }))
  t.same(await device.takeEntities('last'), ['last'], 'the sender got no more than its acknowledgements')
  t.same(await other.takeEntities('last'), [...ids, 'last'])
  t.same(await twin.takeEntities('last'), [...ids, 'last'], 'another socket of the same device, too')
})

t.test('A version sent again after a recovery says so, and so does an edit that had seen it', async (t) => {
  const { ada, device } = await open(t)
  const recovered = { epoch: '0199f6a0-1c00-7000-8000-000000000005', timestamp: 5 }
  device.send({ type: 'sync', event: own({ entity_id: 'x', recovered }) })
  const { event, stamp } = await device.nextSync()
  t.same(event.recovered, recovered)
  const later = (number: number) => ({ entity_id: 'x', timestamp: event.timestamp + number })
  await push(ada, change({ ...later(1), device_id: 'device-c', base: stamp }))
  t.same((await device.nextSync()).event.recovered, recovered)
  await push(ada, change({ ...later(2), device_id: 'device-d', base: 0 }))
  t.equal((await device.nextSync()).event.recovered, undefined)
  t.equal((await pullAll(ada)).changes[0]?.recovered, undefined)
})

t.test('A sync that the hub reads before its push returns is sent once, in order', async (t) => {
  const { app, origin, ada, device } = await open(t)
  const other = await openDevice(t, origin, ada, { deviceId: 'device-c' })
  const { notices } = app.context
  const { publishChange } = notices
  const stop = interceptWrites(app.context, ada.userId, async (write) => {
    stop()
    notices.publishChange = () => {}
    const result = await write()
    await push(ada, change({ entity_id: 'next' }))
    publishChange(ada.userId)
    await other.takeEntities('next')
    notices.publishChange = publishChange
    return result
  })
  device.send({ type: 'sync', event: own({ entity_id: 'x' }) })
  t.same(await device.takeEntities('next'), ['x', 'next'])
  await push(ada, change({ entity_id: 'last' }))
  t.same(await device.takeEntities('last'), ['last'])
})

t.test('A sync that is rejected comes back as an error that names the entity', async (t) => {
  const { app, ada, device } = await open(t)
  await push(ada, change({ entity_id: 'the-entity', timestamp: 2000 }))
  await device.nextSync()
  device.send({ type: 'sync', event: own({ entity_id: 'the-entity', timestamp: 1000 }) })
  t.match(await device.next(), { type: 'error', error: /the-entity.*newer/ })
  const foreign = (await app.user('bob')).userId
  device.send({ type: 'sync', event: own({ entity_id: 'y', user_id: foreign }) })
  t.match(await device.next(), { type: 'error', error: /y.*another user/ })
  device.send({ type: 'sync', event: own({ entity_id: 'z', timestamp: Date.now() + 2 * 86_400_000 }) })
  t.match(await device.next(), { type: 'error', error: /z.*24 hours/ })
  t.equal((await pullAll(ada)).changes.length, 1)
  device.send({ type: 'sync', event: own({ entity_id: 'fine' }) })
  t.match(await device.nextSync(), { event: { entity_id: 'fine' } }, 'the socket stays open')
})

t.test('A ping gets a pong, a pong gets nothing, and a protocol ping gets a protocol pong', async (t) => {
  const { device } = await open(t)
  device.send({ type: 'pong' })
  device.send({ type: 'ping', later: 'versions may say more' })
  t.same(await device.next(), { type: 'pong' })
  const answered = new Promise((resolve) => device.socket.once('pong', (data) => resolve(String(data))))
  device.socket.ping('hello')
  t.equal(await answered, 'hello')
})

t.test('Messages are handled one at a time, in their order', async (t) => {
  const { app, ada, device } = await open(t)
  let [running, most] = [0, 0]
  const intercept = <T>(write: () => Promise<T>) => {
    most = Math.max(most, ++running)
    return write().finally(() => running--)
  }
  const stop = interceptWrites(app.context, ada.userId, intercept)
  t.teardown(stop)
  const ids = Array.from({ length: 30 }, (_, index) => `bookmark-${index}`)
  for (const entity_id of ids) device.send({ type: 'sync', event: own({ entity_id }) })
  t.same(await device.takeEntities('bookmark-29'), ids)
  t.equal(most, 1)
})

const valid = own({ entity_id: 'x' })
const without = (field: keyof typeof valid) =>
  Object.fromEntries(Object.entries(valid).filter(([name]) => name !== field))
const sync = (event: unknown) => JSON.stringify({ type: 'sync', event })
const malformed: Record<string, { text: string | Buffer; fault: RegExp }> = {
  'an empty message': { text: '', fault: /JSON/ },
  'half a message': { text: '{"type":"ping"', fault: /JSON/ },
  'two messages in a frame': { text: '{"type":"ping"}{"type":"ping"}', fault: /JSON/ },
  'a binary frame': { text: Buffer.from('{"type":"ping"}'), fault: /binary/ },
  null: { text: 'null', fault: /type/ },
  'a number': { text: '5', fault: /type/ },
  'a string': { text: '"ping"', fault: /type/ },
  'an array': { text: '[{"type":"ping"}]', fault: /type/ },
  'no type': { text: '{}', fault: /type/ },
  'an unknown type': { text: '{"type":"subscribe"}', fault: /type/ },
  'a type that only the server sends': { text: '{"type":"connected","deviceId":"x","timestamp":1}', fault: /type/ },
  'a type named like an object method': { text: '{"type":"toString"}', fault: /type/ },
  'the type __proto__': { text: '{"type":"__proto__"}', fault: /type/ },
  'a type in a list': { text: '{"type":["ping"]}', fault: /type/ },
  'a type that cannot become text': { text: '{"type":{"toString":1}}', fault: /type/ },
  'a type inherited through __proto__': { text: '{"__proto__":{"type":"ping"}}', fault: /JSON/ },
  '10,001 tokens': {
    text: `{"type":"ping","deep":${'['.repeat(9999)}${']'.repeat(9999)}}`,
    fault: /10000 JSON tokens/,
  },
  'no event': { text: '{"type":"sync"}', fault: /event is required/ },
  'a null event': { text: sync(null), fault: /event/ },
  'a list of events': { text: sync([valid]), fault: /event/ },
  'a number as text': { text: sync({ ...valid, timestamp: '5' }), fault: /event\.timestamp/ },
  'a fraction': { text: sync({ ...valid, timestamp: 1.5 }), fault: /event\.timestamp/ },
  'a time beyond 2^53': { text: sync({ ...valid, timestamp: 2 ** 53 }), fault: /event\.timestamp/ },
  'an empty id': { text: sync({ ...valid, id: '' }), fault: /event\.id/ },
  'an id of 129 characters': { text: sync({ ...valid, entity_id: 'x'.repeat(129) }), fault: /event\.entity_id/ },
  'an id beyond ASCII': { text: sync({ ...valid, entity_id: 'é' }), fault: /event\.entity_id/ },
  'a control character': { text: sync({ ...valid, device_id: 'a\0' }), fault: /event\.device_id/ },
  'an unknown entity type': { text: sync({ ...valid, entity_type: 'tab' }), fault: /event\.entity_type/ },
  'an unknown operation': { text: sync({ ...valid, operation: 'upsert' }), fault: /event\.operation/ },
  'too much ciphertext': {
    text: sync({ ...valid, encrypted_data: 'x'.repeat(262_145) }),
    fault: /event\.encrypted_data/,
  },
  ...Object.fromEntries(
    (
      ['id', 'entity_type', 'entity_id', 'operation', 'timestamp', 'device_id', 'encrypted_data', 'data_hash'] as const
    ).map((field) => [
      `no ${field}`,
      { text: sync(without(field)), fault: new RegExp(`event\\.${field} is required`) },
    ]),
  ),
}

t.test('A malformed message gets an error that names its fault, and the socket stays open', async (t) => {
  const { ada, device, log } = await open(t)
  const answers: Record<string, unknown> = {}
  for (const [name, { text }] of Object.entries(malformed)) {
    device.socket.send(text)
    answers[name] = await device.next()
  }
  const faults = Object.entries(malformed).map(([name, { fault }]) => [name, { type: 'error', error: fault }])
  t.match(answers, Object.fromEntries(faults))
  device.socket.send(`{"type":"ping","deep":${'['.repeat(9998)}${']'.repeat(9998)}}`)
  t.same(await device.next(), { type: 'pong' }, 'deep nesting is harmless')
  t.same((await pullAll(ada)).changes, [], 'nothing was written')
  t.notMatch(log(), /data-|"level":50/, 'the log has neither contents nor errors')
})

t.test('The largest possible change passes', async (t) => {
  const { device } = await open(t)
  const event = own({ entity_id: '\\'.repeat(128), encrypted_data: 'x'.repeat(262_144) })
  device.send({ type: 'sync', event })
  t.match(await device.nextSync(), { event })
})

t.test('A message over 512 KiB closes the socket with 1009', async (t) => {
  const { app, ada, device } = await open(t)
  device.socket.send(`{"type":"ping","x":"${'x'.repeat(524_288)}"}`)
  t.equal(await device.closeCode, closeCodes.tooLarge)
  await until(() => app.context.hub.socketsOf(ada.userId) === 0)
  t.same((await pullAll(ada)).changes, [])
})

t.test('An invalid WebSocket frame closes the socket with 1002, and invalid UTF-8 with 1007', async (t) => {
  const [unmasked, garbled] = [(await open(t)).device, (await open(t)).device]
  const { _socket: raw } = unmasked.socket as unknown as { _socket: Socket }
  raw.write(Buffer.from([0x81, 0x01, 0x41]))
  garbled.socket.send(Buffer.from([0xff, 0xfe]), { binary: false })
  t.same(await Promise.all([unmasked.closeCode, garbled.closeCode]), [closeCodes.protocolError, closeCodes.notText])
})

t.test("Each message counts against the user's rate", async (t) => {
  const { app, ada, device } = await open(t, limited)
  for (let n = 0; n < 200; n++)
    device.send(n < 5 ? { type: 'ping' } : { type: 'sync', event: own({ entity_id: `x${n}` }) })
  t.match(await device.take(({ type }) => type === 'error'), { error: 'Too many requests' })
  const records = app.context.database.db.selectFrom('records').where('user_id', '=', ada.userId)
  const rows = await records.select('entity_id').execute()
  t.ok(rows.length <= 5, 'messages beyond the rate were not written')
  t.equal((await ada.call('GET', '/api/v1/bookmarks')).status, 429, 'sockets and requests share the rate')
  t.equal(device.socket.readyState, device.socket.OPEN, 'the socket stays open')
})

t.test("Messages beyond a client's rate are dropped, and a second later new ones are handled", async (t) => {
  const { device, serverSide } = await open(t, limited)
  const { _socket: connection } = device.socket as unknown as { _socket: Socket }
  connection.cork()
  for (let n = 0; n < 200; n++) device.send({ type: 'ping' })
  connection.uncork()
  await device.take(({ type }) => type === 'error')
  await until(() => !serverSide.isPaused)
  t.same(device.messages, [], 'only one error is sent')
  device.send({ type: 'ping' })
  t.same(await device.next(), { type: 'error', error: 'Too many requests' })
})

t.test('When the database is unreachable, a message gets an error, and the socket stays open', async (t) => {
  const { app, ada, device, log } = await open(t)
  const mend = breakDatabase(app.context)
  device.send({ type: 'sync', event: own({ entity_id: 'x' }) })
  t.same(await device.next(), { type: 'error', error: 'Service unavailable' })
  mend()
  t.match(log(), /disk I\/O error/, 'the cause is in the log')
  t.notMatch(log(), /data-|service_session/, 'the log has nothing that was sent')
  device.send({ type: 'sync', event: own({ entity_id: 'y' }) })
  t.match(await device.nextSync(), { event: { entity_id: 'y' } })
  t.equal((await pullAll(ada)).changes.length, 1)
})

/** A user at the limit of records, with a bookmark `old`, on two devices. */
async function openSmall(t: Test) {
  const app = await startService(t, { MAX_USER_RECORDS: '1', ...maxUserBytes(10, 1) })
  const { origin } = app
  const ada = await app.user('ada')
  const changes = [change({ entity_id: 'old', timestamp: 1000, encrypted_data: 'x'.repeat(10) })]
  await ada.call('POST', '/api/v1/sync/push', { body: { changes } })
  const device = await openDevice(t, origin, ada)
  return { app, ada, device, other: await openDevice(t, origin, ada, { deviceId: 'device-c' }) }
}

t.test('A change beyond the quota comes back as an error that names the entity; the socket stays open', async (t) => {
  const { app, ada, device } = await openSmall(t)
  const [before, { changes }] = [await countRows(app.context), await pullAll(ada)]
  device.send({ type: 'sync', event: own({ entity_id: 'new', encrypted_data: 'x' }) })
  t.same(await device.next(), { type: 'error', error: 'bookmark new: Storage quota exceeded' })
  device.send({ type: 'sync', event: own({ entity_id: 'old', encrypted_data: 'x'.repeat(11) }) })
  t.same(await device.next(), { type: 'error', error: 'bookmark old: Storage quota exceeded' })
  t.same(await countRows(app.context), before, 'nothing is applied')
  t.same((await pullAll(ada)).changes, changes)
  device.send({ type: 'sync', event: own({ entity_id: 'old', encrypted_data: 'x'.repeat(9) }) })
  t.match(await device.nextSync(), { event: { entity_id: 'old', encrypted_data: 'x'.repeat(9) } })
  t.notMatch(app.log.join(''), /"level":50/, 'a full quota is not logged as an error')
})

t.test('A delete without room for its tombstone is acknowledged, and is not broadcast', async (t) => {
  const { app, ada, device, other } = await openSmall(t)
  const before = await countRows(app.context)
  const { cursor } = await pullAll(ada)
  const event = own({ entity_id: 'unknown', operation: 'delete' })
  for (const _ of ['once', 'and again']) {
    device.send({ type: 'sync', event })
    const { stamp, event: answered } = await device.nextSync()
    t.same(answered, { ...event, user_id: ada.userId, conflict_resolved: false, resolution_strategy: null })
    t.equal(stamp, cursor, 'a pull since its stamp misses nothing')
  }
  t.same((await countRows(app.context)).records, before.records)
  device.send({ type: 'sync', event: own({ entity_id: 'old', operation: 'delete' }) })
  t.same(await device.takeEntities('old'), ['old'])
  t.same(await other.takeEntities('old'), ['old'])
})
