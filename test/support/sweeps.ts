import type { Database } from '../../src/service/db/engine/database.ts'
import { accountSweeps, type ErasureParts } from '../../src/service/upkeep/erasure.ts'
import { type ExportSweepParts, exportSweeps } from '../../src/service/upkeep/exports.ts'
import { rowSweeps } from '../../src/service/upkeep/rows.ts'
import { type VersionSweepParts, versionSweeps } from '../../src/service/upkeep/versions.ts'

const { signal } = new AbortController()

/** What the hourly sweep does to the rows that are not exports. */
export async function sweepRows(database: Pick<Database, 'write'>, now: number): Promise<void> {
  for (const sweep of Object.values(rowSweeps)) await sweep({ database, clock: () => now }, signal)
}

/** What it does to exports and their files. */
export async function sweepExports(parts: ExportSweepParts): Promise<void> {
  for (const sweep of Object.values(exportSweeps)) await sweep(parts, signal)
}

/** What it does to kept versions. */
export async function sweepVersions(parts: VersionSweepParts, now: number): Promise<void> {
  await versionSweeps.versions({ ...parts, clock: () => now }, signal)
}

/** What it does to deleted accounts. */
export async function sweepAccounts(parts: ErasureParts): Promise<void> {
  await accountSweeps.accounts(parts, signal)
}
