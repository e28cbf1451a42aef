import { sql } from 'kysely'
import { ConfigError } from '../config/values.ts'
import type { Database } from '../db/database.ts'

/** Machines that synchronize their clocks differ by far less. Beyond this, what expires would be removed too early. */
export const maxDriftMs = 60_000

type Clocked = Pick<Database, 'db' | 'now'>

/** How far this machine's clock is ahead of the database's, which all instances share. */
export async function readDriftMs({ db, now }: Clocked): Promise<number> {
  const askedAt = Date.now()
  const { rows } = await sql<{ at: number }>`select ${now} as at`.execute(db)
  return Math.round((askedAt + Date.now()) / 2 - Number(rows[0]?.at))
}

/** A wrong clock at the start would end everybody's sessions, or remove them. */
export async function demandSameTime(database: Clocked): Promise<void> {
  const driftMs = await readDriftMs(database)
  if (Math.abs(driftMs) > maxDriftMs) {
    throw new ConfigError(`DATABASE_URL: ${describeDrift(driftMs)}; synchronize both clocks`)
  }
}

export function describeDrift(driftMs: number): string {
  const seconds = Math.abs(Math.round(driftMs / 1000))
  return `this machine's clock is ${seconds} s ${driftMs > 0 ? 'ahead of' : 'behind'} the database's`
}
