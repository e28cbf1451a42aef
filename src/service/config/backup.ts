import { join } from 'node:path'
import { ConfigError, duration, type Env, integer, text } from './values.ts'

interface Stores {
  dataDir: string
  databaseUrl: string
  s3: object | undefined
}

/** The value of BACKUP_TO that stands for the bucket of S3_BUCKET. */
const inBucket = 's3'

/** When the service makes backups by itself, how many of them stay, and where. */
export function backup(env: Env, { dataDir, databaseUrl, s3 }: Stores) {
  const everyMs = duration(env, 'BACKUP_EVERY')
  const keep = integer(env, 'BACKUP_KEEP', 7, 1, 10_000)
  const to = text(env, 'BACKUP_TO', join(dataDir, 'backups'))
  if (everyMs !== undefined && !databaseUrl.startsWith('sqlite:')) {
    throw new ConfigError(
      'BACKUP_EVERY is for SQLite; for Postgres, schedule its own tools (the guide to backups, at /docs, shows how)',
    )
  }
  if (to === inBucket && !s3) throw new ConfigError(`BACKUP_TO is ${inBucket}, so S3_ENDPOINT is required`)
  return {
    everyMs,
    keep,
    inBucket: to === inBucket,
    /** Where a backup is made. What is sent to the bucket is then removed, so those of a time before it are elsewhere. */
    dir: to === inBucket ? join(dataDir, 'unsent-backup') : to,
  }
}
