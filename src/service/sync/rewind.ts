import { v7 as uuidv7 } from 'uuid'
import { isSealedAnew } from '../../protocol/sealed-anew.ts'
import { isSameContent } from '../../protocol/versions.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Trx } from '../db/engine/database.ts'
import { settleRestored } from '../db/tables/conflicts.ts'
import { type EntityKey, entityKey, listStored, type Stored } from '../db/tables/records.ts'
import { findCurrentAt, type VersionRow } from '../db/tables/versions.ts'
import { pause } from '../thread/loop.ts'
import type { Device } from './device.ts'
import { isLive, type Replacement, type Winner } from './replacement.ts'
import { changeRecords, type WriteParts } from './write.ts'

export interface RewindParts extends WriteParts {
  clock: () => number
}

/** As many as a push has changes. */
const maxEntities = 10_000
/** Looking at so many takes some milliseconds. */
const entitiesAtOnce = 1000

type Fate = Exclude<keyof Schemas['RewindResponse'], 'next'>

/**
 * Makes entities what they were at a time, beginning after the one that `cursor` names. These changes count as having seen
 * what they replace, or every device would be told of as many conflicts.
 */
export async function rewind(
  parts: RewindParts,
  { userId, loginId, deviceId }: Device,
  { to, dry_run, cursor }: Schemas['RewindRequest'],
): Promise<Schemas['RewindResponse']> {
  const now = parts.clock()
  const { result } = await changeRecords(parts, { userId, loginId, now }, async (trx) => {
    const counts: Record<Fate, number> = { restored: 0, deleted: 0, unchanged: 0, beyond_retention: 0 }
    const replacements: Replacement[] = []
    let last = toKey(cursor)
    let isMore = true
    for (let looked = 0; isMore && looked < maxEntities; looked += entitiesAtOnce) {
      await pause()
      const page = await listStored(trx, userId, last, entitiesAtOnce + 1)
      const entities = page.slice(0, entitiesAtOnce)
      const restored: number[] = []
      for (const { stored, version, fate } of await findFates(trx, userId, entities, to)) {
        counts[fate] += 1
        if (fate !== 'restored' && fate !== 'deleted') continue
        const made = { event_id: uuidv7(), timestamp: Math.max(now, stored.timestamp + 1), device_id: deviceId }
        const content = fate === 'deleted' ? deletion : contentOf(version as VersionRow)
        replacements.push({ entity: stored, stored, winner: { ...made, ...content, createdAt: now } })
        if (version && fate === 'restored') restored.push(version.seq)
      }
      if (!dry_run) await settleRestored(trx, userId, restored, now)
      last = entities.at(-1) ?? last
      isMore = page.length > entities.length
    }
    const next = isMore ? `${last.entity_type}/${last.entity_id}` : null
    return { replacements: dry_run ? [] : replacements, result: { ...counts, next } }
  })
  return result
}

async function findFates(trx: Trx, userId: string, entities: Stored[], to: number) {
  const changed = entities.filter(({ stamp }) => stamp > to)
  const ids = [...new Set(changed.map(({ entity_id }) => entity_id))]
  const then = new Map((await findCurrentAt(trx, userId, ids, to)).map((version) => [entityKey(version), version]))
  return entities.map((stored) => {
    const version = then.get(entityKey(stored))
    return { stored, version, fate: fateOf(stored, version, to) }
  })
}

/** What becomes of an entity, of which `version` was current then, if it is kept. */
function fateOf(stored: Stored, version: VersionRow | undefined, to: number): Fate {
  if (stored.stamp <= to) return 'unchanged'
  const isLater = stored.first_stamp !== null && stored.first_stamp > to
  if (!version && !isLater) return 'beyond_retention'
  if (!version || version.operation === 'delete') return isLive(stored) ? 'deleted' : 'unchanged'
  const isSame = isSameContent(stored, version) || isSealedAnew(stored.event_id, version.version_id)
  return isLive(stored) && isSame ? 'unchanged' : 'restored'
}

type Content = Pick<Winner, 'operation' | 'encrypted_data' | 'data_hash' | 'restored'>

const deletion = { operation: 'delete', encrypted_data: null, data_hash: null } as const satisfies Content

function contentOf({ data_hash, data_stamp, bytes }: VersionRow): Content {
  const restored = { data_stamp: data_stamp as number, bytes, isKept: true }
  return { operation: 'update', encrypted_data: null, data_hash, restored }
}

/** Types have no slash, ids may. */
function toKey(cursor: string | undefined): EntityKey {
  const [type = '', ...id] = (cursor ?? '').split('/')
  return { entity_type: type as EntityKey['entity_type'], entity_id: id.join('/') }
}
