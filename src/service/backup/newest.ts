import { join, resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/values.ts'
import { databaseIdOf } from './database-id.ts'
import { openShelf, sourceOf } from './schedule.ts'
import { byAge } from './shelf.ts'

/**
 * The name of this database's newest backup. If there is no database, the newest of all, provided that they belong to
 * one database. A newer, unreadable backup may be of it, so that one is returned, and opening it reports the error.
 *
 * @param print called with each newer backup that was skipped, and why
 */
export async function newestBackup(
  config: Config,
  secretKeys: Uint8Array[],
  print: (line: string) => void,
): Promise<string> {
  const shelf = openShelf(config, secretKeys)
  const { oldestFirst, fromFuture } = byAge(await shelf.list())
  for (const name of fromFuture) print(`passed over: ${name}, which is from the future, so a clock was wrong`)
  if (oldestFirst.length === 0) throw new ConfigError(`BACKUP_TO: there is no backup in ${placeOf(config)}`)
  const newest = new Map<string | undefined, string>()
  for (const name of oldestFirst) newest.set(await shelf.databaseIdOf(name).catch(() => undefined), name)
  const known = [...newest.keys()].filter((databaseId) => databaseId !== undefined)
  const here = await ownDatabaseId(config)
  const { database } = sourceOf(config)
  const all = known
    .map((databaseId) => `${pathOf(config, newest.get(databaseId) ?? '')} (made ${databaseId})`)
    .join(', ')
  if (here === undefined && known.length > 1)
    throw new ConfigError(
      `${placeOf(config)} has backups of ${known.length} databases, and in ${resolve(database)} is none to compare them with; ` +
        `name the one that is meant: ${all}`,
    )
  const own = new Set([newest.get(here ?? known[0]), newest.get(undefined)])
  const name = oldestFirst.findLast((each) => own.has(each))
  if (name === undefined)
    throw new ConfigError(
      `${placeOf(config)} has no backup of ${resolve(database)}, only of other databases; to recover one of them instead, name it: ${all}`,
    )
  for (const each of oldestFirst.slice(oldestFirst.indexOf(name) + 1))
    print(`passed over: ${each}, which is of another database`)
  return name
}

/** Undefined if there is no database, or it cannot be read. */
export async function ownDatabaseId(config: Config): Promise<string | undefined> {
  return databaseIdOf(sourceOf(config).database).catch(() => undefined)
}

/** The place of the backups, as commands print it. */
export function placeOf({ backup, s3 }: Config): string {
  return backup.inBucket && s3 ? s3.bucket : resolve(backup.dir)
}

function pathOf({ backup }: Config, name: string): string {
  return backup.inBucket ? name : join(resolve(backup.dir), name)
}
