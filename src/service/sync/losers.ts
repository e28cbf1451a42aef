import { quotas } from '../../../generated/limits.ts'
import { editOf, isReencrypted } from '../../protocol/re-encrypted.ts'
import type { Trx } from '../db/engine/database.ts'
import type { Ciphertext } from '../db/tables/ciphertexts.ts'
import { type EntityKey, entityKey, type RecordRow } from '../db/tables/records.ts'
import { type EventRange, findByEvents, type VersionIdentity, type VersionRow } from '../db/tables/versions.ts'
import type { Change, Decided } from './change.ts'
import type { Commit } from './numbers.ts'

interface Loser {
  change: Change
  /** The version that won. */
  current: Pick<RecordRow, 'stored_at' | 'event_id'>
}

/**
 * Makes versions of the changes that lost, at most `most` per entity, each with its own sequence number. Leaves out
 * those that are kept already. An entity has no record, and so no versions, if its tombstone exceeded the quota.
 */
export async function keepLosers(
  trx: Trx,
  userId: string,
  verdicts: Decided[],
  { records, replaced }: { records: RecordRow[]; replaced: VersionRow[] },
  commit: Commit,
  most: number,
): Promise<{ versions: VersionRow[]; ciphertexts: Ciphertext[] }> {
  const written = new Map(records.map((row) => [entityKey(row), row]))
  const losers = verdicts.flatMap(({ lost, stored }) =>
    [...lost.keys()].flatMap((change): Loser[] => {
      const current = written.get(entityKey(change)) ?? stored
      return current ? [{ change, current }] : []
    }),
  )
  const kept = await findByEvents(trx, userId, fewRanges(losers.map(eventsOf)))
  const left = fewOfEach(withoutKept(losers, [...kept, ...replaced]), most)
  const versions = left.map((loser) => toRejected(userId, commit.next(), commit, loser))
  const ciphertexts = left.flatMap(({ change: { encrypted_data } }, index) => {
    const { data_sequence } = versions[index] as VersionRow
    return data_sequence === null || encrypted_data === undefined
      ? []
      : [{ user_id: userId, sequence: data_sequence, encrypted_data }]
  })
  return { versions, ciphertexts }
}

/** The event id of a change, or of a re-encrypted one the range of ids that its edit has under all keys of the user. */
function eventsOf({ change: { entity_type, entity_id, id } }: Loser): EventRange {
  const edit = editOf(id)
  return { entity_type, entity_id, ...(edit === id ? { first: id, last: id } : { first: edit, last: `${edit}~~` }) }
}

/** If an entity has too many ranges, replaces them by one that spans all. That one may also contain other events. */
function fewRanges(ranges: EventRange[]): EventRange[] {
  const ofEach = Map.groupBy(ranges, entityKey)
  if (ofEach.size === ranges.length) return ranges
  return [...ofEach.values()].flatMap((ofOne) => (ofOne.length > quotas.versionsOfRecord ? [spanning(ofOne)] : ofOne))
}

function spanning(ranges: EventRange[]): EventRange {
  const all = { ...(ranges[0] as EventRange) }
  for (const { first, last } of ranges) {
    if (first < all.first) all.first = first
    if (last > all.last) all.last = last
  }
  return all
}

/** Keeps the first and the newest of an entity's losers; the others would be erased again at once. */
function fewOfEach(losers: Loser[], most: number): Loser[] {
  if (losers.length <= most) return losers
  const newest = quotas.newestVersionsOfRecord
  const ofEach = Map.groupBy(losers, ({ change }) => entityKey(change))
  const tooMany = [...ofEach.values()].flatMap((ofOne) =>
    ofOne.slice(most - newest, Math.max(most, ofOne.length) - newest),
  )
  const erased = new Set(tooMany)
  return losers.filter((loser) => !erased.has(loser))
}

/** A version for a change that lost. Its ciphertext gets the version's own sequence number. */
function toRejected(
  user_id: string,
  sequence: number,
  { at, behind }: Pick<Commit, 'at' | 'behind'>,
  { change, current }: Loser,
): VersionRow {
  const data = change.operation === 'delete' ? undefined : change.encrypted_data
  return {
    user_id,
    sequence,
    stored_at: at,
    behind,
    entity_type: change.entity_type,
    entity_id: change.entity_id,
    version_id: change.id,
    operation: change.operation,
    timestamp: change.timestamp,
    device_id: change.device_id,
    data_hash: (change.operation === 'delete' ? undefined : change.data_hash) ?? null,
    began: null,
    began_at: null,
    ended_at: current.stored_at,
    reason: 'rejected',
    replaced_by: current.event_id,
    settled_at: null,
    was_deleted: 0,
    bytes: data?.length ?? 0,
    data_sequence: data === undefined ? null : sequence,
  }
}

/** Leaves out losers that are kept already, perhaps under an older key: repeating a push changes nothing. */
function withoutKept(losers: Loser[], kept: VersionIdentity[]): Loser[] {
  const known = new Set(kept.map(versionKey))
  const edits = new Set(kept.map(({ version_id, ...entity }) => editKey(entity, version_id)))
  return losers.filter((loser) => {
    const { change } = loser
    if (isReencrypted(change.id, editOf(change.id)) && edits.has(editKey(change, change.id))) return false
    const key = versionKey(toRejected('', 0, { at: 0, behind: 0 }, loser))
    if (known.has(key)) return false
    known.add(key)
    return true
  })
}

/** An event id alone is not unique. A stored delete has the hash of what it deleted, which the pushed change lacks. */
function versionKey(version: VersionIdentity): string {
  const { version_id, operation, timestamp, device_id, data_hash } = version
  const hash = operation === 'delete' ? null : data_hash
  return JSON.stringify([entityKey(version), version_id, operation, timestamp, device_id, hash])
}

function editKey(entity: EntityKey, eventId: string): string {
  return JSON.stringify([entityKey(entity), editOf(eventId)])
}
