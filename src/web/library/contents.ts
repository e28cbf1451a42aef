import type { Sync } from '../../client/index.ts'
import { type Bookmark, isFolder } from './kind.ts'

/** These bookmarks and their contents, each once, folders before their contents. */
export function withContents(sync: Sync, ids: readonly string[]): Bookmark[] {
  const found = new Map<string, Bookmark>()
  const pending = [...ids].reverse()
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const bookmark = sync.get(id)
    if (!bookmark || found.has(id)) continue
    found.set(id, bookmark)
    // One by one: `push(...children)` fails with more than about 120,000 arguments.
    if (isFolder(bookmark)) for (const child of sync.contents(id).toReversed()) pending.push(child)
  }
  return [...found.values()]
}
