import type { PlaintextBookmark } from '../../client/bookmark.ts'
import type { ReadBookmarks } from '../../client/bookmark-file.ts'
import { UserFacingError } from '../ui/failure.ts'
import { later } from '../words/later.ts'
import { say } from '../words/words.ts'
import type { FromReader } from './reading-worker.ts'

/**
 * Reads a bookmark file of any size while the page stays responsive.
 *
 * @throws UserFacingError if the file has no readable bookmarks, or its reader could not be loaded; or the reader's error
 */
export async function readFile(file: Blob): Promise<ReadBookmarks> {
  const thread = new Worker('/demo/reading.js', { type: 'module' })
  const { promise, resolve, reject } = Promise.withResolvers<ReadBookmarks>()
  const bookmarks: PlaintextBookmark[] = []
  thread.addEventListener('message', ({ data }: MessageEvent<FromReader>) => {
    if ('part' in data) bookmarks.push(...data.part)
    else if ('read' in data) resolve({ ...data.read, bookmarks })
    else reject('fault' in data ? new UserFacingError(later.settings.unreadable[data.fault]) : data.error)
  })
  thread.addEventListener('error', () => reject(new UserFacingError(say.failure.noAnswer)))
  thread.postMessage(file)
  try {
    return await promise
  } finally {
    thread.terminate()
  }
}
