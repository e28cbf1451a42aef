import { randomUUID } from 'node:crypto'
import type { MadeBy, SeenUpTo, Verdict } from '../../protocol/decide.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Ciphertext } from '../db/tables/ciphertexts.ts'
import type { EntityKey, RecordRow, Stored } from '../db/tables/records.ts'
import type { LockedUser } from '../db/tables/users.ts'
import type { VersionRow } from '../db/tables/versions.ts'

/** The form of every change. REST, imports, restores and rewinds produce it, too. */
export type Change = Schemas['Change']

/** A UUIDv7. `randomUUID` caches random bytes. The package `uuid` requests them each time, as slow as a query. */
export function newEventId(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

/** The caller of a request: the signed-in user's device. */
export interface Caller {
  userId: string
  loginId: string
  /** As in `X-Device-ID`; without that header, `unknownDevice`. */
  deviceId: string
}

/** Used for every device that does not send its id, so `devices` has no row for it. */
export const unknownDevice = 'unknown'

/** Changes of one user, decided and stored in one transaction. */
export interface Intent<Wanted extends EntityKey & MadeBy = Change> {
  caller: Omit<Caller, 'deviceId'>
  /** Keyed by `entityKey`. */
  entities: ReadonlyMap<string, Wanted[]>
  /** The device whose `last_sync` this write sets. None is set if this is undefined or `unknownDevice`. */
  syncedBy: string | undefined
  /** Decides about the changes of one entity, without reading or writing. May run again. Throws to refuse the write. */
  decide(wanted: Wanted[], stored: Stored | undefined, seenUpTo: SeenUpTo): Decided
}

/** The verdict about an entity, with properties that a change does not have. */
export interface Decided extends Verdict<Stored> {
  /** If the entity is new: its creation time, instead of the change's time. */
  createdAt?: number
  /** The ciphertext that the winner shares with the version it restores, instead of one of its own. */
  shared?: SharedData
}

export interface SharedData {
  data_sequence: number
  bytes: number
  /** The sequence number of the restored version. */
  sequence: number
}

/** The effects of a write on records, versions, ciphertexts and the user's counters. */
export interface Effects {
  records: RecordRow[]
  /** Records that were live before and still are. */
  edits: RecordRow[]
  /** Versions that were replaced, and changes that lost. */
  versions: VersionRow[]
  /** The ciphertexts of changes that lost. */
  ciphertexts: Ciphertext[]
  /** Replaced live records of types without versions, with long ciphertexts, which are stored apart and erased. */
  erased: Stored[]
  /** Sequence numbers of restored versions, which are current now and so are erased first if room is needed. */
  restored: number[]
  /** Entities with too many versions, and how many too many. */
  beyond: (EntityKey & { count: number })[]
  /** Entities whose record stays the same, once for each version that it gains by a change that lost. */
  recounted: EntityKey[]
  /** Bytes of ciphertext added: of all changes, and of the winners. */
  added: { all: number; won: number }
  /** The user's counters after the write. */
  user: LockedUser
}

/** The result of writing an intent. */
export interface Written {
  rows: RecordRow[]
  /** The user's last sequence number before the write. */
  before: number
  epoch: string
  /** The verdicts in the order of the entities. */
  verdicts: Decided[]
}
