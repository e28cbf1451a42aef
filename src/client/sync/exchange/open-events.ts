import { compareVersions } from '../../../protocol/versions.ts'
import type { Keys } from '../../crypto/keys.ts'
import { decryptBookmarkAside } from '../../crypto/record.ts'
import { RecordError } from '../../errors.ts'
import { paced } from '../../timing/paced.ts'
import type { Replica } from '../store/replica.ts'
import { versionOf } from '../store/row.ts'
import type { Row, Version } from '../store/store.ts'
import { markOf, missesKeys } from './key-marks.ts'
import type { Progress } from './progress.ts'
import type { SyncEvent, Transport } from './transport.ts'

export interface OpenParts {
  transport: Transport
  replica: Replica
  keys: Keys
  progress: Progress
}

/** An event with its decrypted content, or with the reason why it cannot be decrypted. */
export interface OpenedEvent {
  event: SyncEvent
  version: Version
  fault?: RecordError
}

/**
 * Decrypts events without blocking the page. Versions that are already known are not decrypted again.
 *
 * @throws RecordError `unknown-key`: the keys were rotated, and this device does not have the new ones
 */
export async function openEvents(
  { keys, replica, progress, transport }: OpenParts,
  events: readonly SyncEvent[],
  signal: AbortSignal,
): Promise<OpenedEvent[]> {
  const opened: Promise<OpenedEvent>[] = []
  const open = (event: SyncEvent) => {
    opened.push(openEvent(event))
    progress.advance(1)
  }
  progress.expect(events.length)
  await paced(events, open, signal)
  const all = await Promise.all(opened)
  const strange = all.find(({ fault }) => fault?.fault === 'unknown-key')
  if (strange && (await missesKeys(keys, transport, signal))) throw strange.fault
  return all

  async function openEvent(event: SyncEvent): Promise<OpenedEvent> {
    const version = { ...toVersion(event), ...markOf(keys, event) }
    if (event.operation === 'delete' || isKnown(replica.rows.get(event.entity_id), version)) return { event, version }
    const { entity_id: id, encrypted_data = '', data_hash = '' } = event
    try {
      const bookmark = await decryptBookmarkAside(keys, { id, encrypted_data, data_hash })
      return { event, version: { ...version, bookmark } }
    } catch (fault) {
      if (!(fault instanceof RecordError)) throw fault
      return { event, version, fault }
    }
  }
}

function toVersion(event: SyncEvent): Version {
  const { id, timestamp, device_id, operation, data_hash = null, overwritten } = event
  const isDelete = operation === 'delete'
  return {
    event_id: id,
    timestamp,
    device_id,
    operation,
    data_hash: isDelete ? null : data_hash,
    bookmark: null,
    confirmed: true,
    ...(overwritten && { overwritten }),
  }
}

/** Rows never go back to an older version, so what is known now will still be known when the event is merged. */
function isKnown(row: Row | undefined, version: Version): boolean {
  const [first] = row?.waiting ?? []
  const known = [row?.version, first && versionOf(first)]
  return known.some((one) => one && compareVersions(one, version) === 0)
}
