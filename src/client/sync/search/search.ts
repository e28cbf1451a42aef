import { kindOf } from '../../bookmark/tree.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import { paced } from '../../timing/paced.ts'
import type { Emitter } from '../store/emitter.ts'
import type { Replica } from '../store/replica.ts'
import { Best } from './best.ts'
import { inFolder, rankOf } from './rank.ts'
import { type SearchText, searchText, wordsOf } from './text.ts'

interface Entry extends SearchText {
  bookmark: Readonly<PlaintextBookmark>
}

/** How much a search returns. */
export interface SearchOptions {
  /** How many bookmarks to return at most. Default: 100. */
  limit?: number | undefined
  signal?: AbortSignal | undefined
}

/** Searches the bookmarks. The folded texts are made at the first search, and again for bookmarks that have changed. */
export class Search {
  readonly #live: Replica['live']
  readonly #entries = new Map<string, Entry>()
  /** Ids of bookmarks that have changed since their texts were made. */
  readonly #stale = new Set<string>()

  constructor({ live }: Replica, emitter: Emitter) {
    this.#live = live
    for (const id of live.keys()) this.#stale.add(id)
    emitter.on('change', ({ ids }) => {
      for (const id of ids) this.#stale.add(id)
    })
  }

  async find(query: string, { limit = 100, signal }: SearchOptions): Promise<Readonly<PlaintextBookmark>[]> {
    signal?.throwIfAborted()
    const words = wordsOf(query)
    if (words.length === 0) return []
    await paced(this.#stale, (id) => this.#update(id), signal)
    for (const id of this.#stale) this.#update(id)
    return this.#rank(words, limit)
  }

  /** Clears the texts from memory. */
  forget(): void {
    this.#entries.clear()
    this.#stale.clear()
  }

  #update(id: string): void {
    const bookmark = this.#live.get(id)
    if (bookmark && kindOf(bookmark) !== 'separator') this.#entries.set(id, { bookmark, ...searchText(bookmark) })
    else this.#entries.delete(id)
    this.#stale.delete(id)
  }

  #rank(words: readonly string[], limit: number): Readonly<PlaintextBookmark>[] {
    const best = new Best(limit)
    const folders = words.map((word) => this.#namesWith(word))
    for (const entry of this.#entries.values()) {
      const { bookmark } = entry
      let rank = 0
      for (let index = 0; index < words.length; index++) {
        const found = rankOf(entry, words[index] as string) || (folders[index]?.(bookmark.parentId) ? inFolder : 0)
        rank = found && rank + found
        if (!found) break
      }
      if (rank > 0) best.add({ bookmark, rank })
    }
    return best.bookmarks()
  }

  /** Tells of a folder whether its name, or that of a folder around it, contains the word. */
  #namesWith(word: string): (folderId: string | undefined) => boolean {
    const known = new Map<string, boolean>()
    return (start) => {
      const way: string[] = []
      let id = start
      let answer = id !== undefined && known.get(id)
      while (id !== undefined && answer === undefined) {
        known.set(id, false) // Ends a cycle.
        way.push(id)
        const folder = this.#entries.get(id)
        const isFolder = folder !== undefined && kindOf(folder.bookmark) === 'folder'
        id = isFolder ? folder.bookmark.parentId : undefined
        answer =
          (isFolder && folder.text.slice(0, folder.starts[0]).includes(word)) || (id !== undefined && known.get(id))
      }
      for (const id of way) known.set(id, answer === true)
      return answer === true
    }
  }
}
