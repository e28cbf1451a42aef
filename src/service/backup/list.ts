import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import type { Config } from '../config/config.ts'
import type { Schema } from '../db/schema.ts'
import { sampleSeals } from '../db/tables/sealed.ts'
import { createSeal, type Seal } from '../seal/seal.ts'
import { describeBucket } from './bucket.ts'
import { sizeOf } from './checksums.ts'
import { databaseIdOf } from './database-id.ts'
import { type BackupFacts, listBackups } from './shelf.ts'

/** Lists the backups in BACKUP_TO without writing anything. */
export async function describeBackups({ backup, s3 }: Config, secretKeys: Uint8Array[]): Promise<BackupFacts[]> {
  if (backup.inBucket && s3) return describeBucket(s3, secretKeys)
  const seal = createSeal(secretKeys)
  const found: BackupFacts[] = []
  for (const name of await listBackups(backup.dir)) found.push(await describe(join(backup.dir, name), name, seal))
  return found
}

async function describe(folder: string, name: string, seal: Seal): Promise<BackupFacts> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => undefined)
  if (!files) return { name, bytes: undefined, opens: 'cannot be read', databaseId: undefined }
  const paths = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name))
  const sizes = await Promise.all(paths.map(sizeOf))
  const path = join(folder, 'bookmarks.db')
  const opens = await openedBy(seal, path).catch(() => 'cannot be read' as const)
  const databaseId = await databaseIdOf(path).catch(() => undefined)
  return { name, bytes: sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0), opens, databaseId }
}

async function openedBy(seal: Seal, path: string): Promise<BackupFacts['opens']> {
  const database = new Sqlite(path, { readonly: true, fileMustExist: true })
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database }) })
  try {
    const { tried, opens, damage } = await sampleSeals(db, seal)
    if (damage) throw damage
    if (tried === 0) return 'has nothing sealed'
    return opens === tried ? 'opens with SECRET_KEY' : 'opens with no key of SECRET_KEY'
  } finally {
    await db.destroy()
  }
}
