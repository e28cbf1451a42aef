import { v7 as uuidv7 } from 'uuid'
import type { Context } from '../context.ts'
import type { Schemas } from '../contract.ts'
import type { Row, StoredVersion } from '../db/records.ts'
import { lockUser } from '../db/users.ts'
import { ServiceError } from '../errors.ts'
import type { Device } from './push.ts'
import { writeWinners } from './write.ts'

type Content = Schemas['BookmarkContent']

/** A write over REST is a change that always wins: its time is after the stored one's, whatever the clocks. */
export async function createRecord(context: Context, device: Device, id: string, content: Content): Promise<Row> {
  return writeRecord(context, device, id, 'create', content, (stored) => {
    if (stored) throw new ServiceError('BookmarkExists')
  })
}

export async function updateRecord(context: Context, device: Device, id: string, content: Content): Promise<Row> {
  return writeRecord(context, device, id, 'update', content, assertLive)
}

export async function deleteRecord(context: Context, device: Device, id: string): Promise<void> {
  await writeRecord(context, device, id, 'delete', undefined, assertLive)
}

function assertLive(stored: StoredVersion | undefined): void {
  if (!stored || stored.deleted_at !== null) throw new ServiceError('BookmarkNotFound')
}

async function writeRecord(
  context: Context,
  device: Device,
  id: string,
  operation: Schemas['Operation'],
  content: Content | undefined,
  check: (stored: StoredVersion | undefined) => void,
): Promise<Row> {
  const row = await context.database.write(async (trx) => {
    const user = await lockUser(trx, device.userId)
    const [stored] = await context.database.findVersions(trx, user.id, [{ entity_type: 'bookmark', entity_id: id }])
    check(stored)
    const now = context.clock()
    const timestamp = Math.max(now, stored ? stored.timestamp + 1 : 0)
    const change = {
      entity_type: 'bookmark' as const,
      entity_id: id,
      operation,
      event_id: uuidv7(),
      timestamp,
      device_id: device.deviceId,
      encrypted_data: content?.encrypted_data ?? null,
      data_hash: content?.data_hash ?? null,
    }
    const [written] = await writeWinners(context, trx, user, now, [{ change, stored, createdAt: timestamp }])
    return written as Row
  })
  context.pulse.publishChange(device.userId)
  return row
}
