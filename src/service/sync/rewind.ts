import { replace } from '../../protocol/decide.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Database, Db } from '../db/engine/database.ts'
import { type EntityKey, entityKey, listStored, type Stored } from '../db/tables/records.ts'
import { findCurrentAt, type VersionRow } from '../db/tables/versions.ts'
import type { Gate } from '../load/gate.ts'
import { type Caller, type Change, type Decided, newEventId } from './change.ts'
import { numberAt } from './numbers.ts'
import { isLive, keepsVersions } from './rows.ts'
import { changeRecords, type WriteParts } from './write.ts'

export interface RewindParts extends WriteParts {
  database: WriteParts['database'] & Pick<Database, 'bulk'>
  gate: Pick<Gate, 'heavy'>
}

/** Entities per request. Few enough for one transaction. */
const maxEntities = 500

type RewindOutcome = Exclude<keyof Schemas['RewindResponse'], 'next'>

/**
 * Restores entities as they were at a time, starting after the one that `cursor` names. These changes count as having
 * seen what they replace, because otherwise every device would report as many conflicts.
 */
export async function rewind(
  parts: RewindParts,
  caller: Caller,
  { to, dry_run, cursor }: Schemas['RewindRequest'],
): Promise<Schemas['RewindResponse']> {
  // Most of the history may be later than `to`. Only the first request searches it; the cursor keeps the result.
  const from = cursor === undefined ? await startAt(parts, caller, to) : readCursor(cursor)
  const { fates, next } = dry_run
    ? await parts.gate.heavy.run(caller.userId, () => findFates(parts.database.bulk, caller.userId, from))
    : await rewindSome(parts, caller, from)
  const counts: Record<RewindOutcome, number> = { restored: 0, deleted: 0, unchanged: 0, beyond_retention: 0 }
  for (const { fate } of fates) counts[fate] += 1
  return { ...counts, next: next ? `${from.until}/${next.entity_type}/${next.entity_id}` : null }
}

/** The position in a rewind: the sequence number to go back to, and the entity to continue after. */
interface Place {
  until: number
  after: EntityKey
}

async function startAt({ database, clock, gate }: RewindParts, { userId }: Caller, to: number): Promise<Place> {
  const until = await numberAt(database.bulk, userId, to, clock(), (read) => gate.heavy.run(userId, read))
  return { until, after: { entity_type: '' as EntityKey['entity_type'], entity_id: '' } }
}

interface Step {
  fates: { stored: Stored; version: VersionRow | undefined; fate: RewindOutcome }[]
  /** The last of these entities, if there are more. */
  next: EntityKey | undefined
}

async function rewindSome(parts: RewindParts, caller: Caller, from: Place): Promise<Step> {
  const { userId, deviceId } = caller
  const { result } = await changeRecords(
    parts,
    caller,
    async (trx, _, now) => {
      const step = await findFates(trx, userId, from)
      const settled = step.fates.flatMap(({ version, fate }) =>
        version && fate === 'restored' ? [version.sequence] : [],
      )
      const verdicts = step.fates.flatMap(({ stored, version, fate }) => {
        if (fate !== 'restored' && fate !== 'deleted') return []
        return [rewound(stored, fate === 'restored' ? version : undefined, deviceId, now)]
      })
      return { verdicts, settled, result: step }
    },
    { isLarge: true },
  )
  return result
}

/** Decides about the next entities. */
async function findFates(db: Db, userId: string, { after, until }: Place): Promise<Step> {
  const page = await listStored(db, { userId, ...after, limit: maxEntities + 1 })
  const entities = page.slice(0, maxEntities)
  const changed = entities.filter(({ sequence }) => sequence > until)
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
 * Decides about an entity. `version` is the one that was current at the time, if it is kept. Only a shared ciphertext
 * proves that this version is current again, because clients choose hashes and event ids.
 */
function fateOf(stored: Stored, version: VersionRow | undefined, until: number): RewindOutcome {
  if (stored.sequence <= until || !keepsVersions(stored)) return 'unchanged'
  if (!version && stored.first_sequence <= until) return 'beyond_retention'
  if (!version || version.operation === 'delete') return isLive(stored) ? 'deleted' : 'unchanged'
  return isLive(stored) && stored.data_sequence === version.data_sequence ? 'unchanged' : 'restored'
}

/** Goes back to the version and shares its ciphertext. Deletes the entity if there is no version. */
function rewound(stored: Stored, version: VersionRow | undefined, device_id: string, now: number): Decided {
  const { entity_type, entity_id } = stored
  const timestamp = Math.max(now, stored.timestamp + 1)
  const made = { entity_type, entity_id, id: newEventId(), timestamp, device_id }
  if (!version) return replace(stored, { ...made, operation: 'delete' })
  const { data_hash, data_sequence, bytes, sequence } = version
  const change: Change = { ...made, operation: 'update', ...(data_hash !== null && { data_hash }) }
  return { ...replace(stored, change), shared: { data_sequence: data_sequence as number, bytes, sequence } }
}

/** The contract's pattern has validated the cursor. */
function readCursor(cursor: string): Place {
  const [, until, type, id] = /^(\d+)\/([a-z]+)\/(.*)$/.exec(cursor) ?? []
  return {
    until: Math.min(Number(until), Number.MAX_SAFE_INTEGER),
    after: { entity_type: type as EntityKey['entity_type'], entity_id: id as string },
  }
}
