import type { Readable } from 'node:stream'

export class ObjectNotFoundError extends Error {
  override name = 'ObjectNotFoundError'

  constructor(key: string, cause?: unknown) {
    super(`there is no object ${key}`, { cause })
  }
}

/** The store does not respond or refuses everyone. This says nothing about the object; a later attempt may succeed. */
export class ObjectStoreUnavailableError extends Error {
  override name = 'ObjectStoreUnavailableError'
  /** The objects can be read all the same. */
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
  /** The bytes of the range, or of the whole object. Must be read or destroyed. */
  body: Readable
}

/**
 * Keeps export files. A key comes from `objectKeyOf` and is written once. An object is bound to its export key: a store
 * run by others returns no byte of it without that key, not even the file's header. The local folder ignores the export
 * key, because its files are already encrypted under it.
 */
export interface ObjectStore {
  /**
   * Stores an object and returns its size. Once this resolves, the object is complete and on disk; if it fails or is
   * aborted, nothing of it can be read. If the store cannot be reached, it may keep remains until `remove` deletes them or
   * they expire. Each piece of the content is used before the next one is requested.
   * @throws ObjectStoreUnavailableError
   */
  put(key: string, exportKey: Uint8Array, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<number>
  /** @throws ObjectNotFoundError, ObjectStoreUnavailableError */
  get(key: string, exportKey: Uint8Array, range?: ByteRange): Promise<StoredObject>
  /**
   * Removes an object and what interrupted `put`s left of it. Does nothing if there is none.
   * @throws ObjectStoreUnavailableError
   */
  remove(key: string): Promise<void>
  /** Yields the keys of all objects and of what interrupted `put`s left. */
  list(): AsyncIterable<string>
  /** Rejects if the store is not writable. */
  probe(): Promise<void>
  close(): Promise<void>
}

/** Each attempt at an export writes its own object. */
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

/** The names of one kind of object: the store may also hold objects of others. */
export interface KeyForm {
  prefix: string
  matches(name: string): boolean
}

export const exportObjects: KeyForm = { prefix: '', matches: isObjectKey }

/** True for a key that `objectKeyOf` made. */
export function isObjectKey(name: string): boolean {
  return /^[\w-]{1,36}\.[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.(0|[1-9]\d{0,8})$/.test(name)
}

/** Only the server makes keys; this check keeps a mistake there from reaching outside the store. */
export function assertObjectKey(key: string, { matches } = exportObjects): void {
  if (!matches(key)) throw new TypeError(`${JSON.stringify(key)} is not an object key`)
}
