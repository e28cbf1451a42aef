import type { Db } from '../engine/database.ts'
import { lookup } from '../engine/lookup.ts'
import type { Answer, Placeholders } from '../engine/query.ts'
import { isOpen } from './conflicts.ts'
import { currentEpoch } from './epoch.ts'

/** The user's newest sequence number, and the epoch that it belongs to: all that a pull must know if nothing is new. */
export interface End {
  last_stamp: number
  epoch: string
}

/** How far a device has come, and how far there is to go. */
export interface Progress extends End {
  /** As in `devices`; null if the device is not known. */
  cursor: number | null
  last_sync: number | null
  /** The first winner over a version of the device in an open conflict: in `versions`, and in `rejections`. */
  first_winner: number | null
  first_rejecting: number | null
}

export function readEnd(db: Db, userId: string): Answer<End> {
  return end.one(db, { userId })
}

const end = lookup({ userId: 'text' }, (db, { userId }: Placeholders<{ userId: string }>) =>
  db.selectFrom('users').select(['last_stamp', currentEpoch]).where('id', '=', userId),
)

export function readProgress(db: Db, userId: string, deviceId: string): Answer<Progress> {
  return progress.one(db, { userId, deviceId })
}

const progress = lookup(
  { userId: 'text', deviceId: 'text' },
  (db, { userId, deviceId }: Placeholders<{ userId: string; deviceId: string }>) =>
    db
      .selectFrom('users')
      .leftJoin('devices', (join) =>
        join.onRef('devices.user_id', '=', 'users.id').on('devices.device_id', '=', deviceId),
      )
      .select(({ selectFrom }) => [
        'last_stamp',
        currentEpoch,
        'cursor',
        'last_sync',
        selectFrom('rejections')
          .select(({ fn }) => fn.min('winner_stamp').as('first'))
          .where('rejections.user_id', '=', userId)
          .where('rejections.device_id', '=', deviceId)
          .as('first_rejecting'),
        selectFrom('versions')
          .select(({ fn }) => fn.min('ended').as('first'))
          .where('versions.user_id', '=', userId)
          .where('versions.device_id', '=', deviceId)
          .where(isOpen)
          .as('first_winner'),
      ])
      .where('users.id', '=', userId),
)
