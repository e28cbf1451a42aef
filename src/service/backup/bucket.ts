import { hkdfSync } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { ConfigError } from '../config/values.ts'
import type { S3Config } from '../objects/s3.ts'
import type { KeyForm } from '../objects/store.ts'
import { ObjectNotFoundError, type ObjectStore } from '../objects/store.ts'
import { checksumOf } from './checksums.ts'
import { databaseIdOf } from './database-id.ts'
import type { BackupFacts, Shelf } from './shelf.ts'
import { momentOf } from './shelf.ts'

const prefix = 'backups/'
const suffix = '.db'
/** Suffix of the encrypted object next to a backup. Its lines are the backup's SHA-256 and its database's id. */
const sumSuffix = '.sha256'
const form: KeyForm = {
  prefix,
  matches: (key) => nameIn(key, suffix) !== undefined || nameIn(key, sumSuffix) !== undefined,
  onlyComplete: true,
}

/**
 * Keeps each backup as an object of the bucket, without exports, which are in the bucket anyway. The store keeps
 * no key of a backup (SSE-C): its key is derived from SECRET_KEY.
 *
 * @param dir where each backup is made before its upload
 * @param made the backups in `dir`
 */
export function bucketShelf(config: S3Config, secretKeys: Uint8Array[], dir: string, made: Shelf): Shelf {
  return {
    list: () => bucketBackups(config),
    async add(name, signal) {
      const [firstKey] = secretKeys
      if (!firstKey) throw new Error('at least one secret key is required')
      try {
        const result = await made.add(name, signal)
        await withStore(config, 'write', (store) =>
          send(store, join(dir, name, 'bookmarks.db'), name, keyFrom(firstKey), signal),
        )
        return result
      } finally {
        for (const each of await made.list()) await made.remove(each)
      }
    },
    remove: (name) =>
      withStore(config, 'write', async (store) => {
        await store.remove(objectOf(name))
        await store.remove(sumOf(name))
      }),
    databaseIdOf: (name) =>
      withStore(config, 'read', async (store) => {
        const opened = await findKey(store, name, secretKeys)
        return opened && (await readSum(store, name, opened.key)).databaseId
      }),
    needs: 'SECRET_KEY: without the first of its keys, nobody can read this backup',
  }
}

/** The names of the backups in the bucket. */
export async function bucketBackups(config: S3Config): Promise<string[]> {
  return withStore(config, 'read', namesIn)
}

async function namesIn(store: ObjectStore): Promise<string[]> {
  return (await Array.fromAsync(store.list())).flatMap((key) => nameIn(key, suffix) ?? [])
}

export async function describeBucket(config: S3Config, secretKeys: Uint8Array[]): Promise<BackupFacts[]> {
  return withStore(config, 'read', async (store) => {
    const found: BackupFacts[] = []
    for (const name of await namesIn(store)) {
      const opened = await findKey(store, name, secretKeys).catch((error: unknown) => {
        // It was removed meanwhile.
        if (error instanceof ObjectNotFoundError) return null
        throw error
      })
      if (opened === null) continue
      const databaseId = opened && (await readSum(store, name, opened.key)).databaseId
      const opens = opened ? 'opens with SECRET_KEY' : 'opens with no key of SECRET_KEY'
      found.push({ name, bytes: opened?.size, opens, databaseId })
    }
    return found
  })
}

/**
 * Downloads the database of a backup into a new file. Any of the keys may open it. Resolves to true if its checksum was
 * compared, and to false for a backup of an earlier version, which has none.
 */
export async function fetchBackup(
  config: S3Config,
  secretKeys: Uint8Array[],
  name: string,
  to: string,
): Promise<boolean> {
  return withStore(config, 'read', async (store) => {
    const opened = await findKey(store, name, secretKeys).catch((error: unknown) => {
      if (!(error instanceof ObjectNotFoundError)) throw error
      throw new ConfigError(`BACKUP_TO: the bucket has no backup ${name}`)
    })
    if (!opened)
      throw new ConfigError(
        `SECRET_KEY: none of its keys opens the backup ${name}; append the key that it was made with`,
      )
    const { key } = opened
    const { body } = await store.get(objectOf(name), key)
    await pipeline(body, createWriteStream(to, { flags: 'wx', mode: 0o600, flush: true }))
    const { sum } = await readSum(store, name, key)
    if (sum === undefined) return false
    if ((await checksumOf(to)) === sum) return true
    throw new ConfigError(`${name} is damaged (it has another SHA-256 than when it was made)`)
  })
}

/** Finds the key that opens the backup, and the backup's size. */
async function findKey(store: ObjectStore, name: string, secretKeys: Uint8Array[]) {
  for (const key of secretKeys.map(keyFrom)) {
    const found = await store.get(objectOf(name), key, { start: 0, end: 0 }).catch((error) => error as Error)
    if (found instanceof Error && (found as { code?: string }).code === 'AccessDenied') continue
    if (found instanceof Error) throw found
    found.body.destroy()
    return { key, size: found.size }
  }
  return undefined
}

async function readSum(
  store: ObjectStore,
  name: string,
  key: Uint8Array,
): Promise<{ sum?: string; databaseId?: string }> {
  try {
    const [sum, databaseId] = (await text((await store.get(sumOf(name), key)).body)).split('\n')
    return { ...(sum && { sum }), ...(databaseId && { databaseId }) }
  } catch (error) {
    if (error instanceof ObjectNotFoundError) return {}
    throw error
  }
}

async function send(store: ObjectStore, path: string, name: string, key: Uint8Array, signal: AbortSignal) {
  const sum = await checksumOf(path)
  await store.put(sumOf(name), key, Readable.from([Buffer.from(`${sum}\n${await databaseIdOf(path)}`)]), signal)
  try {
    const size = await store.put(objectOf(name), key, createReadStream(path), signal)
    const stored = await store.get(objectOf(name), key, { start: 0, end: 0 })
    stored.body.destroy()
    if (stored.size === size) return
    await store.remove(objectOf(name))
    throw new Error(`the bucket has ${stored.size} bytes of the backup ${name} instead of ${size}`)
  } catch (error) {
    await store.remove(sumOf(name)).catch(() => {})
    throw error
  }
}

/** Opens the bucket for each use: backups are far apart, and an unreachable store should fail only one of them. */
async function withStore<T>(
  config: S3Config,
  access: 'read' | 'write',
  use: (store: ObjectStore) => Promise<T>,
): Promise<T> {
  const { openS3Store } = await import('../objects/s3.ts')
  const store = await openS3Store(config, form, access)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

function objectOf(name: string): string {
  return `${prefix}${name}${suffix}`
}

function sumOf(name: string): string {
  return `${prefix}${name}${sumSuffix}`
}

/** The backup's name in an object's key. Undefined if the key is not a backup's, or has another ending. */
function nameIn(key: string, ending: string): string | undefined {
  const name = key.slice(prefix.length, -ending.length)
  return key === `${prefix}${name}${ending}` && momentOf(name) !== undefined ? name : undefined
}

function keyFrom(secretKey: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secretKey, '', 'ebs/backup/1', 32))
}
