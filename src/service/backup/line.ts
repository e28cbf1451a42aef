import { resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/values.ts'
import { callBeside } from '../terminal/command.ts'
import { bucketBackups } from './bucket.ts'
import { lineOf } from './database.ts'
import { listBackups } from './shelf.ts'

/** A start must not make a new database where there are backups of one: its disk is not mounted, or a variable is wrong. */
export async function demandDatabase({ databaseUrl, backup, s3 }: Config): Promise<void> {
  if (backup.everyMs === undefined) return
  const path = resolve(databaseUrl.slice('sqlite:'.length))
  if (!isNew(path)) return
  const inBucket = backup.inBucket && s3 ? s3 : undefined
  const { length } = inBucket ? await bucketBackups(inBucket) : await listBackups(backup.dir)
  if (length === 0) return
  throw new ConfigError(
    `DATABASE_URL: there is no database in ${path}, while BACKUP_TO (${inBucket?.bucket ?? resolve(backup.dir)}) has ${length} ` +
      'backups. Is its disk mounted, are DATA_DIR and DATABASE_URL right? ' +
      `To recover the newest backup: ${callBeside('restore', 'latest')}. To begin anew, without it: ${callBeside('migrate')}`,
  )
}

/** One that cannot be read is no new one: the start says why. */
function isNew(path: string): boolean {
  try {
    return lineOf(path) === undefined
  } catch {
    return false
  }
}
