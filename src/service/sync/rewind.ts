import { PushRequest } from '../../../generated/limits.ts'
import { replace } from '../../protocol/decide.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Database, Db } from '../db/engine/database.ts'
import { settleRestored } from '../db/tables/conflicts.ts'
import { type EntityKey, entityKey, listStored, type Stored } from '../db/tables/records.ts'
import { findCurrentAt, type VersionRow } from '../db/tables/versions.ts'
import { pause } from '../thread/loop.ts'
import { type Caller, type Change, type Decided, newId } from './change.ts'
import { numberAt } from './numbers.ts'
import { isLive } from './rows.ts'
import { changeRecords, type WriteParts } from './write.ts'

export interface RewindParts extends WriteParts {
  database: WriteParts['database'] & Pick<Database, 'bulk'>
}

/** As many as a push may have changes. */
const maxEntities = PushRequest.changes.maxItems
/** Rewinding so many is a transaction of some milliseconds, between which others write. */
const entitiesAtOnce = 500

type Fate = Exclude<keyof Schemas['RewindResponse'], 'next'>

/**
 * Makes entities what they were at a time, beginning after the one that `cursor` names, some at a time: if it is interrupted,
 * what is done stays done. These changes count as having seen what they replace, or every device would be told of as many
 * conflicts.
 */
export async function rewind(
  parts: RewindParts,
  caller: Caller,
  { to, dry_run, cursor }: Schemas['RewindRequest'],
): Promise<Schemas['RewindResponse']> {
  const from = readCursor(cursor)
  // The greater part of the history may be later than `to`: it is looked through once.
  const until = from.until ?? (await numberAt(parts.database.bulk, caller.userId, to, parts.clock()))
  const counts: Record<Fate, number> = { restored: 0, deleted: 0, unchanged: 0, beyond_retention: 0 }
  let after: EntityKey | undefined = from.after
  for (let looked = 0; after && looked < maxEntities; looked += entitiesAtOnce) {
    await pause()
    const step: Step = dry_run
      ? await findFates(parts.database.bulk, caller.userId, after, until)
      : await rewindSome(parts, caller, after, until)
    for (const { fate } of step.fates) counts[fate] += 1
    after = step.next
  }
  return { ...counts, next: after ? `${until}/${after.entity_type}/${after.entity_id}` : null }
}

interface Step {
  fates: { stored: Stored; version: VersionRow | undefined; fate: Fate }[]
  /** The last of its entities, if there are more. */
  next: EntityKey | undefined
}

async function rewindSome(parts: RewindParts, caller: Caller, after: EntityKey, until: number): Promise<Step> {
  const { userId, deviceId } = caller
  const { result } = await changeRecords(parts, caller, async (trx, _, now) => {
    const step = await findFates(trx, userId, after, until)
    const restored = step.fates.flatMap(({ version, fate }) => (version && fate === 'restored' ? [version.seq] : []))
    await settleRestored(trx, userId, restored, now)
    const verdicts = step.fates.flatMap(({ stored, version, fate }) => {
      if (fate !== 'restored' && fate !== 'deleted') return []
      return [rewound(stored, fate === 'restored' ? version : undefined, deviceId, now)]
    })
    return { verdicts, result: step }
  })
  return result
}

/** The fates of some entities after that one. */
async function findFates(db: Db, userId: string, after: EntityKey, until: number): Promise<Step> {
  const page = await listStored(db, { userId, ...after, limit: entitiesAtOnce + 1 })
  const entities = page.slice(0, entitiesAtOnce)
  const changed = entities.filter(({ stamp }) => stamp > until)
  const then = new Map(
    (await findCurrentAt(db, userId, changed, until)).map((version) => [entityKey(version), version]),
  )
  const fates = entities.map((stored) => {
    const version = then.get(entityKey(stored))
    return { stored, version, fate: fateOf(stored, version, until) }
  })
  return { fates, next: page.length > entities.length ? entities.at(-1) : undefined }
}

/**
 * The fate of an entity, of which `version` was current then, if it is kept. Only the ciphertext tells that it still is:
 * hashes and event ids are what a client says.
 */
function fateOf(stored: Stored, version: VersionRow | undefined, until: number): Fate {
  if (stored.stamp <= until) return 'unchanged'
  const isLater = stored.first_stamp !== null && stored.first_stamp > until
  if (!version && !isLater) return 'beyond_retention'
  if (!version || version.operation === 'delete') return isLive(stored) ? 'deleted' : 'unchanged'
  return isLive(stored) && stored.data_stamp === version.data_stamp ? 'unchanged' : 'restored'
}

/** Back to the version, whose ciphertext it shares; without one, it is deleted. */
function rewound(stored: Stored, version: VersionRow | undefined, device_id: string, now: number): Decided {
  const { entity_type, entity_id } = stored
  const timestamp = Math.max(now, stored.timestamp + 1)
  const made = { entity_type, entity_id, id: newId(), timestamp, device_id }
  if (!version) return replace(stored, { ...made, operation: 'delete' })
  const { data_hash, data_stamp, bytes, seq } = version
  const change: Change = { ...made, operation: 'update', ...(data_hash !== null && { data_hash }) }
  return { ...replace(stored, change), shared: { data_stamp: data_stamp as number, bytes, isKept: true, seq } }
}

/** As the contract has it. Earlier releases gave none with a sequence number. */
function readCursor(cursor = '/'): { until: number | undefined; after: EntityKey } {
  const [, until, type, id] = /^(?:(\d+)\/)?([a-z]*)\/(.*)$/.exec(cursor) ?? []
  return {
    until: until === undefined ? undefined : Math.min(Number(until), Number.MAX_SAFE_INTEGER),
    after: { entity_type: type as EntityKey['entity_type'], entity_id: id as string },
  }
}
