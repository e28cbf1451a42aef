import { existsSync } from 'node:fs'
import { copyFile, link, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import Sqlite from 'better-sqlite3'
import { pino } from 'pino'
import { fetchBackup } from '../backup/bucket.ts'
import { type Checksums, checksumOf, readChecksums, sizeOf } from '../backup/checksums.ts'
import { becomeOneFile, copyDatabase, openCopy, type StoredExport } from '../backup/database.ts'
import { describeBackups } from '../backup/list.ts'
import type { LeftOut } from '../backup/make.ts'
import { newestBackup, ownDatabaseId, placeOf } from '../backup/newest.ts'
import { sourceOf } from '../backup/schedule.ts'
import { type BackupFacts, byAge, listBackups, momentOf, nameOf } from '../backup/shelf.ts'
import { type Config, readConfig } from '../config/config.ts'
import { makeFolder, syncPath } from '../config/folders.ts'
import { sqliteFile } from '../config/storage.ts'
import { ConfigError } from '../config/values.ts'
import type { Db } from '../db/engine/database.ts'
import { lockDatabase } from '../db/engine/sqlite/open.ts'
import { openDatabase } from '../db/open.ts'
import { assertObjectKey } from '../objects/store.ts'
import { createSeal, existingSecret } from '../seal/seal.ts'
import { commandLine, existingFile, operatorCommand, UsageError } from '../terminal/command.ts'
import { type Report, withProgress } from '../terminal/progress.ts'
import { sealedPages } from '../upkeep/reseal.ts'

const recovering = '.restoring-'
const log = pino({ level: 'silent' })

export const restoreCommand = operatorCommand(
  'restore',
  'Replaces the database with a backup, after testing a copy of it. The service must not run.',
  'The previous database is kept. With --check, which is for a schedule, and --list, the service can keep running, and nothing is replaced. The exit status is 0 only if the service can start on the backup.',
)
  .argument(
    '[backup]',
    'the folder of a backup, or one with several, for the newest of them; or the name of a backup in BACKUP_TO, or latest for the newest there',
  )
  .option('--check', 'only tests the backup; without a name, the newest in BACKUP_TO')
  .option(
    '--list',
    'only lists the backups in BACKUP_TO: their time, their size, whether SECRET_KEY opens them, and which are of another database',
  )
  // Reports a wrong call before `ebs` checks who owns the data.
  .hook('preAction', ({ args: [backup] }, called) => {
    const { check, list } = called.opts<{ check?: true; list?: true }>()
    if (list && (check || backup !== undefined)) throw new UsageError('--list takes no backup and no other option')
    if (!list && !check && backup === undefined)
      throw new UsageError(`name a backup, or latest; ${commandLine('restore', '--list')} shows them`)
  })
  .action(async (backup: string | undefined, { check, list }: { check?: true; list?: true }) => {
    const config = readConfig(process.env)
    if (sqliteFile(config.databaseUrl) === undefined) throw postgresAdvice()
    if (list) return listAll(config)
    return check ? tryOut(config, backup ?? 'latest') : recover(config, backup as string)
  })

async function recover(config: Config, backup: string): Promise<void> {
  const path = databaseFile(config)
  const exportsDir = config.s3 ? undefined : config.exportsDir
  await withCopy(config, backup, { path, exportsDir }, async (found, tried, copy) => {
    const kept = await replaceDatabase(copy, path)
    printOutcome(tried, `${path} is now ${found.name}`)
    if (kept !== undefined) console.log(`  before   ${kept}`)
    console.log(`  epoch    ${tried.epoch}: devices will send again what this database has lost`)
    console.log('  next     start the service')
  })
}

/** Tries a copy of the backup next to the database, which the service may be using. Refused during another try. */
async function tryOut(config: Config, backup: string): Promise<void> {
  const folder = `${databaseFile(config)}.checking`
  await withCopy(config, backup, { path: join(folder, 'bookmarks.db'), folder }, (found, tried) => {
    printOutcome(tried, `${found.name} can be recovered`)
    if (tried.leftOut.length > 0) process.exitCode = 1
  })
}

interface CopyPlace {
  /** The path of a database, which need not exist. The copy is made next to it, and it is locked meanwhile. */
  path: string
  /** The folder to restore lost export files to; undefined to restore none. */
  exportsDir?: string | undefined
  /** A folder only for the copy, removed with it. */
  folder?: string
}

async function withCopy(
  config: Config,
  backup: string,
  { path, exportsDir, folder }: CopyPlace,
  use: (found: Found, tried: Tried, copy: string) => Promise<void> | void,
): Promise<void> {
  const found = await findBackup(config, backup)
  const secretKeys = await readSecretKeys(config)
  if (folder !== undefined) await makeFolder(folder)
  const lock = await lockDatabase(path)
  await removeLeftovers(path)
  const own = await mkdtemp(path + recovering)
  try {
    const copy = join(own, 'bookmarks.db')
    const tried = await withProgress(({ report }) => fetchAndTry(found, config, secretKeys, copy, exportsDir, report))
    await use(found, tried, copy)
  } finally {
    await rm(folder ?? own, { recursive: true, force: true })
    lock.close()
  }
}

function printOutcome({ rows, leftOut, isCompared }: Tried, is: string): void {
  for (const [{ id }, reason] of leftOut) console.log(`left out: the export ${id}, ${reason}`)
  const counts = Object.entries(rows).map(([table, count]) => `${table} ${count}`)
  console.log(`${is}\n  checked  ${counts.join(', ')}`)
  if (!isCompared)
    console.log(
      '  not compared with its SHA-256: it has none, like all backups of earlier versions, so a byte may have changed',
    )
}

async function listAll(config: Config): Promise<void> {
  const facts = await describeBackups(config, await readSecretKeys(config))
  const own = await ownDatabaseId(config)
  const databases = new Set(facts.flatMap(({ databaseId }) => databaseId ?? []))
  const { oldestFirst, fromFuture } = byAge(facts.map(({ name }) => name))
  for (const name of oldestFirst) {
    const { bytes, opens, databaseId } = facts.find((one) => one.name === name) as BackupFacts
    const isOther = databaseId !== undefined && (own === undefined ? databases.size > 1 : databaseId !== own)
    const other = isOther ? `, of ${own === undefined ? 'the' : 'another'} database made ${databaseId}` : ''
    const future = fromFuture.includes(name) ? ', from the future' : ''
    console.log(`${name}  ${bytes === undefined ? 'unknown size' : `${bytes} bytes`}, ${opens}${other}${future}`)
  }
  console.log(`${facts.length} backups in ${placeOf(config)}`)
}

function databaseFile(config: Config): string {
  return resolve(sourceOf(config).database)
}

function postgresAdvice(): ConfigError {
  return new ConfigError(`DATABASE_URL: Postgres is recovered with its own tools, into an empty database, while no service runs on it:
  pg_restore --no-owner --single-transaction --dbname=… bookmarks.dump
  ${commandLine('restored')}
The guide to backups, at /docs of the service, has the rest.`)
}

/** Removes what a killed recovery has left. The caller has the lock, so no other recovery is running. */
async function removeLeftovers(path: string): Promise<void> {
  const names = (await readdir(dirname(path))).filter((name) => name.startsWith(basename(path) + recovering))
  for (const name of names) await rm(join(dirname(path), name), { recursive: true, force: true })
}

async function readSecretKeys({ secretKeys, dataDir }: Config): Promise<Uint8Array[]> {
  const found = secretKeys ?? (await existingSecret(dataDir))
  if (found) return found
  throw new ConfigError(
    'SECRET_KEY is required here: the key that the backup was made with (in development: secret.key)',
  )
}

interface Found {
  /** The backup's path, or its name in the bucket. For `latest` and a folder of backups, it is the newest one's. */
  name: string
  /** Undefined if the backup is in the bucket. */
  folder: string | undefined
}

/** Finds the backup before anything is locked or written. */
async function findBackup(config: Config, backup: string): Promise<Found> {
  const { dir, inBucket } = config.backup
  const isLatest = backup === 'latest'
  if (!isLatest && (await containsBackups(backup)))
    return findBackup({ ...config, backup: { ...config.backup, dir: backup, inBucket: false } }, 'latest')
  const name = isLatest ? await newestBackup(config, await readSecretKeys(config), (line) => console.log(line)) : backup
  if (inBucket && config.s3 && momentOf(name) !== undefined) return { name, folder: undefined }
  const folder = momentOf(name) === undefined ? resolve(name) : join(resolve(dir), name)
  existingFile(join(folder, 'bookmarks.db'))
  return { name: folder, folder }
}

/** A DATA_DIR may contain both a database and backups; then it counts as a backup itself. */
async function containsBackups(folder: string): Promise<boolean> {
  if (existsSync(join(folder, 'bookmarks.db'))) return false
  return (await listBackups(folder).catch(() => [])).length > 0
}

interface Tried {
  /** The number of rows by table. */
  rows: Record<string, number>
  leftOut: LeftOut[]
  epoch: string
  /** True if the backup's files were compared with their checksums. */
  isCompared: boolean
}

/**
 * Copies the backup's database to `path` and prepares it for a start. Throws unless it matches its checksum (if any),
 * is intact, has a schema that can be migrated, and the keys open all its sealed values.
 *
 * @param exportsDir the folder to restore lost export files to; undefined to restore none
 */
async function fetchAndTry(
  { name, folder }: Found,
  { s3 }: Config,
  secretKeys: Uint8Array[],
  path: string,
  exportsDir: string | undefined,
  report: Report,
): Promise<Tried> {
  let isCompared = false
  let sums: Checksums | undefined
  if (folder !== undefined) {
    sums = await readChecksums(folder)
    isCompared = sums !== undefined
    report('comparing the SHA-256', 0, 1)
    if (sums) await requireSame(folder, sums)
    await copyDatabase(join(folder, 'bookmarks.db'), path, folder, report)
  } else if (s3) isCompared = await fetchBackup(s3, secretKeys, name, path)
  const from = folder && join(folder, 'exports')
  // A bucket has the exports already.
  const exports = s3 ? undefined : { from, to: exportsDir, sums }
  const { rows, leftOut } = await prepare(path, name, exports, report)
  const database = await openDatabase(`sqlite:${path}`, log)
  try {
    report('opening what is sealed', 0, 1)
    await checkSeals(database.db, secretKeys, name)
    return { rows, leftOut, isCompared, epoch: await epochOf(database.db) }
  } finally {
    await database.close()
  }
}

async function requireSame(folder: string, sums: Checksums): Promise<void> {
  if ((await checksumOf(join(folder, 'bookmarks.db'))) === sums.get('bookmarks.db')) return
  throw new ConfigError(
    `${folder} is damaged (bookmarks.db has another SHA-256 than the one in SHA256SUMS, from when it was made); use another backup`,
  )
}

interface ExportFolders {
  /** Undefined for a backup in a bucket, which has no export files. */
  from: string | undefined
  /** Undefined to copy none. */
  to: string | undefined
  sums: Checksums | undefined
}

async function prepare(path: string, name: string, exports: ExportFolders | undefined, report: Report) {
  const copy = openCopy(path, name)
  try {
    report('checking the copy', 0, 1)
    const rows = copy.check()
    const leftOut = exports ? await copyMissingExports(copy.listExports(), exports, report) : []
    for (const [one] of leftOut) copy.removeExport(one)
    return { rows, leftOut }
  } finally {
    copy.close()
  }
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

async function epochOf(db: Db): Promise<string> {
  return (await db.selectFrom('epoch').select('id').executeTakeFirstOrThrow()).id
}

/** Copies the files that are missing in `to`, or only checks them. Export files never change, so existing ones stay. */
async function copyMissingExports(
  exports: StoredExport[],
  { from, to, sums }: ExportFolders,
  report: Report,
): Promise<LeftOut[]> {
  if (exports.length === 0) return []
  if (to !== undefined) await makeFolder(to)
  const leftOut: LeftOut[] = []
  for (const [index, one] of exports.entries()) {
    const { object_key, size_bytes } = one
    report(to === undefined ? 'comparing export files' : 'copying export files', index, exports.length)
    assertObjectKey(object_key)
    const path = to === undefined ? undefined : join(to, object_key)
    if (path !== undefined && (await sizeOf(path)) === size_bytes) continue
    const source = from === undefined ? undefined : join(from, object_key)
    if (source === undefined || (await sizeOf(source)) !== size_bytes) {
      leftOut.push([one, 'its file is not in the backup'])
    } else if (sums && (await checksumOf(source)) !== sums.get(`exports/${object_key}`)) {
      leftOut.push([one, 'its file is damaged in the backup'])
    } else if (path !== undefined) {
      await copyFile(source, `${path}.part`)
      await syncPath(`${path}.part`)
      await rename(`${path}.part`, path)
    }
  }
  if (to !== undefined) await syncPath(to)
  return leftOut
}

/**
 * Replaces the database by the copy in one step: if it is interrupted, one of the two is there, complete. Returns the
 * path of the previous database; undefined if there was none.
 */
async function replaceDatabase(copy: string, path: string): Promise<string | undefined> {
  const kept = await keep(path)
  withoutLog(copy)
  await syncPath(copy)
  await rename(copy, path)
  await syncPath(dirname(path))
  return kept
}

/**
 * Links the database, if there is one, to a new name. Also moves its write-ahead log, which SQLite would apply to the
 * new database, and which may be there without it.
 */
async function keep(path: string): Promise<string | undefined> {
  const kept = `${path}.before-${nameOf(Date.now())}`
  const isThere = existsSync(path)
  if (isThere) {
    try {
      withoutLog(path)
    } catch {
      // A damaged database is kept together with its log.
    }
    await link(path, kept)
  }
  for (const suffix of ['-wal', '-shm']) if (existsSync(path + suffix)) await rename(path + suffix, kept + suffix)
  return isThere ? kept : undefined
}

function withoutLog(path: string): void {
  const sqlite = new Sqlite(path, { fileMustExist: true })
  try {
    becomeOneFile(sqlite)
  } finally {
    sqlite.close()
  }
}
