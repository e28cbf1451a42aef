import type { Readable } from 'node:stream'

export class ObjectNotFoundError extends Error {
  override name = 'ObjectNotFoundError'

  constructor(key: string, cause?: unknown) {
    super(`there is no object ${key}`, { cause })
  }
}

/** First and last byte, both included. */
export interface ByteRange {
  start: number
  end: number
}

interface StoredObject {
  /** Of the whole object, in bytes. */
  size: number
  /** The bytes of the range, or of the whole object. Must be read or destroyed. */
  body: Readable
}

/** Where export files lie. Keys are object-key.ts's; each is written once. */
export interface ObjectStore {
  /**
   * Stores an object and returns its size. It appears whole and on disk, when this resolves; when it fails or is aborted,
   * nothing of it stays.
   */
  put(key: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<number>
  /** @throws ObjectNotFoundError */
  get(key: string, range?: ByteRange): Promise<StoredObject>
  /** Removes an object, or what an interrupted `put` left of it; one that is not there is fine. */
  remove(key: string): Promise<void>
  /** The keys of all objects, and of what interrupted `put`s left. */
  list(): AsyncIterable<string>
  /** Rejects when the store cannot be written. */
  probe(): Promise<void>
  close(): Promise<void>
}
