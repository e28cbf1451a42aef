import { v7 as uuidv7 } from 'uuid'
import { PushRequest } from '../../../generated/limits.ts'
import { replace } from '../../protocol/decide.ts'
import { isEncryptedAnew } from '../../protocol/encrypted-anew.ts'
import { isSameContent } from '../../protocol/order.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Database, Trx } from '../db/engine/database.ts'
import { settleRestored } from '../db/tables/conflicts.ts'
import { type EntityKey, entityKey, listStored, type Stored } from '../db/tables/records.ts'
import { findCurrentAt, type VersionRow } from '../db/tables/versions.ts'
import { pause } from '../thread/loop.ts'
import type { Caller, Change, Decided } from './change.ts'
import { numberAt } from './numbers.ts'
import { isLive } from './rows.ts'
import { changeRecords, type WriteParts } from './write.ts'

export interface RewindParts extends WriteParts {
  database: WriteParts['database'] & Pick<Database, 'bulk'>
}

/** As many as a push may have changes. */
const maxEntities = PushRequest.changes.maxItems
/** Looking at so many takes some milliseconds. */
const entitiesAtOnce = 1000

type Fate = Exclude<keyof Schemas['RewindResponse'], 'next'>

/**
 * Makes entities what they were at a time, beginning after the one that `cursor` names. These changes count as having seen
 * what they replace, or every device would be told of as many conflicts.
 */
export async function rewind(
  parts: RewindParts,
  caller: Caller,
  { to, dry_run, cursor }: Schemas['RewindRequest'],
): Promise<Schemas['RewindResponse']> {
  const { userId, deviceId } = caller
  const until = await numberAt(parts.database.bulk, userId, to, parts.clock())
  const { result } = await changeRecords(parts, caller, async (trx, _, now) => {
    const counts: Record<Fate, number> = { restored: 0, deleted: 0, unchanged: 0, beyond_retention: 0 }
    const verdicts: Decided[] = []
    let last = toKey(cursor)
    let isMore = true
    for (let looked = 0; isMore && looked < maxEntities; looked += entitiesAtOnce) {
      await pause()
      const page = await listStored(trx, userId, last, entitiesAtOnce + 1)
      const entities = page.slice(0, entitiesAtOnce)
      const restored: number[] = []
      for (const { stored, version, fate } of await findFates(trx, userId, entities, until)) {
        counts[fate] += 1
        if (fate !== 'restored' && fate !== 'deleted') continue
        verdicts.push(rewound(stored, fate === 'restored' ? version : undefined, deviceId, now))
        if (version && fate === 'restored') restored.push(version.seq)
      }
      if (!dry_run) await settleRestored(trx, userId, restored, now)
      last = entities.at(-1) ?? last
      isMore = page.length > entities.length
    }
    const next = isMore ? `${last.entity_type}/${last.entity_id}` : null
    return { verdicts: dry_run ? [] : verdicts, result: { ...counts, next } }
  })
  return result
}

async function findFates(trx: Trx, userId: string, entities: Stored[], until: number) {
  const changed = entities.filter(({ stamp }) => stamp > until)
  const then = new Map(
    (await findCurrentAt(trx, userId, changed, until)).map((version) => [entityKey(version), version]),
  )
  return entities.map((stored) => {
    const version = then.get(entityKey(stored))
    return { stored, version, fate: fateOf(stored, version, until) }
  })
}

/** The fate of an entity, of which `version` was current then, if it is kept. */
function fateOf(stored: Stored, version: VersionRow | undefined, until: number): Fate {
  if (stored.stamp <= until) return 'unchanged'
  const isLater = stored.first_stamp !== null && stored.first_stamp > until
  if (!version && !isLater) return 'beyond_retention'
  if (!version || version.operation === 'delete') return isLive(stored) ? 'deleted' : 'unchanged'
  const isSame = isSameContent(stored, version) || isEncryptedAnew(stored.event_id, version.version_id)
  return isLive(stored) && isSame ? 'unchanged' : 'restored'
}

/** Back to the version, whose ciphertext it shares; without one, it is deleted. */
function rewound(stored: Stored, version: VersionRow | undefined, device_id: string, now: number): Decided {
  const { entity_type, entity_id } = stored
  const timestamp = Math.max(now, stored.timestamp + 1)
  const made = { entity_type, entity_id, id: uuidv7(), timestamp, device_id }
  if (!version) return replace(stored, { ...made, operation: 'delete' })
  const { data_hash, data_stamp, bytes } = version
  const change: Change = { ...made, operation: 'update', ...(data_hash !== null && { data_hash }) }
  return { ...replace(stored, change), shared: { data_stamp: data_stamp as number, bytes, isKept: true } }
}

/** Types have no slash, ids may. */
function toKey(cursor: string | undefined): EntityKey {
  const [type = '', ...id] = (cursor ?? '').split('/')
  return { entity_type: type as EntityKey['entity_type'], entity_id: id.join('/') }
}
