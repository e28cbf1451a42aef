import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import type { components } from '../../../generated/openapi.ts'
import { hexValue, toDigest } from '../../protocol/digest.ts'
import type { FakeRecords } from './fake-records.ts'
import { isOpen } from './fake-versions.ts'

type Schemas = components['schemas']

/** The status of a device or, without one, of all devices together. */
export function statusOf(user_id: string, records: FakeRecords, deviceId: string | undefined): Schemas['SyncStatus'] {
  const { all } = records.devices
  const those = deviceId === undefined ? all : all.filter(({ id }) => id === deviceId)
  const cursor = Math.max(0, ...those.map((device) => device.cursor))
  const live = records.entities.filter(({ operation }) => operation !== 'delete')
  return {
    user_id,
    last_sync: Math.max(0, ...those.map(({ lastSync }) => lastSync)),
    pending_changes: pendingOf(records, { id: deviceId, cursor }),
    conflict_count: records.kept.filter(isOpen).length,
    total_bookmarks: live.filter(({ entity_type }) => entity_type === 'bookmark').length,
    epoch: records.epoch,
    digest: toDigest(live.reduce((sum, { data_hash }) => sum + digestValue(data_hash ?? ''), 0n)),
  }
}

export function devicesOf(records: FakeRecords, current: string): Schemas['Device'][] {
  return records.devices.all.map(({ id, cursor, lastSync }) => ({
    id,
    last_seen: lastSync,
    pending_changes: pendingOf(records, { id, cursor }),
    current: id === current,
  }))
}

/** Ciphertexts that versions share count once. */
export function usageOf(records: FakeRecords): Schemas['AccountUsage'] {
  const live = records.entities.filter(({ operation }) => operation !== 'delete').map(({ data }) => data)
  const bytesOf = (texts: typeof live) => [...new Set(texts)].reduce((sum, data) => sum + (data?.text.length ?? 0), 0)
  const bytes = bytesOf([...live, ...records.entities.map(({ data }) => data), ...records.kept.map(({ data }) => data)])
  const devices = records.devices.all.length
  return { bytes, records: records.entities.length, version_bytes: bytes - bytesOf(live), export_bytes: 0, devices }
}

/** Changes of other devices after the cursor. */
function pendingOf(records: FakeRecords, { id, cursor }: { id: string | undefined; cursor: number }): number {
  return records.entities.filter(({ stamp, device_id }) => stamp > cursor && device_id !== id).length
}

function digestValue(hash: string): bigint {
  return hexValue(hash) ?? hexValue(bytesToHex(sha256(utf8ToBytes(hash)))) ?? 0n
}
