import { randomUUID } from 'node:crypto'
import type { MadeBy, SeenUpTo, Verdict } from '../../protocol/decide.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Share } from '../db/engine/database.ts'
import type { Ciphertext } from '../db/tables/ciphertexts.ts'
import type { Rejection } from '../db/tables/conflicts.ts'
import type { EntityKey, RecordRow, Stored } from '../db/tables/records.ts'
import type { LockedUser } from '../db/tables/users.ts'
import type { VersionRow } from '../db/tables/versions.ts'

/** The only form in which a change comes in: REST, imports, restores and rewinds make one, too. */
export type Change = Schemas['Change']

/** A UUIDv7, of which the service makes thousands for an import. Node keeps random bytes in stock; the library asks the system for each. */
export function newId(): string {
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

/** The changes that somebody wants: of one user, in one transaction, wholly or not at all. */
export interface Intent<Wanted extends EntityKey & MadeBy = Change> extends Share {
  caller: Omit<Caller, 'deviceId'>
  /** By `entityKey`. Two intents that share one never share a transaction. */
  entities: ReadonlyMap<string, Wanted[]>
  /** The device that syncs with this write; undefined if none does, or none that is known. */
  syncedBy: string | undefined
  /** How many bytes the user used when it was first tried, if it runs again after room was made (sync/room.ts). */
  usedAtFirst?: number | undefined
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
  data_stamp: number
  bytes: number
  /** True if a kept version has it, and not just a deleted record. */
  isKept: boolean
  /** Of the version that is restored; null if only the deleted record has it. */
  seq: number | null
}

/** All that a write leaves: nothing else is stored. */
export interface Effects {
  records: RecordRow[]
  /** Those of them that replace a live record by a live one. */
  edits: RecordRow[]
  /** Versions that are replaced, and changes that have lost. */
  versions: VersionRow[]
  /** Of changes that have lost. */
  ciphertexts: Ciphertext[]
  /** The sequence numbers of ciphertexts that go. */
  removed: number[]
  /** Those of versions that are restored: what they have is current now, so that they go first if room is needed. */
  restored: number[]
  /** The entities that now have more versions than are kept of one, by `entityKey`, and how many more. */
  beyond: ReadonlyMap<string, number>
  /** Those whose record stays as it is, once for each version that stays of what it has lost. */
  recounted: EntityKey[]
  /** If no versions are kept: the entities whose conflict is over, and the conflicts that are new. */
  settled: EntityKey[]
  rejections: Rejection[]
  /** How much ciphertext it adds. */
  added: number
  /** The user's counters after it. */
  user: LockedUser
}

/** Stored for an intent. */
export interface Written {
  rows: RecordRow[]
  /** The user's last sequence number before it. */
  before: number
  epoch: string
  /** Of each entity, in their order. */
  verdicts: Decided[]
}
