import { sql } from 'kysely'
import { ConfigError } from '../config/values.ts'
import type { Database } from '../db/engine/database.ts'

/** Machines that synchronize their clocks differ by far less. Beyond this, what expires would be removed too early. */
const maxDriftMs = 60_000

export function isTooFar(driftMs: number): boolean {
  return Math.abs(driftMs) > maxDriftMs
}

/** How far this machine's clock is ahead of the database's, which all instances share. */
export async function readDriftMs({ db, now }: Pick<Database, 'db' | 'now'>): Promise<number> {
  return measureDriftMs(async () => {
    const { rows } = await sql<{ at: number }>`select ${now} as at`.execute(db)
    return Number(rows[0]?.at)
  })
}

/** @param readTime resolves to the database's time (Unix ms) */
export async function measureDriftMs(readTime: () => Promise<number>): Promise<number> {
  const askedAt = Date.now()
  const there = await readTime()
  return Math.round((askedAt + Date.now()) / 2 - there)
}

/** A wrong clock at the start would end everybody's sessions, or remove them. */
export async function demandSameTime(database: Pick<Database, 'db' | 'now'>): Promise<void> {
  const driftMs = await readDriftMs(database)
  if (isTooFar(driftMs)) {
    throw new ConfigError(`DATABASE_URL: ${describeDrift(driftMs)}; synchronize both clocks`)
  }
}

export function describeDrift(driftMs: number): string {
  const seconds = Math.abs(Math.round(driftMs / 1000))
  return `this machine's clock is ${seconds} s ${driftMs > 0 ? 'ahead of' : 'behind'} the database's`
}
