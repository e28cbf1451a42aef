import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { bucketBackups, fetchBackup } from '../../backup/bucket.ts'
import { copyDatabase } from '../../backup/database.ts'
import { listBackups, momentOf } from '../../backup/shelf.ts'
import { type Config, readConfig } from '../../config/config.ts'
import { ConfigError } from '../../config/values.ts'
import { lockDatabase } from '../../db/engine/sqlite/open.ts'
import { loadDevelopmentSecret } from '../../seal/seal.ts'
import { callBeside, existingFile } from '../../terminal/command.ts'
import { type Report, withProgress } from '../../terminal/progress.ts'
import { takePlace } from './take-place.ts'
import { tryCopy } from './try-copy.ts'

const restoring = '.restoring-'

export async function restore(backup: string): Promise<void> {
  process.umask(0o077)
  const config = readConfig(process.env)
  if (!config.databaseUrl.startsWith('sqlite:')) throw postgresAdvice()
  const found = await findBackup(config, backup)
  const secretKeys = await readSecretKeys(config)
  const path = resolve(config.databaseUrl.slice('sqlite:'.length))
  const lock = lockDatabase(path)
  await removeLeftovers(path)
  const folder = await mkdtemp(path + restoring)
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
  return new ConfigError(`DATABASE_URL: Postgres is restored with its own tools, into an empty database, while no service runs on it:
  pg_restore --no-owner --exit-on-error --dbname=… bookmarks.dump
  ${callBeside('restored')}
The guide to backups, at /docs of the service, has the rest.`)
}

/** What a restore left that was killed: no other one is running now. */
async function removeLeftovers(path: string): Promise<void> {
  const names = (await readdir(dirname(path))).filter((name) => name.startsWith(basename(path) + restoring))
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

/** Copies the database of the backup to `to`, and makes it fit to be started on. */
async function fetchAndTry(
  { name, folder }: Found,
  { s3, exportsDir }: Config,
  secretKeys: Uint8Array[],
  to: string,
  report: Report,
) {
  if (folder !== undefined) await copyDatabase(join(folder, 'bookmarks.db'), to, folder, report)
  else if (s3) await fetchBackup(s3, secretKeys, name, to)
  const exports = s3 ? undefined : { from: folder && join(folder, 'exports'), to: exportsDir }
  return tryCopy(to, name, { secretKeys, exports }, report)
}

function newest(names: string[]): string {
  const name = names.at(-1)
  if (name === undefined) throw new ConfigError('BACKUP_TO: there is no backup')
  return name
}
