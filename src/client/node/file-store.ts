import type { Store } from '../sync/store/store.ts'
import { DatabaseFile } from './database-file.ts'
import { storeIn } from './sqlite-store.ts'

/**
 * Keeps the bookmarks in one SQLite file, which only its owner may read (0600). They are stored in plaintext; `signOut`
 * deletes the file. A file holds one user's bookmarks. The store's methods reject while another process uses the file.
 */
export function fileStore(path: string): Store {
  return storeIn(new DatabaseFile(path))
}
