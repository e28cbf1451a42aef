import { randomUUID } from 'node:crypto'
import type { MadeBy, SeenUpTo, Verdict } from '../../protocol/decide.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Ciphertext } from '../db/tables/ciphertexts.ts'
import type { EntityKey, RecordRow, Stored } from '../db/tables/records.ts'
import type { LockedUser } from '../db/tables/users.ts'
import type { VersionRow } from '../db/tables/versions.ts'

/** The only form in which a change comes in: REST, imports, restores and rewinds make one, too. */
export type Change = Schemas['Change']

/** A UUIDv7. Node keeps random UUIDs in stock; `uuid` asks for random bytes each time, which takes as long as a query. */
export function newEventId(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

/** Makes a request: the signed-in user's device. */
export interface Caller {
  userId: string
  loginId: string
  /** As in `X-Device-ID`. */
  deviceId: string
}

/** Stands for every device that does not send its id, so nothing is stored about it. */
export const unknownDevice = 'unknown'

/** Changes of one user, written in one transaction, all or none. */
export interface Intent<Wanted extends EntityKey & MadeBy = Change> {
  caller: Omit<Caller, 'deviceId'>
  /** Keyed by `entityKey`. */
  entities: ReadonlyMap<string, Wanted[]>
  /** The device that syncs with this write; undefined if none does, or none that is known. */
  syncedBy: string | undefined
  /** Gets what is wanted of one entity. It reads and writes nothing, and may run again. Throws if the intent is refused. */
  decide(wanted: Wanted[], stored: Stored | undefined, seenUpTo: SeenUpTo): Decided
}

/** The verdict about an entity, with what no device may say of a change. */
export interface Decided extends Verdict<Stored> {
  /** If the entity is new: when it was created, instead of the change's time. */
  createdAt?: number
  /** The stored ciphertext that the winner shares with the version that it restores. It has no other then. */
  shared?: SharedData
}

export interface SharedData {
  data_sequence: number
  bytes: number
  /** The sequence number of the version that is restored. */
  sequence: number
}

/** All that a write leaves: nothing else is stored. */
export interface Effects {
  records: RecordRow[]
  /** The written records that replace a live record by a live one. */
  edits: RecordRow[]
  /** Versions that are replaced, and changes that have lost. */
  versions: VersionRow[]
  /** The ciphertexts of changes that lost. */
  ciphertexts: Ciphertext[]
  /** Replaced records whose ciphertext goes at once. */
  erased: Stored[]
  /** Sequence numbers of versions that are restored: their content is current now, so they go first if room is needed. */
  restored: number[]
  /** Entities that now have more versions than are kept of one, and how many more. */
  beyond: (EntityKey & { count: number })[]
  /** The entities whose record stays as it is, once for each version that stays of what it has lost. */
  recounted: EntityKey[]
  /** Bytes of ciphertext that it adds, all together and by what has won. */
  added: { all: number; won: number }
  /** The user's counters after it. */
  user: LockedUser
}

/** Stored for an intent. */
export interface Written {
  rows: RecordRow[]
  /** The user's last sequence number before it. */
  before: number
  epoch: string
  /** The verdicts of each entity, in their order. */
  verdicts: Decided[]
}
