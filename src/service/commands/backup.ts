import { rmdirSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { makeBackup } from '../backup/make.ts'
import { sourceOf } from '../backup/schedule.ts'
import { nameOf } from '../backup/shelf.ts'
import { type Config, readConfig } from '../config/config.ts'
import { makeFolder } from '../config/folders.ts'
import { sqliteFile, withoutPassword } from '../config/storage.ts'
import { commandLine, operatorCommand } from '../terminal/command.ts'
import { withProgress } from '../terminal/progress.ts'

export const backupCommand = operatorCommand(
  'backup',
  'Copies the database and the export files into a new folder while the service runs, and checks the copy.',
  'The copy can be used as a DATA_DIR. The exit status is 0 only if the copy is complete and on disk. For a database in Postgres, it copies nothing, and prints the commands to run instead.',
)
  .argument(
    '<folder>',
    'where the copy goes; if the folder exists, or its name ends with /, the copy gets its own folder in it, named after its time',
  )
  .action(backUp)

async function backUp(folder: string): Promise<void> {
  const config = readConfig(process.env)
  if (sqliteFile(config.databaseUrl) === undefined) throw new Error(postgresAdvice(config, folder))
  const path = await placeFor(folder)
  const { rows, leftOut } = await withProgress(({ report }) => makeBackup(sourceOf(config), path, report))
  for (const [{ id }, reason] of leftOut) console.log(`left out: the export ${id}, ${reason}`)
  const counts = Object.entries(rows).map(([table, count]) => `${table} ${count}`)
  console.log(`${path}\n  checked  ${counts.join(', ')}\n  restore  ${commandLine('restore', path)}`)
  if (config.s3) console.log(bucketAdvice(config.s3.bucket))
  console.log(secretAdvice(config))
}

/** Picks a new subfolder if the folder exists or ends with `/`, so that the same command line can be run again. */
async function placeFor(folder: string): Promise<string> {
  const path = resolve(folder)
  const isThere = (await stat(path).catch(() => undefined))?.isDirectory() === true
  if (!isThere && !folder.endsWith('/')) return path
  await makeFolder(path).catch((error: Error) => {
    throw new Error(`${path} cannot be written (${error.message})`)
  })
  if (!isThere) process.once('exit', () => removeEmpty(path))
  return join(path, nameOf(Date.now()))
}

/** Removes a new folder that got no backup, also after an error or Ctrl-C. */
function removeEmpty(path: string): void {
  try {
    rmdirSync(path)
  } catch {
    // It contains a backup.
  }
}

/** Explains how to back up Postgres, which this command does not do, without exposing the dump or the password. */
function postgresAdvice({ databaseServer, s3, exportsDir }: Config, folder: string): string {
  const dump = join(folder, 'bookmarks.dump')
  const url = withoutPassword(databaseServer.directUrl) ?? 'service=bookmarks'
  return `DATABASE_URL: nothing was backed up, because Postgres has its own tools. While the service runs:
  umask 077; mkdir -p '${folder}'; pg_dump --format=custom --file='${dump}' '${url}'
To recover the dump, into an empty database and before a service starts on it:
  pg_restore --no-owner --single-transaction --dbname='${url}' '${dump}'
  ${commandLine('restored')}
Write the password into ~/.pgpass (mode 0600), as a line of the form host:port:database:user:password.
A recovery loses what was written after the dump. To lose less, use WAL archiving (point-in-time recovery).
${s3 ? bucketAdvice(s3.bucket) : `After the dump, copy the export files: ${exportsDir}`}`
}

function bucketAdvice(bucket: string): string {
  return `The export files are in the bucket ${bucket}, which is not copied: have the store replicate it.`
}

/** If SECRET_KEY is lost, a backup's sealed values are lost. If it is stored with them, they are not secret. */
function secretAdvice({ secretKeys, dataDir }: Config): string {
  if (secretKeys) return 'SECRET_KEY is not in it. Keep all its keys elsewhere: without them, no export key opens.'
  const file = join(dataDir, 'secret.key')
  return `The secret is not in it: ${file}. Keep a copy elsewhere; the backup needs it: SECRET_KEY="$(cat ${file})"`
}
