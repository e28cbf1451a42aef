import { existsSync } from 'node:fs'
import { Kysely, SqliteDialect, sql } from 'kysely'
import { pino } from 'pino'
import { dayMs } from '../../protocol/order.ts'
import { lineOf, openToLook } from '../backup/line.ts'
import { demandDatabase, openShelf } from '../backup/schedule.ts'
import { byAge, momentOf, type Shelf } from '../backup/shelf.ts'
import type { Config } from '../config/config.ts'
import { sqliteFile } from '../config/storage.ts'
import type { Db } from '../db/engine/database.ts'
import { appliedMigrations, knownMigrations } from '../db/migrate.ts'
import type { Schema } from '../db/schema.ts'
import { sampleSeals } from '../db/tables/sealed.ts'
import { findClockFault } from '../operating/health.ts'
import { createSeal, existingSecret } from '../seal/seal.ts'
import type { Finding } from './doctor-place.ts'

/** After so long out of use, the service does not believe its clock. */
const longMs = 7 * dayMs

interface Opened {
  db: Db
  close(): Promise<void>
  clockFault(): Promise<string | undefined>
}

/** The database, its schema, what is sealed in it, and its clock. */
export async function examineDatabase(config: Config): Promise<Finding[]> {
  const about = 'database'
  const file = sqliteFile(config.databaseUrl)
  const missing = await demandDatabase(config).catch((error: Error) => error)
  if (missing) return [{ about, state: 'error', says: missing.message, todo: 'a start refuses this' }]
  if (file !== undefined && !existsSync(file))
    return [{ about, state: 'ok', says: `${file} is not there yet: the first start makes it` }]
  let opened: Opened | undefined
  try {
    opened = file === undefined ? await openServer(config) : await openFile(file)
    const findings = await examineSchema(opened.db)
    if (findings.some(({ state }) => state !== 'ok')) return findings
    return [...findings, ...(await examineKeys(config, opened.db)), ...(await examineClock(opened))]
  } catch (error) {
    const says = `DATABASE_URL: the database cannot be used (${(error as Error).message})`
    return [{ about, state: 'error', says, todo: 'look at DATABASE_URL, and at whether the database runs' }]
  } finally {
    await opened?.close()
  }
}

async function openFile(file: string): Promise<Opened> {
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: await openToLook(file) }) })
  return { db, close: () => db.destroy(), clockFault: async () => undefined }
}

async function openServer({ databaseUrl, databaseServer }: Config): Promise<Opened> {
  const { openPostgres } = await import('../db/engine/postgres/open.ts')
  const opened = openPostgres(databaseUrl, pino({ level: 'silent' }), { ...databaseServer, poolSize: 1 })
  return { db: opened.db, close: () => opened.close(), clockFault: () => findClockFault(opened) }
}

async function examineSchema(db: Db): Promise<Finding[]> {
  const about = 'database'
  const { required, all } = await appliedMigrations(db)
  if (all.size === 0) {
    const tables = await db.introspection.getTables()
    if (tables.length === 0)
      return [{ about, state: 'warning', says: 'it is empty', todo: 'the first start makes what it needs' }]
    return [{ about, state: 'error', says: 'it does not belong to this service', todo: 'look at DATABASE_URL' }]
  }
  const known = knownMigrations()
  if (required.some((name) => !known.includes(name)))
    return [{ about, state: 'error', says: 'a newer version has used it', todo: 'start that version' }]
  if (known.some((name) => !all.has(name)))
    return [{ about, state: 'warning', says: 'an earlier version has used it', todo: 'the next start migrates it' }]
  return [{ about, state: 'ok', says: 'it has the schema of this version' }]
}

async function examineKeys({ secretKeys, dataDir }: Config, db: Db): Promise<Finding[]> {
  const about = 'keys'
  const keys = secretKeys ?? (await existingSecret(dataDir))
  const { tried, opens } = await sampleSeals(db, keys && createSeal(keys))
  const says = `SECRET_KEY opens ${opens} of ${tried} sealed values that were tried`
  if (opens === tried) return [{ about, state: 'ok', says }]
  return [{ about, state: 'error', says, todo: 'append the key that sealed them: SECRET_KEY=NEW,OLD' }]
}

/** The last time that the service was in use is the witness for a clock that nobody else knows. */
async function examineClock({ db, clockFault }: Opened): Promise<Finding[]> {
  const about = 'clock'
  const fault = await clockFault()
  if (fault !== undefined) return [{ about, state: 'error', says: fault, todo: 'synchronize both clocks' }]
  const { rows } = await sql<{ at: unknown }>`select at from heartbeat`.execute(db)
  const at = Number(rows[0]?.at ?? 0)
  const apart = Date.now() - at
  const now = new Date().toISOString()
  if (at === 0 || Math.abs(apart) <= longMs) return [{ about, state: 'ok', says: `it is ${now}` }]
  const days = Math.round(Math.abs(apart) / dayMs)
  const says = `it is ${now}, ${days} days ${apart > 0 ? 'after' : 'before'} the database was last in use`
  return [
    { about, state: apart > 0 ? 'warning' : 'error', says, todo: 'look at the clock before you start the service' },
  ]
}

/** How old the newest backup of this database is. */
export async function examineBackups(config: Config): Promise<Finding[]> {
  const about = 'backups'
  const { databaseUrl, environment, backup, dataDir, secretKeys } = config
  const file = sqliteFile(databaseUrl)
  if (file === undefined)
    return [{ about, state: 'ok', says: 'Postgres has tools of its own: this command knows nothing of them' }]
  const { everyMs } = backup
  if (everyMs === undefined) {
    if (environment === 'development') return [{ about, state: 'ok', says: 'none are scheduled' }]
    return [{ about, state: 'warning', says: 'none are scheduled', todo: 'set BACKUP_EVERY=1d and BACKUP_TO' }]
  }
  try {
    const shelf = openShelf(config, secretKeys ?? (await existingSecret(dataDir)) ?? [])
    const names = await shelf.list()
    const own = await namesOf(file, shelf, names)
    return [...examineOthers(names.length, own.length), examineAge(own, everyMs)]
  } catch (error) {
    return [{ about, state: 'error', says: (error as Error).message, todo: 'look at BACKUP_TO' }]
  }
}

/** Those of this database. */
async function namesOf(file: string, shelf: Shelf, names: string[]): Promise<string[]> {
  const line = await lineOf(file).catch(() => undefined)
  if (line === undefined) return names
  const own: string[] = []
  for (const name of names) if ((await shelf.lineOf(name).catch(() => undefined)) === line) own.push(name)
  return own
}

function examineOthers(all: number, own: number): Finding[] {
  if (own === all) return []
  const says = `${all - own} of ${all} are of another database, or cannot be read: they are never removed`
  return [{ about: 'backups', state: 'warning', says, todo: 'look at DATABASE_URL, BACKUP_TO and SECRET_KEY' }]
}

function examineAge(names: string[], everyMs: number): Finding {
  const about = 'backups'
  const { oldestFirst, fromFuture } = byAge(names)
  const newest = momentOf(oldestFirst.slice(fromFuture.length).at(-1) ?? '')
  if (newest === undefined)
    return { about, state: 'warning', says: 'there is none yet', todo: 'the service makes one when it starts' }
  const hours = Math.floor((Date.now() - newest) / (dayMs / 24))
  const says = `the newest is ${hours} h old, of ${names.length}`
  if (Date.now() - newest <= 2 * everyMs) return { about, state: 'ok', says }
  return { about, state: 'error', says, todo: 'look for "a backup failed" in the log, or start the service' }
}
