import pg from 'pg'
import t, { type Test } from 'tap'
import { buildApp } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { isPostgres } from '../support/database-url.ts'
import { onPrepare } from './fixture.ts'

/** How many statements the database prepared and how many it ran. */
interface Given {
  prepared: number
  run: number
}

const counted = isPostgres ? countPostgres(t) : countSqlite(t)
const { user, context } = await buildApp(t)
// The probes of the health check would be counted, too.
await context.health.close()
// On Postgres, notifications go through a connection of their own, at a time that the test cannot control.
context.notices.publishChange = () => {}
const ada = await user('ada')
const content = { encrypted_data: 'data', data_hash: 'hash' }
const device = { headers: { 'x-device-id': 'device-a' } }
let made = 0
const id = () => `made-${++made}`

const push = (...changes: object[]) => ada.call('POST', '/api/v1/sync/push', { body: { changes }, ...device })
const pull = (since: number, request = {}) => ada.call('POST', '/api/v1/sync/pull', { body: { since }, ...request })
const create = () => ada.call('POST', '/api/v1/bookmarks', { body: content })
const several = <T>(of: () => T) => Array.from({ length: 100 }, of)

const kept = several(() => ({ entity_id: id() }))
await push(change({ entity_id: 'kept' }), ...kept.map(change))
const last = (await pull(0, device)).body.last_sync_timestamp

/** Each request, and the exact number of statements that it runs. A commit that adds a statement explains why. */
const operations: [name: string, send: () => Promise<unknown>, sqlite: number, postgres: number][] = [
  ['pull of nothing new', () => pull(last), 2, 2],
  ['pull of nothing new, by a device', () => pull(last, device), 2, 2],
  ['pull of everything', () => pull(0), 3, 3],
  ['get', () => ada.call('GET', '/api/v1/bookmarks/kept'), 2, 2],
  ['list', () => ada.call('GET', '/api/v1/bookmarks'), 3, 3],
  ['status', () => ada.call('GET', '/api/v1/sync/status', device), 4, 4],
  ['create', create, 9, 8],
  ['update', () => ada.call('PUT', '/api/v1/bookmarks/kept', { body: content }), 11, 10],
  ['push of 1', () => push(change({ entity_id: id() })), 10, 9],
  ['push of 100', () => push(...several(() => change({ entity_id: id() }))), 11, 9],
  ['push of 100 updates', () => push(...kept.map((key) => change({ ...key, timestamp: Date.now() }))), 14, 11],
  [
    'import of 100',
    () => ada.call('POST', '/api/v1/sync/import', { body: { bookmarks: several(() => ({ id: id(), ...content })) } }),
    10,
    8,
  ],
]

t.test('Each request runs the listed number of statements, and prepares none of them again', async (t) => {
  const asked: Record<string, Given> = {}
  const expected: Record<string, Given> = {}
  for (const [name, send, sqlite, postgres] of operations) {
    expected[name] = { prepared: 0, run: isPostgres ? postgres : sqlite }
    asked[name] = await fewestOf(send, expected[name])
  }
  t.same(asked, expected)
})

// One statement for their sessions, and one for each group of eight: a user may have eight requests at a time.
t.test('20 pulls of nothing at the same moment take four statements on Postgres', async (t) => {
  const end = (await pull(last)).body.last_sync_timestamp
  const atOnce = (request: object) => () => Promise.all(Array.from({ length: 20 }, () => pull(end, request)))
  const expected = { prepared: 0, run: isPostgres ? 4 : 40 }
  const asked = [await fewestOf(atOnce({}), expected), await fewestOf(atOnce(device), expected)]
  t.same(asked, [expected, expected])
})

/**
 * The lowest count of several runs after a first one. Background work of the service only adds to a count, as does a
 * connection of the pool that has not run the request yet; there are fewer connections than runs.
 */
async function fewestOf(send: () => Promise<unknown>, expected: Given): Promise<Given> {
  await send()
  const fewest = { prepared: Number.POSITIVE_INFINITY, run: Number.POSITIVE_INFINITY }
  const isMore = () => fewest.prepared > expected.prepared || fewest.run > expected.run
  for (let times = 0; times < 3 || (times < 20 && isMore()); times++) {
    const before = { ...counted }
    await send()
    fewest.prepared = Math.min(fewest.prepared, counted.prepared - before.prepared)
    fewest.run = Math.min(fewest.run, counted.run - before.run)
  }
  return fewest
}

function countSqlite(t: Test): Given {
  const given = { prepared: 0, run: 0 }
  onPrepare(t, (_, statement) => {
    given.prepared++
    for (const method of ['all', 'get', 'run'] as const) {
      const run = statement[method] as (...values: unknown[]) => never
      statement[method] = (...values: unknown[]) => {
        given.run++
        return run.apply(statement, values)
      }
    }
  })
  return given
}

/** Messages of a connection: `query` is a statement without values, such as `begin`, which is never prepared. */
function countPostgres(t: Test): Given {
  const given = { prepared: 0, run: 0 }
  const connection = pg.Connection.prototype
  const { parse, bind, query } = connection
  t.teardown(() => Object.assign(connection, { parse, bind, query }))
  const counting = <Send extends (...values: never[]) => unknown>(send: Send, count: keyof Given) =>
    function (this: pg.Connection, ...values: Parameters<Send>) {
      given[count]++
      return send.apply(this, values)
    }
  Object.assign(connection, {
    parse: counting(parse, 'prepared'),
    bind: counting(bind, 'run'),
    query: counting(query, 'run'),
  })
  return given
}
