import { existsSync, statSync } from 'node:fs'
import { Kysely, SqliteDialect } from 'kysely'
import { pino } from 'pino'
import { dayMs } from '../../protocol/order.ts'
import { databaseIdOf, openForReading } from '../backup/database-id.ts'
import { openShelf, requireDatabase } from '../backup/schedule.ts'
import { byAge, momentOf, type Shelf } from '../backup/shelf.ts'
import type { Config } from '../config/config.ts'
import { sqliteFile } from '../config/storage.ts'
import type { Database, Db } from '../db/engine/database.ts'
import { attemptRead, faultOf } from '../db/engine/probe.ts'
import { isIntact, refuseForeignLog } from '../db/engine/sqlite/foreign-log.ts'
import { readHistory, stateOf, tooOld } from '../db/migrate.ts'
import type { Schema } from '../db/schema.ts'
import { listObjectKeys } from '../db/tables/exports.ts'
import { readJudgement } from '../db/tables/heartbeat.ts'
import { sampleSeals } from '../db/tables/sealed.ts'
import { missingParts } from '../db/whole.ts'
import { connect } from '../objects/open.ts'
import { findDoubt } from '../operating/clock.ts'
import { damageAdvice } from '../operating/damage.ts'
import { findClockFault } from '../operating/health.ts'
import { countUsersOf, describeOthers } from '../operating/issuer.ts'
import { adviceFor, describeLeftBehind, findLeftBehind } from '../operating/left-behind.ts'
import { listSmaller } from '../operating/limits-guard.ts'
import { issuerOf, moveCall } from '../provider/issuer.ts'
import { createSeal, existingSecret } from '../seal/seal.ts'
import { commandLine } from '../terminal/command.ts'
import { describeBeyond } from '../upkeep/beyond-limits.ts'
import { checkFile } from '../upkeep/check.ts'
import { accessError, type Finding, failure, ok, warning } from './doctor-place.ts'
import { examineServer } from './doctor-server.ts'

/** The most exports that are compared with their files. */
const triedExports = 100

interface Opened {
  db: Db
  close(): Promise<void>
  /** Undefined for SQLite. */
  server: Database | undefined
  clockFault(): Promise<string | undefined>
}

/** Checks the database: its schema and, if that is this version's, its sealed values, users, clock and limits. */
export async function examineDatabase(config: Config): Promise<Finding[]> {
  const file = sqliteFile(config.databaseUrl)
  // First, because opening a file that this process cannot write would leave other files behind.
  const unwritable = file !== undefined && existsSync(file) ? accessError(file) : undefined
  if (unwritable) {
    const says = `DATABASE_URL: user ${process.getuid?.()} cannot use ${file} (${unwritable.message})`
    return [failure('database', says, 'let the user of the service read and write it')]
  }
  const missing = await requireDatabase(config).catch((error: Error) => error)
  if (missing) return [failure('database', missing.message, 'the service does not start with this')]
  if (file !== undefined && !existsSync(file))
    return [ok('database', `${file} is not there yet: the first start makes it`), ...examineClosed(config, 0)]
  let opened: Opened | undefined
  try {
    opened = file === undefined ? await openServer(config) : await openFile(file)
    const schema = [
      ...(await examineSchema(opened.db, file === undefined)),
      ...(await examineLeftBehind(config, opened.db)),
    ]
    const findings = [...schema, ...(opened.server ? await examineServer(config, opened.server) : [])]
    if (schema.some(({ state }) => state !== 'ok')) return findings
    let damage: Error | undefined
    for (const examination of examinations) {
      const { value = [], damage: found } = await attemptRead(() => examination(config, opened as Opened))
      findings.push(...value)
      damage ??= found
    }
    return damage ? [...findings, damaged(damage, file)] : findings
  } catch (error) {
    if (faultOf(error) === 'damaged') return [damaged(error as Error, file)]
    const says = `DATABASE_URL: the database cannot be used (${(error as Error).message})`
    return [failure('database', says, 'check DATABASE_URL, and that the database runs')]
  } finally {
    await opened?.close()
  }
}

const examinations = [
  examinePages,
  examineKeys,
  examineUsers,
  examineSignInTimes,
  examineClock,
  examineLimits,
  examineExports,
]

function damaged({ message }: Error, file: string | undefined): Finding {
  try {
    if (file !== undefined) refuseForeignLog(file, isIntact)
  } catch (error) {
    return failure('database', (error as Error).message, 'do not start the service or another command before')
  }
  return failure('database', `a part of it is damaged (${message}), and the rest was not checked`, damageAdvice())
}

/** The most bytes of a SQLite file that are read: 1 GiB takes a few seconds. */
const mostBytesRead = 1024 ** 3

async function examinePages({ databaseUrl }: Config, { db }: Opened): Promise<Finding[]> {
  const file = sqliteFile(databaseUrl)
  if (file === undefined) return []
  const whole = commandLine('admin', 'check')
  if (statSync(file).size > mostBytesRead)
    return [ok('file', `${file} is large, and was not read whole: ${whole} does`)]
  const [fault] = await checkFile({ db })
  return [fault === undefined ? ok('file', `${file} is intact`) : failure('file', fault, damageAdvice())]
}

async function openFile(file: string): Promise<Opened> {
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: await openForReading(file) }) })
  return { db, close: () => db.destroy(), server: undefined, clockFault: async () => undefined }
}

async function openServer({ databaseUrl, databaseServer }: Config): Promise<Opened> {
  const { openPostgres } = await import('../db/engine/postgres/open.ts')
  const server = openPostgres(databaseUrl, pino({ level: 'silent' }), { ...databaseServer, poolSize: 1 })
  return { db: server.db, close: () => server.close(), server, clockFault: () => findClockFault(server) }
}

async function examineSchema(db: Db, isServer: boolean): Promise<Finding[]> {
  const history = await readHistory(db)
  const state = stateOf(history)
  if (state === 'none') {
    if (history.tables.length === 0) return [warning('database', 'it is empty', 'the first start creates its tables')]
    return [failure('database', 'it does not belong to this service', 'look at DATABASE_URL')]
  }
  if (state === 'before 3') return [failure('database', `it ${tooOld}`, 'start with an empty one')]
  if (state === 'newer') return [failure('database', 'a newer version has used it', 'start that version')]
  if (state === 'earlier') return [warning('database', 'an earlier version has used it', 'the next start migrates it')]
  const [missing] = isServer ? await missingParts(db) : []
  if (missing !== undefined)
    return [failure('database', `it is incomplete (${missing})`, 'load the dump into an empty database again')]
  return [ok('database', 'it has the schema of this version')]
}

/** Reports data in the SQLite database that the service used before Postgres. */
async function examineLeftBehind(config: Config, db: Db): Promise<Finding[]> {
  const left = await findLeftBehind(config, db)
  if (left === undefined) return []
  return [warning('database', describeLeftBehind(left), adviceFor(left))]
}

/** The service learns only from a sign-in whether the provider sends `auth_time`. */
async function examineSignInTimes({ identityProvider }: Config, { db }: Opened): Promise<Finding[]> {
  if (!identityProvider) return []
  // Metadata and OIDC_ISSUER may differ by the slash after a bare host.
  const hrefOf = (issuer: string) => URL.parse(issuer)?.href
  const known = await db.selectFrom('providers').select('issuer').execute()
  if (known.some(({ issuer }) => hrefOf(issuer) === hrefOf(identityProvider.issuer)))
    return [ok('provider', 'its ID tokens say when a person signed in (auth_time)')]
  const login = await db.selectFrom('logins').select('id').limit(1).executeTakeFirst()
  if (login === undefined) return []
  const says = 'no ID token of it has said when the person signed in (auth_time): each sign-in counts as recent'
  return [ok('provider', says)]
}

async function examineKeys({ secretKeys, dataDir }: Config, { db }: Opened): Promise<Finding[]> {
  const keys = secretKeys ?? (await existingSecret(dataDir))
  const { tried, opens, damage } = await sampleSeals(db, keys && createSeal(keys))
  if (damage) throw damage
  const says = `SECRET_KEY opens ${opens} of ${tried} sealed values that were tried`
  if (opens === tried) return [ok('keys', says)]
  return [failure('keys', says, 'append the key that sealed them: SECRET_KEY=NEW,OLD')]
}

/** Users of another provider cannot sign in. */
async function examineUsers(config: Config, { db }: Opened): Promise<Finding[]> {
  const issuer = issuerOf(config)
  const users = await countUsersOf(db, issuer)
  const said = describeOthers(users, issuer)
  if (said === undefined) return [ok('users', `${users.own} of ${issuer}`), ...examineClosed(config, users.own)]
  const [{ issuer: other = '' } = {}] = users.others
  const todo = `put the earlier OIDC_ISSUER back, or see how they would be moved: ${moveCall(other, issuer)}`
  return [(users.own === 0 ? failure : warning)('users', said, todo)]
}

function examineClosed({ access }: Config, users: number): Finding[] {
  if (!access.isClosed || users > 0) return []
  const says = 'SIGN_UP is closed, and there is no user yet: nobody can ever sign in'
  return [failure('users', says, 'leave SIGN_UP out until the first users have signed in')]
}

/** Judges the clock as the service does. */
async function examineClock(config: Config, { db, clockFault }: Opened): Promise<Finding[]> {
  const fault = await clockFault()
  if (fault !== undefined) return [failure('clock', fault, 'synchronize both clocks')]
  const doubt = findDoubt(await readJudgement(db), Date.now(), config)
  if (doubt === undefined) return [ok('clock', `it is ${new Date().toISOString()}`)]
  return [(doubt.jumpMs > 0 ? warning : failure)('clock', doubt.says, 'if the clock is wrong, correct it')]
}

/** Reports limits that are smaller than those in force, because they would erase data for good. */
async function examineLimits(config: Config, { db }: Opened): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const smaller of await listSmaller(db, config)) {
    const { variable, value, configured, until } = smaller
    const beyond = await describeBeyond(db, smaller, Date.now())
    const from = until === undefined ? 'a day after the next start' : new Date(until).toISOString()
    const says = `${variable} is ${configured} instead of ${value}: from ${from} on, this is erased for good: ${beyond}`
    const started = until === undefined ? 'start the service and ' : ''
    const todo = `set ${variable}=${value}, or ${started}accept it: ${commandLine('admin', 'accept-limits --yes')}`
    findings.push(warning('limits', says, todo))
  }
  return findings
}

/** Looks for the files of some exports that can be downloaded. */
async function examineExports(config: Config, { db }: Opened): Promise<Finding[]> {
  const keys = await listObjectKeys(db, Date.now(), triedExports)
  if (keys.length === 0) return []
  const [variable, place] = config.s3 ? ['S3_BUCKET', config.s3.bucket] : ['EXPORTS_DIR', config.exportsDir]
  try {
    const objects = await connect(config, 'read')
    const found = await Promise.all(keys.map((key) => objects.has(key))).finally(() => objects.close())
    const missing = found.filter((isThere) => !isThere).length
    if (missing === 0) return [ok('exports', `the files of ${keys.length} that were tried are there`)]
    const says = `${variable}: the files of ${missing} of ${keys.length} that were tried are not in ${place}`
    return [warning('exports', says, `check ${variable}; if they are lost, users have to export again`)]
  } catch (error) {
    return [warning('exports', `their files cannot be looked for (${(error as Error).message})`)]
  }
}

/** Reports the age of the newest backup of this database. */
export async function examineBackups(config: Config): Promise<Finding[]> {
  const { databaseUrl, environment, backup, dataDir, secretKeys } = config
  const file = sqliteFile(databaseUrl)
  if (file === undefined) return [ok('backups', 'Postgres has tools of its own, which this command does not check')]
  const { everyMs } = backup
  if (everyMs === undefined) {
    if (environment === 'development') return [ok('backups', 'none are scheduled')]
    return [warning('backups', 'none are scheduled', 'set BACKUP_EVERY=1d and BACKUP_TO')]
  }
  try {
    const shelf = openShelf(config, secretKeys ?? (await existingSecret(dataDir)) ?? [])
    const names = await shelf.list()
    const own = await namesOf(file, shelf, names)
    return [...examineOthers(names.length, own.length), examineAge(own, everyMs)]
  } catch (error) {
    return [failure('backups', (error as Error).message, 'look at BACKUP_TO')]
  }
}

/** Keeps only the names of this database's backups. Returns all names if the database cannot be read. */
async function namesOf(file: string, shelf: Shelf, names: string[]): Promise<string[]> {
  const databaseId = accessError(file) ? undefined : await databaseIdOf(file).catch(() => undefined)
  if (databaseId === undefined) return names
  const own: string[] = []
  for (const name of names) if ((await shelf.databaseIdOf(name).catch(() => undefined)) === databaseId) own.push(name)
  return own
}

function examineOthers(all: number, own: number): Finding[] {
  if (own === all) return []
  const says = `${all - own} of ${all} are of another database, or cannot be read: they are never removed`
  return [warning('backups', says, 'check DATABASE_URL, BACKUP_TO and SECRET_KEY')]
}

function examineAge(names: string[], everyMs: number): Finding {
  const { oldestFirst, fromFuture } = byAge(names)
  const newest = momentOf(oldestFirst.slice(fromFuture.length).at(-1) ?? '')
  if (newest === undefined) return warning('backups', 'there is none yet', 'the service makes one when it starts')
  const hours = Math.floor((Date.now() - newest) / (dayMs / 24))
  const says = `the newest of ${names.length} is ${hours} h old`
  if (Date.now() - newest <= 2 * everyMs) return ok('backups', says)
  return failure('backups', says, 'look for "a backup failed" in the log, or start the service')
}
