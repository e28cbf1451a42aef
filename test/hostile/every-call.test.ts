import './kept-versions.ts'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t from 'tap'
import { request } from 'undici'
import { WebSocket } from 'ws'
import { type FilledAccount, fillAccount, type Sizes, usedBytes } from '../../bench/hostile/accounts.ts'
import {
  callsOf,
  type HostileCall,
  type HostileCaller,
  largeAccountCalls,
  socketCallsOf,
} from '../../bench/hostile/operations.ts'
import { useSockets } from '../../bench/hostile/sockets.ts'
import { quotas } from '../../generated/limits.ts'
import { operations } from '../../generated/operations.ts'
import type { OperationId } from '../../src/service/contract/schemas.ts'
import { countDevices } from '../../src/service/db/tables/devices.ts'
import { findCounters } from '../../src/service/db/tables/users.ts'
import { recount } from '../../src/service/upkeep/recount.ts'
import { buildApp } from '../support/app.ts'
import { databaseUrl, isPostgres } from '../support/database-url.ts'
import { depth, isDeep } from '../support/depth.ts'
import { makeMigrated } from '../support/migrated.ts'
import { countPerTurn } from '../support/per-turn.ts'
import { type Looked, reportRows, watchRows } from '../support/rows-looked-at.ts'

/**
 * A small edition of `npm run bench -- hostile`. It counts rows, not time, so each machine gives the same result. One
 * statement handles several bookmarks at a time, and these have more versions together than a statement may look at.
 */
const accounts = {
  versions: { records: 1_000, versions: quotas.versionsOfRecord, trash: 1_000, devices: 1_000 },
  records: { records: 3_000, versions: 0, trash: 0, devices: 1_000 },
  /** An account that stores more than MAX_USER_BYTES allows, as after an operator lowered it. */
  overLimit: { records: 3_000, versions: quotas.versionsOfRecord, trash: 1_000, devices: 1_000 },
} satisfies Record<string, Sizes>
/** Rows of tables, indexes and lists that a statement may read or write: six for each of a push's 500 changes, and six. */
const maxRows = 6 * 501
/** Postgres plans by estimates from a sample, and may read some rows more than once. */
const slack = isPostgres ? 2 : 1
/** Rows per turn of the event loop: two reads of a user run at a time, and other work may begin in the same turn. */
const maxInTurn = (most: number) => 2 * most + 1_000
/** Requests sent at once: pushes or imports, and others. If each ran one large statement, a turn would be too long. */
const [largeAtOnce, smallAtOnce] = [4, depth(5, 32)]
/** If one turn handled all messages of these sockets, it would be too long as well. */
const [sockets, messagesOfSocket] = [16, depth(150, 500)]

/** Each row advances `performance.now`, by which the service's loops decide when to pause. */
const rowMs = 0.02
const { now } = performance
let rowsMs = 0
performance.now = () => now.call(performance) + rowsMs
t.teardown(() => Object.assign(performance, { now }))

/** Accounts that are as they were filled, except for a few rows that the current test may have written. */
const filled = new Map<Sizes, FilledAccount>()
/** The sizes of those with such rows. */
const written = new Set<Sizes>()
/** The sizes of the account that the current calls use. */
let called: Sizes = accounts.versions
/** All statements that the tests have run. */
const asked = new Set<string>()
let statements: (Omit<Looked, 'askedBy'> & { askedBy: string })[] = []
/** Undefined on Postgres, where the database reads rows outside of the event loop. */
const perTurn = isPostgres ? undefined : countPerTurn(t)
watchRows(t, ({ sql, rows, askedBy }) => {
  asked.add(sql)
  statements.push({ sql, rows, askedBy: rows > maxRows ? askedBy() : '' })
  spend(rows)
  if (!/^\s*(insert|update|delete)/i.test(sql) || sql.includes('heartbeat')) return
  written.add(called)
  if (isDeep || rows > 10 || sql.includes('"logins"')) filled.delete(called)
})
function spend(rows: number): void {
  rowsMs += rows * rowMs
  perTurn?.add(rows)
}

const folder = await mkdtemp(join(tmpdir(), 'ebs-test-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
await makeMigrated(folder)
if (isPostgres) await reportRows(await databaseUrl(folder))
const full = { MAX_USER_BYTES: String(usedBytes(accounts.versions)) }
const app = await buildApp(t, full, { dataDir: folder })
const origin = await app.listen()
const { database } = app.context
/** On SQLite, a separate connection that fills the accounts, so that its rows are not counted. */
const filling = isPostgres ? undefined : new Sqlite(join(folder, 'bookmarks.db')).exec('pragma synchronous = off')
t.teardown(() => filling?.close())
const run = filling
  ? async (text: string) => void filling.exec(text)
  : async (text: string) => void (await sql.raw(text).execute(database.db))
const data = { run, close: async () => {} }

let people = 0
/** An account of these sizes that no earlier test has written to. */
async function accountOf(sizes: Sizes): Promise<FilledAccount> {
  called = sizes
  const found = filled.get(sizes)
  if (found) return found
  const account = await fillAccount(data, await app.user(`hostile ${++people}`), sizes)
  if (isPostgres) await data.run('analyze')
  filled.set(sizes, account)
  written.delete(sizes)
  return account
}

async function send(
  account: FilledAccount,
  operation: OperationId,
  { id = 'id', query = '', headers, body }: HostileCall,
) {
  const { method, path } = operations[operation]
  const json = body && { 'content-type': 'application/json' }
  const cookie = `service_session=${account.session}`
  const answer = await request(origin + path.replace('{id}', id) + query, {
    method,
    headers: { cookie, ...json, ...headers },
    body: body ? JSON.stringify(body) : null,
  })
  return { status: answer.statusCode, text: await answer.body.text() }
}

function callerOf(account: FilledAccount): HostileCaller {
  return { account, call: async (operation, call = {}) => JSON.parse((await send(account, operation, call)).text) }
}

/** A transaction that stays open until this many requests have arrived, as one that waits for the disk may. */
async function writeUntilReceived(requests: number): Promise<void> {
  let received = 0
  const count = () => void received++
  app.app.server.on('request', count)
  await database.write(async () => {
    while (received < requests) await nextTurn()
    await nextTurn()
  })
  app.app.server.off('request', count)
}

/** Runs `work`. Returns a line for each statement, and for a turn of the event loop, that looked at too many rows. */
async function watch(most: number, work: () => Promise<void>): Promise<string[]> {
  // Rows of the filling that ended just now must not be counted.
  await nextTurn()
  statements = []
  if (perTurn) perTurn.most = 0
  await work()
  const found: string[] = []
  const large = Map.groupBy(
    statements.filter(({ rows }) => rows > slack * most),
    ({ sql }) => sql.replaceAll(/\s+/g, ' ').slice(0, 150),
  )
  for (const [text, own] of large)
    found.push(`${Math.max(...own.map(({ rows }) => rows))} rows, ${own.length} times: ${own[0]?.askedBy} ${text}`)
  if (perTurn && perTurn.most > maxInTurn(most)) found.push(`${perTurn.most} rows in a turn of the event loop`)
  return found
}

async function hold(t: Tap, most: number, work: () => Promise<void>): Promise<void> {
  t.same(await watch(most, work), [], `at most ${most} rows at a time`)
}
type Tap = Pick<typeof t, 'same'>

t.test('The counters of the filled accounts agree with their rows', async (t) => {
  for (const sizes of Object.values(accounts)) {
    const { userId } = await accountOf(sizes)
    t.equal(await countDevices(database.db, userId), sizes.devices)
  }
  for await (const corrected of recount(database)) t.equal(corrected, undefined)
})

for (const [operation, calls] of Object.entries(callsOf) as [OperationId, (typeof callsOf)[OperationId]][]) {
  // A push also runs on the account with more bookmarks than one statement may look at.
  const kinds = [...largeAccountCalls, 'pushChanges'].some((id) => id === operation)
    ? (['versions', 'records'] as const)
    : (['versions'] as const)
  for (const [name, prepare] of Object.entries(calls)) {
    for (const kind of kinds) {
      const row = `${operation}:${name}${kind === 'records' ? ':records' : ''}`
      t.test(`${row} looks at few rows at a time`, async (t) => {
        for (const sizes of written) filled.delete(sizes)
        written.clear()
        const prepareAll = async (times: number) => {
          const caller = callerOf(await accountOf(accounts[kind]))
          const calls = await Promise.all(Array.from({ length: times }, async (_, number) => prepare(caller, number)))
          return { account: caller.account, calls }
        }
        const alone = await prepareAll(1)
        const [first = {}] = alone.calls
        await hold(t, maxRows, async () => {
          const { status, text } = await send(alone.account, operation, first)
          // These two cannot succeed: this is not a WebSocket upgrade, and there is no provider.
          if (operation !== 'openRealtime' && operation !== 'startLogin')
            t.equal(status >= 400, first.isRefused === true, text.slice(0, 200))
        })
        // On Postgres, or with more bookmarks, the statements are the same; one call of each operation stands for its others.
        if (isPostgres || (kind === 'records' && operation === 'pushChanges')) return
        if (!isDeep && name !== Object.keys(callsOf[operation])[0]) return
        const isLarge = JSON.stringify(first).length > 2 ** 16
        const { account, calls } = await prepareAll(isLarge ? largeAtOnce : smallAtOnce)
        await hold(t, maxRows, async () => {
          await Promise.all([writeUntilReceived(calls.length), ...calls.map((call) => send(account, operation, call))])
        })
      })
    }
  }
}

t.test('createBookmark over a lowered limit erases thousands of versions, with few rows at a time', async (t) => {
  const account = await accountOf(accounts.overLimit)
  const countOf = async () => (await findCounters(database.db, account.userId)).stored_versions
  const before = await countOf()
  await hold(t, maxRows, async () => {
    const { status } = await send(account, 'createBookmark', { body: { encrypted_data: 'y', data_hash: 'hash' } })
    t.equal(status, 201)
  })
  const gone = before - (await countOf())
  t.ok(gone > 2 * maxRows, `${gone} versions`)
})

t.test('A push of many losing changes to one bookmark does not write each of them', async (t) => {
  const account = await accountOf(accounts.versions)
  const call = await callsOf.pushChanges['losing-of-one']?.(callerOf(account), 0)
  await hold(t, maxRows, async () => {
    t.match(await send(account, 'pushChanges', call ?? {}), { status: 200, text: '"accepted":0' })
  })
  // Some statements for every ten losing changes, and some for each old version that makes room for a new one.
  t.ok(statements.length < accounts.versions.records, `${statements.length} statements`)
})

/** Counts a row per frame. All sockets of this class belong to the service: the test's callers do not use it. */
const { emit } = WebSocket.prototype
WebSocket.prototype.emit = function (this: WebSocket, event: string | symbol, ...values: unknown[]) {
  if (event === 'message' || event === 'ping' || event === 'pong') spend(1)
  return emit.call(this, event, ...values)
} as typeof emit
t.teardown(() => Object.assign(WebSocket.prototype, { emit }))

for (const [name, callOf] of Object.entries(socketCallsOf)) {
  t.test(`${name}: many sockets read few rows and few frames at a time`, async (t) => {
    const account = await accountOf(accounts.versions)
    const call = (socket: number) => callOf(account, socket, messagesOfSocket)
    const all = { port: Number(new URL(origin).port), person: account, count: sockets, callOf: call }
    await hold(t, maxRows, () => useSockets(all))
  })
}

/** True if the statement sorts rows of a large table that a user may have thousands of, rather than a page of them. */
function sortsRows(sqlite: Sqlite.Database, sql: string): boolean {
  const values = Array.from(sql.matchAll(/\?/g), () => null)
  const plan = sqlite.prepare(`explain query plan ${sql}`).all(values) as { parent: number; detail: string }[]
  return [...Map.groupBy(plan, ({ parent }) => parent).values()].some((steps) => {
    const [first, ...others] = steps.map(({ detail }) => detail)
    const isOfTable = /^(SEARCH|SCAN) (records|ciphertexts|versions) /.test(first ?? '')
    return isOfTable && others.some((step) => step.startsWith('USE TEMP B-TREE FOR ORDER BY'))
  })
}

t.test('An index gives the order of all rows that a statement asks for', { skip: isPostgres }, async (t) => {
  const sqlite = filling as Sqlite.Database
  const sorting = [...asked].filter((sql) => sortsRows(sqlite, sql))
  const known = sorting.filter((sql) => /coalesce\(ended_at - began_at, 0\) \/ \d+, sequence desc limit 1/.test(sql))
  t.equal(known.length, 1, 'the versions of one entity, of which there are few')
  t.same(sorting, known)
})
