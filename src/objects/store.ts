import type { Readable } from 'node:stream'

export class ObjectNotFoundError extends Error {
  override name = 'ObjectNotFoundError'

  constructor(key: string, cause?: unknown) {
    super(`there is no object ${key}`, { cause })
  }
}

/** The store does not answer, or answers nobody: nothing is said about the object, and a later try may succeed. */
export class ObjectStoreUnavailableError extends Error {
  override name = 'ObjectStoreUnavailableError'
}

/** First and last byte, both included. */
export interface ByteRange {
  start: number
  end: number
}

export interface StoredObject {
  /** Of the whole object, in bytes. */
  size: number
  /** The bytes of the range, or of the whole object. Must be read or destroyed. */
  body: Readable
}

/**
 * Where export files lie. Keys are object-key.ts's; each is written once. An object belongs to its export key, which a
 * store that others run makes a condition of reading it: they cannot read the file's header either. Our own folder takes
 * the export key and needs none, for what it holds is encrypted under that key already.
 */
export interface ObjectStore {
  /**
   * Stores an object and returns its size. It appears whole and on disk, when this resolves; when it fails or is aborted,
   * nothing of it stays that could be read. What a store out of reach keeps of it, `remove` or its own expiry takes.
   * A piece of the content is used before the next one is asked for.
   * @throws ObjectStoreUnavailableError
   */
  put(key: string, exportKey: Uint8Array, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<number>
  /** @throws ObjectNotFoundError, ObjectStoreUnavailableError */
  get(key: string, exportKey: Uint8Array, range?: ByteRange): Promise<StoredObject>
  /** Removes an object, or what interrupted `put`s left of it; one that is not there is fine. */
  remove(key: string): Promise<void>
  /** The keys of all objects, and of what interrupted `put`s left. */
  list(): AsyncIterable<string>
  /** Rejects when the store cannot be written. */
  probe(): Promise<void>
  close(): Promise<void>
}
