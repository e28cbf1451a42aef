import type { Readable } from 'node:stream'

export class ObjectNotFoundError extends Error {
  override name = 'ObjectNotFoundError'

  constructor(key: string, cause?: unknown) {
    super(`there is no object ${key}`, { cause })
  }
}

/** The store does not answer, or refuses everybody: that says nothing about the object, and a later try may succeed. */
export class ObjectStoreUnavailableError extends Error {
  override name = 'ObjectStoreUnavailableError'
}

/** First and last byte, both included. */
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
 * Where export files are kept. Keys are those of object-key.ts; each is written once. An object belongs to its export
 * key: a store that others run gives no byte of it to those who lack that key, not even the file's header. Our own
 * folder does not use the export key, because what it holds is encrypted under that key already.
 */
export interface ObjectStore {
  /**
   * Stores an object and returns its size. Once this resolves, the object is there, whole and on disk; if it fails or
   * is aborted, nothing of it can be read. What a store out of reach keeps of it goes with `remove`, or when the store
   * lets it expire. Each piece of the content is used before the next one is asked for.
   * @throws ObjectStoreUnavailableError
   */
  put(key: string, exportKey: Uint8Array, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<number>
  /** @throws ObjectNotFoundError, ObjectStoreUnavailableError */
  get(key: string, exportKey: Uint8Array, range?: ByteRange): Promise<StoredObject>
  /** Removes an object and what interrupted `put`s left of it; it is fine if there is none. */
  remove(key: string): Promise<void>
  /** The keys of all objects, and of what interrupted `put`s left. */
  list(): AsyncIterable<string>
  /** Rejects when the store cannot be written. */
  probe(): Promise<void>
  close(): Promise<void>
}
