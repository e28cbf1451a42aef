import type { Context } from '../context.ts'
import type { Db } from '../db/database.ts'
import { listById, type Row } from '../db/records.ts'
import { encryptFile } from './file.ts'

/** A page of the largest bookmarks is 8 MiB. */
const pageLength = 32

interface Export {
  objectKey: string
  userId: string
  exportKey: Uint8Array
  exportedAt: number
}

/** Makes the file of an export and stores it, at constant memory. What is inside a bookmark stays the client's ciphertext. */
export async function writeExport(
  { database, objects }: Pick<Context, 'database' | 'objects'>,
  { objectKey, userId, exportKey, exportedAt }: Export,
  signal: AbortSignal,
): Promise<{ size_bytes: number; bookmark_count: number }> {
  let bookmark_count = 0

  async function* json(): AsyncGenerator<string> {
    yield `{"version":"1","exported_at":"${new Date(exportedAt).toISOString()}","bookmarks":[`
    for await (const row of liveBookmarks(database.db, userId)) {
      yield (bookmark_count === 0 ? '' : ',') + serialize(row)
      bookmark_count++
    }
    yield `],"bookmark_count":${bookmark_count}}`
  }

  const size_bytes = await objects.put(objectKey, encryptFile(exportKey, json()), signal)
  return { size_bytes, bookmark_count }
}

/** Short pages by id, never one long transaction: whatever is live all the time comes, once. */
async function* liveBookmarks(db: Db, userId: string): AsyncGenerator<Row> {
  for (let after = ''; ; ) {
    const page = await listById(db, userId, after, pageLength)
    yield* page
    const last = page.at(-1)
    if (!last || page.length < pageLength) return
    after = last.entity_id
  }
}

function serialize({ entity_id, encrypted_data, data_hash, created_at, updated_at }: Row): string {
  return JSON.stringify({ id: entity_id, encrypted_data, data_hash, created_at, updated_at })
}
