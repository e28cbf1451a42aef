import type { components } from '../../../../generated/client.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'

type Schemas = components['schemas']

/** A version of a bookmark, in the clear. */
export interface Version {
  event_id: string
  /** When it was made (Unix ms, the clock of the device that made it). */
  timestamp: number
  device_id: string
  operation: Schemas['Operation']
  /** Null for a delete. */
  data_hash: string | null
  /** Null for a delete. */
  bookmark: PlaintextBookmark | null
  /** False for a change of this device that the service accepted, but has not sent back yet. */
  confirmed: boolean
}

/** A change that the service has not confirmed yet. */
export interface Waiting {
  /** As it is pushed. A change whose `user_id` is another user's is never sent. */
  change: Schemas['Change'] & { user_id: string; base: number }
  /** Null for a delete. */
  bookmark: PlaintextBookmark | null
  /** Whether the service may have it: it was sent at least once. */
  sent: boolean
}

/** A delete that another device made, kept back until the pull that brought it has ended, or until the user says yes. */
interface Held extends Version {
  /** The cursor before it came. */
  base: number
}

/** A version that did not open. */
interface Unreadable {
  event_id: string
  timestamp: number
  /** The cursor before it came. */
  base: number
}

/** Everything that is known of one bookmark. Rows are never changed in place. */
export interface Row {
  readonly id: string
  /** The newest version that the service is known to have. */
  readonly version: Version | null
  /** Edits made on top of it, oldest first: at most one that was sent, and one that was not. */
  readonly waiting: readonly Waiting[]
  readonly held: Held | null
  readonly unreadable: Unreadable | null
}

/** What is known beside the bookmarks. */
export interface Meta {
  readonly userId: string
  /** The stamp (Unix ms) up to which the service's changes were taken. */
  cursor: number
  /** What to add to this device's clock to have the service's (ms). */
  clockOffset: number
  /** The clock's last reading for an edit (Unix ms), so that readings rise strictly. */
  lastTick: number
  /** When the last pull ended (Unix ms); 0: never. */
  lastSync: number
  /** Whether deletes are held until the user says yes. */
  guarding: boolean
}

/** Rows and meta as they were stored; of a new store, `meta` is undefined. */
interface Stored {
  meta: Meta | undefined
  rows: Row[]
}

/**
 * Where the engine keeps the bookmarks of one user on this device, in the clear, and what was not sent yet. All methods
 * throw StorageFullError when there is no room.
 */
export interface Store {
  /** Whether other tabs open the same one: then the engine takes turns with them. */
  readonly shared: boolean
  load(): Promise<Stored>
  /** Those of these rows that exist, and the meta. */
  read(ids: readonly string[]): Promise<Stored>
  /** Writes all or nothing; resolves once it would survive a crash. A row of which nothing is known is removed. */
  write(rows: readonly Row[], meta: Meta): Promise<void>
  /** Removes everything. Nothing can be done with the store afterwards. */
  wipe(): Promise<void>
  close(): void
}
