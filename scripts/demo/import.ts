import type { components } from '../../generated/openapi.ts'
import type { PlaintextBookmark } from '../../src/client/bookmark.ts'
import { encryptBookmark } from '../../src/client/record.ts'
import { Difference, expectEqual } from './compare.ts'
import type { Device } from './device.ts'

type ImportBookmark = components['schemas']['ImportBookmark']

/** The contract allows 10,000 bookmarks and 32 MiB a request. */
const mostBookmarks = 5_000
const mostCharacters = 16 * 1024 * 1024

/** Encrypts and imports in as many requests as it takes. */
export async function importBookmarks(
  device: Device,
  bookmarks: readonly PlaintextBookmark[],
): Promise<{ requests: number; characters: number }> {
  let requests = 0
  let characters = 0
  for (const batch of batches(bookmarks.map((bookmark) => seal(device, bookmark)))) {
    const { imported, errors } = await device.api.call('importBookmarks', { body: { bookmarks: batch } })
    const [error] = errors
    if (error) throw new Difference(`Bookmark ${error.id} was not imported: ${error.error}`)
    expectEqual('The number of imported bookmarks', imported, batch.length)
    requests++
    characters += sizeOf(batch)
  }
  return { requests, characters }
}

function seal({ keys }: Device, bookmark: PlaintextBookmark): ImportBookmark {
  const { id, dateAdded, dateModified } = bookmark
  return {
    id,
    ...encryptBookmark(keys, bookmark),
    ...(dateAdded && { date_added: toSeconds(dateAdded) }),
    ...(dateModified && { date_modified: toSeconds(dateModified) }),
  }
}

/** The service takes no date from the future; the bookmark keeps the one it has. */
function toSeconds(date: string): number {
  return Math.floor(Math.min(Date.parse(date), Date.now()) / 1000)
}

function* batches(bookmarks: ImportBookmark[]): Generator<ImportBookmark[]> {
  let batch: ImportBookmark[] = []
  let characters = 0
  for (const bookmark of bookmarks) {
    const size = bookmark.encrypted_data.length
    if (batch.length === mostBookmarks || characters + size > mostCharacters) {
      yield batch
      batch = []
      characters = 0
    }
    batch.push(bookmark)
    characters += size
  }
  yield batch
}

function sizeOf(batch: ImportBookmark[]): number {
  return batch.reduce((sum, { encrypted_data }) => sum + encrypted_data.length, 0)
}
