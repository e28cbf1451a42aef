/**
 * `npm run restore -- BACKUP`: puts a backup in the place of the database, after trying a copy of it. The service must not
 * run. The database so far is kept. Exit status 0 only when the service can be started on what was restored.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { bucketBackups, fetchBackup } from '../backup/bucket.ts'
import { copyDatabase } from '../backup/database.ts'
import { momentOf } from '../backup/names.ts'
import { listBackups } from '../backup/shelf.ts'
import { type Config, readConfig } from '../config/config.ts'
import { ConfigError } from '../config/values.ts'
import { lockDatabase } from '../db/sqlite.ts'
import { loadDevelopmentSecret } from '../seal/secret.ts'
import { takePlace } from './restore/take-place.ts'
import { tryCopy } from './restore/try-copy.ts'

const restoring = '.restoring-'

try {
  await run(process.argv.slice(2))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

async function run([backup, ...others]: string[]): Promise<void> {
  if (!backup || backup.startsWith('-') || others.length > 0) {
    throw new Error('Usage: npm run restore -- BACKUP (a folder, or the name of one in BACKUP_TO, or latest)')
  }
  process.umask(0o077)
  const config = readConfig(process.env)
  if (!config.databaseUrl.startsWith('sqlite:')) throw postgresAdvice()
  const secretKeys = await readSecretKeys(config)
  const path = resolve(config.databaseUrl.slice('sqlite:'.length))
  const lock = lockDatabase(path)
  await removeLeftovers(path)
  const folder = await mkdtemp(path + restoring)
  try {
    const copy = join(folder, 'bookmarks.db')
    const fetched = await fetchCopy(config, secretKeys, backup, copy)
    const exports = config.s3 ? undefined : { from: fetched.exports, to: config.exportsDir }
    const { rows, epoch, leftOut } = await tryCopy(copy, fetched.name, { secretKeys, exports })
    const kept = await takePlace(copy, path)
    for (const [id, reason] of leftOut) console.log(`left out: the export ${id}, ${reason}`)
    const counts = Object.entries(rows).map(([table, count]) => `${table} ${count}`)
    console.log(`${path} is now ${fetched.name}\n  checked  ${counts.join(', ')}`)
    if (kept !== undefined) console.log(`  before   ${kept}`)
    console.log(`  epoch    ${epoch}: devices will send again what this database has lost`)
  } finally {
    await rm(folder, { recursive: true, force: true })
    lock.close()
  }
}

function postgresAdvice(): ConfigError {
  return new ConfigError(`DATABASE_URL: Postgres is restored with its own tools, into an empty database, while no service runs on it:
  pg_restore --no-owner --exit-on-error --dbname=… bookmarks.dump
  npm run restored
docs/operating/backups.md has the rest.`)
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

/** Copies the database of the backup to `to`. Returns how to call the backup, and where its exports are. */
async function fetchCopy({ backup: { dir, inBucket }, s3 }: Config, keys: Uint8Array[], backup: string, to: string) {
  if (inBucket && s3) {
    const name = backup === 'latest' ? newest(await bucketBackups(s3)) : backup
    if (momentOf(name) === undefined) throw new ConfigError(`BACKUP_TO: the bucket has no backup ${name}`)
    await fetchBackup(s3, keys, name, to)
    return { name, exports: undefined }
  }
  const name = backup === 'latest' ? newest(await listBackups(dir)) : backup
  const folder = momentOf(name) === undefined ? resolve(name) : join(resolve(dir), name)
  await copyDatabase(join(folder, 'bookmarks.db'), to, folder)
  return { name: folder, exports: join(folder, 'exports') }
}

function newest(names: string[]): string {
  const name = names.at(-1)
  if (name === undefined) throw new ConfigError('BACKUP_TO: there is no backup')
  return name
}
