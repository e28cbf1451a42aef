import { exportFile } from '../../protocol/export-file.ts'
import type { Database, Db } from '../db/engine/database.ts'
import { type BookmarkRow, listById } from '../db/tables/bookmarks.ts'
import type { ObjectStore } from '../objects/store.ts'
import { encryptFile } from './file.ts'

/** A page has this size if its bookmarks are like the previous ones; at worst, it has 16 MiB. */
const pageBytes = 256 * 1024
const maxPageLength = 64
/** From this length on, a ciphertext is passed on as it is: each copy would be garbage that makes the process grow. */
const largeText = 16 * 1024

interface Parts {
  database: Pick<Database, 'bulk'>
  objects: Pick<ObjectStore, 'put'>
}

interface Export {
  objectKey: string
  userId: string
  exportKey: Uint8Array
  exportedAt: number
}

/** Makes and stores an export's file in constant memory. Inside it, each bookmark is still the client's ciphertext. */
export async function writeExport(
  { database, objects }: Parts,
  { objectKey, userId, exportKey, exportedAt }: Export,
  signal: AbortSignal,
): Promise<{ size_bytes: number; bookmark_count: number }> {
  let bookmark_count = 0

  async function* json(): AsyncGenerator<string> {
    let text = `{"version":"${exportFile.contentVersion}","exported_at":"${new Date(exportedAt).toISOString()}","bookmarks":[`
    for await (const page of pagesOf(database.bulk, userId)) {
      for (const row of page) {
        const { before, ciphertext, after } = partsOf(row)
        text += bookmark_count++ > 0 ? `,${before}` : before
        if (ciphertext.length < largeText) text += ciphertext
        else {
          yield text
          yield ciphertext
          text = ''
        }
        text += after
      }
      yield text
      text = ''
    }
    yield `${text}],"bookmark_count":${bookmark_count}}`
  }

  const size_bytes = await objects.put(objectKey, exportKey, encryptFile(exportKey, json()), signal)
  return { size_bytes, bookmark_count }
}

/** Reads short pages by id, never one long transaction: a bookmark that stays live is read exactly once. */
async function* pagesOf(db: Db, userId: string): AsyncGenerator<BookmarkRow[]> {
  let length = 1
  for (let after = ''; ; ) {
    const page = await listById(db, userId, after, length)
    yield page
    const last = page.at(-1)
    if (!last || page.length < length) return
    after = last.entity_id
    const largest = Math.max(...page.map(({ encrypted_data }) => encrypted_data?.length ?? 0))
    length = Math.max(1, Math.min(maxPageLength, Math.floor(pageBytes / largest)))
  }
}

/** A bookmark's JSON: what stands before its ciphertext, the ciphertext, and what stands after it. */
function partsOf({ entity_id, encrypted_data, data_hash, created_at, updated_at }: BookmarkRow) {
  return {
    before: `{"id":"${escaped(entity_id)}","encrypted_data":"`,
    ciphertext: escaped(encrypted_data ?? ''),
    after: `","data_hash":${data_hash === null ? null : `"${escaped(data_hash)}"`},"created_at":${created_at},"updated_at":${updated_at}}`,
  }
}

/** Stored texts are printable ASCII, because the contract takes no others: only quotes and backslashes need escaping. */
function escaped(text: string): string {
  return text.includes('"') || text.includes('\\') ? JSON.stringify(text).slice(1, -1) : text
}
