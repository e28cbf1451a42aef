import { editOf } from '../../../protocol/sealed-anew.ts'
import type { Keys } from '../../crypto/keys.ts'
import type { SealedRecord } from '../../crypto/record.ts'
import type { EditParts } from '../edits/queue.ts'
import type { Change } from '../exchange/transport.ts'
import type { Row, Version } from '../store/store.ts'

export type Resealed = Change & { base: number }

interface Content {
  id: string
  version: Version
  content: SealedRecord
  isHerald: boolean
}

/** The service's limit. */
const longestId = 128

/**
 * The version under the newest key. To the service, it is the same version by the same device with a greater event id:
 * whoever edits the bookmark meanwhile has a later timestamp and wins, a device that is told of a version that was overwritten
 * unseen recognizes its own, and devices that do this at once send the same event.
 */
export function toChange(parts: EditParts, { id, version, content, isHerald }: Content, newId: () => string): Resealed {
  const { keys, userId, replica } = parts
  return {
    ...(sealedAnew(keys, version) ?? { ...ownEdit(parts, version), id: newId() }),
    ...(isHerald && ownEdit(parts, version)),
    ...{ user_id: userId, entity_type: 'bookmark', entity_id: id, operation: 'update', base: replica.meta.cursor },
    ...content,
  }
}

/**
 * The realtime channel does not bring a device its own changes. If all bookmarks are another device's, it would hear nothing
 * of the rotation, so one of them is sent as a change of this device.
 */
export function needsHerald({ deviceId }: EditParts, stale: readonly Row[]): boolean {
  const makers = new Set(stale.map(({ version }) => version?.device_id))
  return makers.size === 1 && !makers.has(deviceId)
}

type Identity = Pick<Change, 'id' | 'timestamp' | 'device_id'>

/** Undefined if no event id can say it. */
function sealedAnew(keys: Keys, { event_id, timestamp, device_id }: Version): Identity | undefined {
  let rotations = 0
  for (let { older } = keys; older; { older } = older) rotations++
  const id = `${editOf(event_id)}~${String(rotations).padStart(3, '0')}`
  return id > event_id && id.length <= longestId ? { id, timestamp, device_id } : undefined
}

function ownEdit({ deviceId }: EditParts, { timestamp }: Version): Omit<Identity, 'id'> {
  return { timestamp: timestamp + 1, device_id: deviceId }
}
