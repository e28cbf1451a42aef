/** Reads bookmark files in a thread of its own: a large one takes seconds, and JSON is parsed in one go. */
import type { PlaintextBookmark } from '../../client/bookmark.ts'
import { type ReadBookmarks, readBookmarks } from '../../client/bookmark-file.ts'
import { BookmarkFileError, type BookmarkFileFault } from '../../client/errors.ts'

/** The messages of the thread: parts of the bookmarks, then the rest of what was read; or why nothing was. */
export type FromReader =
  | { part: PlaintextBookmark[] }
  | { read: Omit<ReadBookmarks, 'bookmarks'> }
  | { fault: BookmarkFileFault }
  | { error: unknown }

/** Bookmarks of one message. While the page copies a message, it does not respond. */
const partLength = 500

const thread = globalThis as unknown as {
  addEventListener(name: 'message', listener: (event: { data: Blob }) => void): void
  postMessage(message: FromReader): void
}

thread.addEventListener('message', ({ data: file }) => {
  send(file).catch((error: unknown) => {
    // A copied error has lost its class.
    thread.postMessage(error instanceof BookmarkFileError ? { fault: error.fault } : { error })
  })
})

async function send(file: Blob): Promise<void> {
  const { bookmarks, ...read } = await readBookmarks(new Uint8Array(await file.arrayBuffer()))
  for (let at = 0; at < bookmarks.length; at += partLength)
    thread.postMessage({ part: bookmarks.slice(at, at + partLength) })
  thread.postMessage({ read })
}
