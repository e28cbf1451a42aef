import type { Readable } from 'node:stream'

export class ObjectNotFoundError extends Error {
  override name = 'ObjectNotFoundError'

  constructor(key: string, cause?: unknown) {
    super(`there is no object ${key}`, { cause })
  }
}

/** The store is unreachable, or refuses everyone. This says nothing about the object; a later attempt may succeed. */
export class ObjectStoreUnavailableError extends Error {
  override name = 'ObjectStoreUnavailableError'
  /** Set if objects can still be read. */
  readonly readable: Pick<ObjectStore, 'get'> | undefined

  constructor(message?: string, { cause, readable }: { cause?: unknown; readable?: Pick<ObjectStore, 'get'> } = {}) {
    super(message, { cause })
    this.readable = readable
  }
}

/** The first and last byte, both inclusive. */
export interface ByteRange {
  start: number
  end: number
}

export interface StoredObject {
  /** The size of the whole object, in bytes. */
  size: number
  /** The requested bytes. Must be read or destroyed. */
  body: Readable
}

/**
 * Keeps export files and, in a bucket, backups (backup/bucket.ts). Each key is written once. An object is bound to its
 * export key: a remote store returns none of its bytes without that key, not even the file's header. The local folder
 * ignores the export key, because its files are encrypted with it already.
 */
export interface ObjectStore {
  /**
   * Stores an object and returns its size. Once this resolves, the object is complete and on disk; after a failure or
   * abort, nothing of it can be read. An unreachable store may keep remains until `remove` or their expiry. Each piece
   * of the content is used before the next one is requested.
   *
   * @throws ObjectStoreUnavailableError, or another error of the store
   */
  put(key: string, exportKey: Uint8Array, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<number>
  /** @throws ObjectNotFoundError, ObjectStoreUnavailableError, or another error of the store, as for a wrong key */
  get(key: string, exportKey: Uint8Array, range?: ByteRange): Promise<StoredObject>
  /** True if there is a complete object of this key. Needs no export key. */
  has(key: string): Promise<boolean>
  /**
   * Removes an object and what interrupted `put`s have left of it. Does nothing if there is none.
   *
   * @throws ObjectStoreUnavailableError, or another error of the store
   */
  remove(key: string): Promise<void>
  /**
   * Yields the keys of all objects, and of what interrupted `put`s have left.
   *
   * @param before if given (Unix ms), yields only what was written earlier, by the store's own times
   */
  list(before?: number): AsyncIterable<string>
  /** Rejects if the store is not writable. */
  probe(): Promise<void>
  close(): Promise<void>
}

/** Each attempt at an export writes a separate object. */
interface Attempt {
  user_id: string
  id: string
  fence: number
}

export function objectKeyOf({ user_id, id, fence }: Attempt): string {
  return `${user_id}.${id}.${fence}`
}

export function attemptOf(objectKey: string): Attempt {
  const [user_id = '', id = '', fence] = objectKey.split('.')
  return { user_id, id, fence: Number(fence) }
}

/** The form of the keys of one kind of object, because the store may contain others. */
export interface KeyForm {
  prefix: string
  matches(name: string): boolean
  /** If set, `list` does not yield what interrupted `put`s have left. */
  onlyComplete?: true
}

export const exportObjects: KeyForm = { prefix: '', matches: isObjectKey }

/** True for keys made by `objectKeyOf`. */
export function isObjectKey(name: string): boolean {
  return /^[\w-]{1,36}\.[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.(0|[1-9]\d{0,8})$/.test(name)
}

/** Keeps a programming error from reaching files outside of the store. Users never choose keys. */
export function assertObjectKey(key: string, { matches } = exportObjects): void {
  if (!matches(key)) throw new TypeError(`${JSON.stringify(key)} is not an object key`)
}
