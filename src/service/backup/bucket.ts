import { hkdfSync } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ConfigError } from '../config/values.ts'
import type { S3Config } from '../objects/s3.ts'
import type { KeyForm } from '../objects/store.ts'
import { ObjectNotFoundError, type ObjectStore } from '../objects/store.ts'
import type { Shelf } from './shelf.ts'
import { momentOf } from './shelf.ts'

const prefix = 'backups/'
const suffix = '.db'
const form: KeyForm = {
  prefix,
  matches: (key) => key.startsWith(prefix) && key.endsWith(suffix) && momentOf(backupOf(key)) !== undefined,
}

/**
 * Each backup is an object of the bucket: the database alone, for the exports are in the bucket anyway. The store cannot
 * read it without a key that comes from SECRET_KEY.
 *
 * @param dir where a backup is made before it is sent, and nothing else is
 * @param made the backups in `dir`
 */
export function bucketShelf(config: S3Config, secretKeys: Uint8Array[], dir: string, made: Shelf): Shelf {
  const [firstKey] = secretKeys
  if (!firstKey) throw new Error('at least one secret key is required')
  return {
    list: () => bucketBackups(config),
    async add(name, signal) {
      try {
        const result = await made.add(name, signal)
        await withStore(config, (store) =>
          send(store, join(dir, name, 'bookmarks.db'), name, keyFrom(firstKey), signal),
        )
        return result
      } finally {
        for (const each of await made.list()) await made.remove(each)
      }
    },
    remove: (name) => withStore(config, (store) => store.remove(objectOf(name))),
  }
}

/** The names of the backups in the bucket. */
export async function bucketBackups(config: S3Config): Promise<string[]> {
  return withStore(config, async (store) => (await Array.fromAsync(store.list())).map(backupOf))
}

/** Writes the database of a backup to a new file. Any of the keys may be the one that it was sent with. */
export async function fetchBackup(config: S3Config, secretKeys: Uint8Array[], name: string, to: string): Promise<void> {
  await withStore(config, async (store) => {
    for (const secretKey of secretKeys) {
      const found = await store.get(objectOf(name), keyFrom(secretKey)).catch((error) => error as Error)
      if (found instanceof ObjectNotFoundError) throw new ConfigError(`BACKUP_TO: the bucket has no backup ${name}`)
      if (found instanceof Error && (found as { code?: string }).code === 'AccessDenied') continue
      if (found instanceof Error) throw found
      return pipeline(found.body, createWriteStream(to, { flags: 'wx', mode: 0o600, flush: true }))
    }
    throw new ConfigError(`SECRET_KEY: none of its keys opens the backup ${name}; append the key that it was made with`)
  })
}

async function send(store: ObjectStore, path: string, name: string, key: Uint8Array, signal: AbortSignal) {
  const size = await store.put(objectOf(name), key, createReadStream(path), signal)
  const stored = await store.get(objectOf(name), key, { start: 0, end: 0 })
  stored.body.destroy()
  if (stored.size === size) return
  await store.remove(objectOf(name))
  throw new Error(`the bucket has ${stored.size} bytes of the backup ${name} instead of ${size}`)
}

/** Backups are far apart, so each opens the bucket anew: a store that is away fails only the one of that time. */
async function withStore<T>(config: S3Config, use: (store: ObjectStore) => Promise<T>): Promise<T> {
  const { openS3Store } = await import('../objects/s3.ts')
  const store = await openS3Store(config, form)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

function objectOf(name: string): string {
  return `${prefix}${name}${suffix}`
}

function backupOf(key: string): string {
  return key.slice(prefix.length, -suffix.length)
}

function keyFrom(secretKey: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secretKey, '', 'ebs/backup/1', 32))
}
