import { existsSync } from 'node:fs'
import { copyFile, link, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import Sqlite from 'better-sqlite3'
import { pino } from 'pino'
import { bucketBackups, fetchBackup } from '../backup/bucket.ts'
import { becomeOneFile, copyDatabase, openCopy, type StoredExport } from '../backup/database.ts'
import { type LeftOut, syncPath } from '../backup/make.ts'
import { byAge, listBackups, momentOf, nameOf } from '../backup/shelf.ts'
import { type Config, readConfig } from '../config/config.ts'
import { makeFolder } from '../config/folders.ts'
import { ConfigError } from '../config/values.ts'
import type { Database, Db } from '../db/engine/database.ts'
import { lockDatabase } from '../db/engine/sqlite/open.ts'
import { openDatabase } from '../db/open.ts'
import { beginEpoch } from '../db/tables/epoch.ts'
import { assertObjectKey } from '../objects/store.ts'
import { createSeal, loadDevelopmentSecret } from '../seal/seal.ts'
import { callBeside, existingFile, operatorCommand } from '../terminal/command.ts'
import { type Report, withProgress } from '../terminal/progress.ts'
import { sealedPages } from '../upkeep/reseal.ts'

const recovering = '.restoring-'
const log = pino({ level: 'silent' })

export const restoreCommand = operatorCommand(
  'restore',
  'Puts a backup in the place of the database, after trying a copy of it. The service must not run.',
  'The database so far is kept. The exit status is 0 only when the service can be started on what was recovered.',
)
  .argument('<backup>', 'a folder, or the name of a backup in BACKUP_TO, or latest')
  .action(recover)

async function recover(backup: string): Promise<void> {
  const config = readConfig(process.env)
  if (!config.databaseUrl.startsWith('sqlite:')) throw postgresAdvice()
  const found = await findBackup(config, backup)
  const secretKeys = await readSecretKeys(config)
  const path = resolve(config.databaseUrl.slice('sqlite:'.length))
  const lock = await lockDatabase(path)
  await removeLeftovers(path)
  const folder = await mkdtemp(path + recovering)
  try {
    const copy = join(folder, 'bookmarks.db')
    const { rows, epoch, leftOut } = await withProgress(({ report }) =>
      fetchAndTry(found, config, secretKeys, copy, report),
    )
    const kept = await takePlace(copy, path)
    for (const [id, reason] of leftOut) console.log(`left out: the export ${id}, ${reason}`)
    const counts = Object.entries(rows).map(([table, count]) => `${table} ${count}`)
    console.log(`${path} is now ${found.name}\n  checked  ${counts.join(', ')}`)
    if (kept !== undefined) console.log(`  before   ${kept}`)
    console.log(`  epoch    ${epoch}: devices will send again what this database has lost`)
    console.log('  next     start the service')
  } finally {
    await rm(folder, { recursive: true, force: true })
    lock.close()
  }
}

function postgresAdvice(): ConfigError {
  return new ConfigError(`DATABASE_URL: Postgres is recovered with its own tools, into an empty database, while no service runs on it:
  pg_restore --no-owner --exit-on-error --dbname=… bookmarks.dump
  ${callBeside('restored')}
The guide to backups, at /docs of the service, has the rest.`)
}

/** A recovery that was killed left them: no other one is running now. */
async function removeLeftovers(path: string): Promise<void> {
  const names = (await readdir(dirname(path))).filter((name) => name.startsWith(basename(path) + recovering))
  for (const name of names) await rm(join(dirname(path), name), { recursive: true, force: true })
}

/** The secret of development is not generated here: a new one would open nothing. */
async function readSecretKeys({ secretKeys, dataDir }: Config): Promise<Uint8Array[]> {
  if (secretKeys) return secretKeys
  if (existsSync(join(dataDir, 'secret.key'))) return [await loadDevelopmentSecret(dataDir)]
  throw new ConfigError(
    'SECRET_KEY is required here: the key that the backup was made with (of development: secret.key)',
  )
}

interface Found {
  /** How to call it. */
  name: string
  /** Undefined if it is in the bucket. */
  folder: string | undefined
}

/** Looks for it before anything is locked or written. */
async function findBackup({ backup: { dir, inBucket }, s3 }: Config, backup: string): Promise<Found> {
  const isLatest = backup === 'latest'
  if (inBucket && s3 && (isLatest || momentOf(backup) !== undefined))
    return { name: isLatest ? newest(await bucketBackups(s3)) : backup, folder: undefined }
  const name = isLatest ? newest(await listBackups(dir)) : backup
  const folder = momentOf(name) === undefined ? resolve(name) : join(resolve(dir), name)
  existingFile(join(folder, 'bookmarks.db'))
  return { name: folder, folder }
}

function newest(names: string[]): string {
  const { oldestFirst, fromFuture } = byAge(names)
  const name = oldestFirst.at(-1)
  for (const each of fromFuture) console.log(`passed over: ${each}, which is from the future, so a clock was wrong`)
  if (name === undefined) throw new ConfigError('BACKUP_TO: there is no backup')
  return name
}

interface ExportFolders {
  /** Undefined if the backup has no files. */
  from: string | undefined
  to: string
}

/**
 * Copies the database of the backup to `path`, makes it fit to be started on, and throws unless it is: intact, of a version that
 * can be migrated to this one, with the schema of this version then, and sealed under the given keys.
 */
async function fetchAndTry(
  { name, folder }: Found,
  { s3, exportsDir }: Config,
  secretKeys: Uint8Array[],
  path: string,
  report: Report,
) {
  if (folder !== undefined) await copyDatabase(join(folder, 'bookmarks.db'), path, folder, report)
  else if (s3) await fetchBackup(s3, secretKeys, name, path)
  // In a bucket, they are there already.
  const exports = s3 ? undefined : { from: folder && join(folder, 'exports'), to: exportsDir }
  const { rows, leftOut, beginsEpoch } = await prepare(path, name, exports, report)
  const database = await openDatabase(`sqlite:${path}`, log)
  try {
    await checkSchema(database.db, path, name)
    report('opening what is sealed', 0, 1)
    await checkSeals(database.db, secretKeys, name)
    return { rows, leftOut, epoch: await epochOf(database, beginsEpoch) }
  } finally {
    await database.close()
  }
}

async function prepare(path: string, name: string, exports: ExportFolders | undefined, report: Report) {
  const copy = openCopy(path, name)
  try {
    report('checking the copy', 0, 1)
    const rows = copy.check()
    const leftOut = exports ? await copyMissingExports(copy.listExports(), exports, report) : []
    for (const [id] of leftOut) copy.removeExport(id)
    return { rows, leftOut, beginsEpoch: copy.beginsEpoch }
  } finally {
    copy.close()
  }
}

/** This version needs what it makes in an empty database. */
async function checkSchema(db: Db, path: string, name: string): Promise<void> {
  const folder = await mkdtemp(join(dirname(path), 'schema-'))
  const empty = await openDatabase(`sqlite:${join(folder, 'empty.db')}`, log)
  try {
    const there = new Set(await columnsOf(db))
    const missing = (await columnsOf(empty.db)).filter((column) => !there.has(column))
    if (missing.length > 0) throw new ConfigError(`${name} lacks ${missing.join(', ')}, which this version needs`)
  } finally {
    await empty.close()
  }
}

async function columnsOf(db: Db): Promise<string[]> {
  const tables = await db.introspection.getTables()
  return tables.flatMap(({ name, columns }) => columns.map((column) => `${name}.${column.name}`))
}

async function checkSeals(db: Db, secretKeys: Uint8Array[], name: string): Promise<void> {
  const seal = createSeal(secretKeys)
  let [all, unreadable] = [0, 0]
  for await (const { page, bindingOf } of sealedPages(db)) {
    all += page.length
    unreadable += page.filter((value) => !seal.open(value.sealed, bindingOf(value))).length
  }
  if (unreadable === 0) return
  throw new ConfigError(
    `SECRET_KEY: of ${all} sealed values in ${name}, ${unreadable} open under none of its keys; append the key that it was made with`,
  )
}

async function epochOf(database: Database, hasBegun: boolean): Promise<string> {
  if (!hasBegun) return beginEpoch(database)
  const { id } = await database.db.selectFrom('epoch').select('id').executeTakeFirstOrThrow()
  return id
}

/** Copies the files that EXPORTS_DIR has no more. An export's file never changes, so one that is there stays. */
async function copyMissingExports(
  exports: StoredExport[],
  { from, to }: ExportFolders,
  report: Report,
): Promise<LeftOut[]> {
  await makeFolder(to)
  const leftOut: LeftOut[] = []
  for (const [index, { id, object_key, size_bytes }] of exports.entries()) {
    report('copying export files', index, exports.length)
    assertObjectKey(object_key)
    const path = join(to, object_key)
    if ((await sizeOf(path)) === size_bytes) continue
    const source = from === undefined ? undefined : join(from, object_key)
    if (source === undefined || (await sizeOf(source)) !== size_bytes) {
      leftOut.push([id, 'its file is not in the backup'])
      continue
    }
    await copyFile(source, `${path}.part`)
    await syncPath(`${path}.part`)
    await rename(`${path}.part`, path)
  }
  await syncPath(to)
  return leftOut
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size
}

/**
 * Puts the copy in the place of the database, in one step: if this is interrupted, one of the two is there, whole. Returns
 * where the database so far is kept; undefined if there was none.
 */
async function takePlace(copy: string, path: string): Promise<string | undefined> {
  const kept = existsSync(path) ? await keep(path) : undefined
  withoutLog(copy)
  await syncPath(copy)
  await rename(copy, path)
  await syncPath(dirname(path))
  return kept
}

/** The write-ahead log must not be there any more when another database takes the place: SQLite would apply it to that. */
async function keep(path: string): Promise<string> {
  const kept = `${path}.before-${nameOf(Date.now())}`
  try {
    withoutLog(path)
  } catch {
    // A damaged database is kept with its log.
  }
  await link(path, kept)
  for (const suffix of ['-wal', '-shm']) if (existsSync(path + suffix)) await rename(path + suffix, kept + suffix)
  return kept
}

function withoutLog(path: string): void {
  const sqlite = new Sqlite(path, { fileMustExist: true })
  try {
    becomeOneFile(sqlite)
  } finally {
    sqlite.close()
  }
}
