import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config/config.ts'
import { bucketShelf } from './bucket.ts'
import { type Backups, scheduleBackups } from './schedule.ts'
import { folderShelf } from './shelf.ts'
import { sourceOf } from './source.ts'
import { makeBackupApart } from './start-process.ts'

/** Undefined if the configuration wants no backups. */
export function openBackups(config: Config, secretKeys: Uint8Array[], log: FastifyBaseLogger): Backups | undefined {
  const { everyMs, keep, dir, inBucket } = config.backup
  if (everyMs === undefined) return undefined
  const source = sourceOf(config)
  const folder = folderShelf(dir, (path, signal) => makeBackupApart({ source, path }, signal))
  const shelf = inBucket && config.s3 ? bucketShelf(config.s3, secretKeys, dir, folder) : folder
  return scheduleBackups({ everyMs, keep, shelf, log })
}
