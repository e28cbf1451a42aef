import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import type { Test } from 'tap'
import { databaseUrl, isPostgres } from '../../support/database-url.ts'

/** One connection, as the driver has it. */
export interface Connection {
  run(sql: string, parameters?: unknown[]): Promise<unknown[]>
  close(): Promise<void>
}

interface Released {
  dataDir: string
  url: string
  connect(): Promise<Connection>
}

/** A database that this release has made and used. */
export async function makeReleased(t: Test, release: string): Promise<Released> {
  const folder = await mkdtemp(join(tmpdir(), 'ebs-test-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const url = await databaseUrl(folder)
  const script = await read(release, 'sql')
  if (isPostgres) {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(script)
    await client.end()
  } else {
    new Sqlite(url.slice('sqlite:'.length)).exec(`begin; ${script}; commit`).close()
  }
  return { dataDir: folder, url, connect: () => (isPostgres ? connectPostgres(t, url) : connectSqlite(t, url)) }
}

export async function readSession(release: string) {
  return JSON.parse(await read(release, 'json'))
}

async function read(release: string, ending: 'sql' | 'json'): Promise<string> {
  const name = `${isPostgres ? 'postgres' : 'sqlite'}.${ending}`
  return readFile(new URL(`../../fixtures/releases/${release}/${name}`, import.meta.url), 'utf8')
}

async function connectPostgres(t: Test, connectionString: string): Promise<Connection> {
  const int8 = 20
  const getTypeParser = (oid: number) => (oid === int8 ? Number : pg.types.getTypeParser(oid))
  // Longer than an instance waits, a request would fail.
  const client = new pg.Client({ connectionString, lock_timeout: 5_000, types: { getTypeParser } as never })
  await client.connect()
  const close = () => client.end()
  t.teardown(close)
  return { run: async (sql, parameters) => (await client.query(sql, parameters)).rows, close }
}

async function connectSqlite(t: Test, url: string): Promise<Connection> {
  const sqlite = new Sqlite(url.slice('sqlite:'.length), { timeout: 5_000 })
  sqlite.pragma('foreign_keys = ON')
  sqlite.pragma('synchronous = OFF')
  t.teardown(() => sqlite.close())
  return {
    async run(sql, parameters = []) {
      const statement = sqlite.prepare(sql)
      if (statement.reader) return statement.all(parameters)
      statement.run(parameters)
      return []
    },
    async close() {
      sqlite.close()
    },
  }
}

/** Notes every statement that this process sends to a database, with its answer, until it is taken. */
export function watchStatements(database: 'sqlite' | 'postgres'): { take(): Statement[] } {
  const seen: Statement[] = []
  if (database === 'postgres') watchPostgres(seen)
  else watchSqlite(seen)
  return { take: () => seen.splice(0) }
}

function watchSqlite(seen: Statement[]): void {
  const { prepare } = Sqlite.prototype
  Sqlite.prototype.prepare = function (this: Sqlite.Database, sql: string) {
    const statement = prepare.call(this, sql)
    for (const method of ['all', 'get', 'run'] as const) {
      const run = statement[method].bind(statement) as (...parameters: unknown[]) => unknown
      statement[method] = ((...given: unknown[]) => {
        const result = run(...given)
        const rows = method === 'all' ? (result as unknown[]) : method === 'get' && result ? [result] : []
        seen.push({ connection: 0, sql, parameters: given.flat(), rows: copy(rows) })
        return result
      }) as never
    }
    return statement
  } as typeof prepare
}

function watchPostgres(seen: Statement[]): void {
  const query = pg.Client.prototype.query as (...args: unknown[]) => unknown
  const connections = new Map<unknown, number>()
  pg.Client.prototype.query = async function (this: pg.Client, ...args: unknown[]) {
    const [text, values] = args as [string | { text: string; values?: unknown[] }, unknown[] | undefined]
    const sql = typeof text === 'string' ? text : text.text
    const parameters = (typeof text === 'string' ? values : (text.values ?? values)) ?? []
    if (!connections.has(this)) connections.set(this, connections.size)
    const statement: Statement = { connection: connections.get(this) ?? 0, sql, parameters: copy(parameters), rows: [] }
    seen.push(statement)
    const result = (await query.apply(this, args)) as pg.QueryResult | undefined
    statement.rows = copy(result?.rows ?? [])
    return result
  } as never
}

function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value))
}

export interface Statement {
  connection: number
  sql: string
  parameters: unknown[]
  rows: unknown[]
}

/** The statements of an instance while one person signs in and syncs: the texts, and each statement with what it returned. */
export interface Session {
  texts: string[]
  steps: [text: number, parameters: unknown[], rows: unknown[]][]
}

const ids = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|(?<=")[\w-]{43}(?=")/g

/** Sends the session as another person. Returns the statements that were not answered as they were then. */
export async function replay({ run }: Connection, { texts, steps }: Session): Promise<unknown[]> {
  const own = new Map<string, string>([['eve', randomUUID()]])
  const ownId = (id: string) => {
    if (!own.has(id)) own.set(id, id.length === 43 ? randomBytes(32).toString('base64url') : randomUUID())
    return own.get(id) ?? ''
  }
  const wrong: unknown[] = []
  for (const [text, given, rows] of steps) {
    const sql = texts[text] ?? ''
    const parameters = JSON.parse(
      JSON.stringify(given)
        .replaceAll(ids, ownId)
        .replaceAll('"eve"', JSON.stringify(own.get('eve'))),
    )
    const answer = await run(sql, parameters)
    if (comparable(answer) !== comparable(rows)) wrong.push({ sql, parameters, answer, recorded: rows })
  }
  return wrong
}

/** Ids differ, and each person's name is another. */
function comparable(rows: unknown[]): string {
  return JSON.stringify(rows).replaceAll(ids, 'id').replaceAll('"eve"', '"id"')
}
