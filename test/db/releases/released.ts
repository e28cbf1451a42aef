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
