import type { Database } from '../../src/service/db/engine/database.ts'
import { accountSweeps, type ErasureParts } from '../../src/service/upkeep/erasure.ts'
import { type ExportSweepParts, exportSweeps } from '../../src/service/upkeep/exports.ts'
import { rowSweeps } from '../../src/service/upkeep/rows.ts'
import { type VersionSweepParts, versionSweeps } from '../../src/service/upkeep/versions.ts'

const { signal } = new AbortController()

export async function sweepRows(
  database: Pick<Database, 'write'>,
  now: number,
  config = { keepVersionsDays: 30 },
): Promise<void> {
  for (const sweep of Object.values(rowSweeps)) await sweep({ config, database, clock: () => now }, signal)
}

export async function sweepExports(parts: ExportSweepParts): Promise<void> {
  for (const sweep of [exportSweeps['expired exports'], exportSweeps['failed exports']]) await sweep(parts, signal)
  await sweepOrphans(parts)
}

/**
 * Removes orphans as if all objects were two days old, and announced. Stores have a clock of their own, which tests
 * cannot set.
 */
export async function sweepOrphans(parts: ExportSweepParts): Promise<number> {
  await announceOrphans(parts.database)
  return exportSweeps.orphans({ ...parts, clock: () => Date.now() + 2 * 86_400_000 }, signal)
}

/** From now on, what a store has more than the database counts as announced. */
export async function announceOrphans({ db }: Pick<Database, 'db'>): Promise<void> {
  await db.updateTable('heartbeat').set({ orphans_since: 0, orphans_sought_at: Number.MAX_SAFE_INTEGER }).execute()
}

export async function sweepVersions(parts: VersionSweepParts, now: number): Promise<void> {
  await versionSweeps.versions({ ...parts, clock: () => now }, signal)
}

export async function sweepAccounts(parts: ErasureParts): Promise<void> {
  await accountSweeps.accounts(parts, signal)
}
