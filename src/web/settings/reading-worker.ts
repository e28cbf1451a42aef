/** Reads bookmark files in a separate thread: a large file takes seconds, and parsing JSON cannot be interrupted. */
import type { PlaintextBookmark } from '../../client/bookmark.ts'
import { type ReadBookmarks, readBookmarks } from '../../client/bookmark-file.ts'
import { BookmarkFileError, type BookmarkFileFault } from '../../client/errors.ts'

/** The thread's messages: chunks of bookmarks, then the rest of the result; or an error. */
export type FromReader =
  | { part: PlaintextBookmark[] }
  | { read: Omit<ReadBookmarks, 'bookmarks'> }
  | { fault: BookmarkFileFault }
  | { error: unknown }

/** Bookmarks per message. The page does not respond while it copies one. */
const partLength = 500

const thread = globalThis as unknown as {
  addEventListener(name: 'message', listener: (event: { data: Blob }) => void): void
  postMessage(message: FromReader): void
}

thread.addEventListener('message', ({ data: file }) => {
  send(file).catch((error: unknown) => {
    // `postMessage` copies the error without its class.
    thread.postMessage(error instanceof BookmarkFileError ? { fault: error.fault } : { error })
  })
})

async function send(file: Blob): Promise<void> {
  const { bookmarks, ...read } = await readBookmarks(new Uint8Array(await file.arrayBuffer()))
  for (let at = 0; at < bookmarks.length; at += partLength)
    thread.postMessage({ part: bookmarks.slice(at, at + partLength) })
  thread.postMessage({ read })
}
