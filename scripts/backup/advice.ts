import { join } from 'node:path'
import type { Config } from '../../src/config/config.ts'

/** What backs up what this command does not. Names no address: it may hold a password. */
export function postgresAdvice({ s3, exportsDir }: Config, folder: string): string {
  const dump = join(folder, 'bookmarks.dump')
  return `DATABASE_URL: nothing was backed up, for Postgres has its own tools. While the service runs:
  pg_dump --format=custom --file=${dump} "$DATABASE_URL"
and to restore it, into an empty database, before a service starts on that:
  pg_restore --no-owner --exit-on-error --dbname="$DATABASE_URL" ${dump}
To lose less than what came since the last dump: WAL archiving (point-in-time recovery).
${s3 ? bucketAdvice(s3.bucket) : `After the dump, copy the export files: ${exportsDir}`}`
}

export function bucketAdvice(bucket: string): string {
  return `The export files are in the bucket ${bucket}, which is not copied: have the store replicate it.`
}

/** The sealed values in a backup are as good as its SECRET_KEY, which must not lie beside it. */
export function secretAdvice({ secretKeys, dataDir }: Config): string {
  if (secretKeys) return 'SECRET_KEY is not in it. Keep every key of it elsewhere: without it no export key opens.'
  const file = join(dataDir, 'secret.key')
  return `The secret is not in it: ${file}. Keep a copy elsewhere; the backup needs it: SECRET_KEY="$(cat ${file})"`
}
