import { bareAddress } from '../../bookmark/address.ts'
import { compare, kindOf } from '../../bookmark/tree.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import { paced } from '../../timing/paced.ts'
import type { Emitter } from '../store/emitter.ts'
import type { Replica } from '../store/replica.ts'
import { fold } from './fold.ts'

interface Entry extends SearchText {
  bookmark: Readonly<PlaintextBookmark>
  address: string | undefined
}

/**
 * Words that are somewhere in a bookmark, or what it must have: an address, not counting `http` or `https`, `www.` and what
 * is empty at its end, or a tag.
 */
export type SearchQuery = string | { url: string } | { tag: string }

/** How much a search returns. */
export interface SearchOptions {
  /** How many bookmarks to return at most. Default: 100 of those with the words, all with an address or a tag. */
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

  async find(query: SearchQuery, { limit, signal }: SearchOptions): Promise<Readonly<PlaintextBookmark>[]> {
    signal?.throwIfAborted()
    const words = typeof query === 'string' ? wordsOf(query) : undefined
    if (words?.length === 0) return []
    await paced(this.#stale, (id) => this.#update(id), signal)
    for (const id of this.#stale) this.#update(id)
    const best = new Best(limit ?? (words ? 100 : Number.POSITIVE_INFINITY))
    const rank = words ? this.#rankBy(words) : fitOf(query as Exclude<SearchQuery, string>)
    for (const entry of this.#entries.values()) {
      const found = { bookmark: entry.bookmark, rank: rank(entry) }
      if (found.rank > 0) best.add(found)
    }
    return best.bookmarks()
  }

  /** Clears the texts from memory. */
  forget(): void {
    this.#entries.clear()
    this.#stale.clear()
  }

  #update(id: string): void {
    const bookmark = this.#live.get(id)
    if (bookmark && kindOf(bookmark) !== 'separator') {
      const address = kindOf(bookmark) === 'link' ? bareAddress(bookmark.url) : undefined
      this.#entries.set(id, { bookmark, address, ...searchText(bookmark) })
    } else this.#entries.delete(id)
    this.#stale.delete(id)
  }

  #rankBy(words: readonly string[]): RankEntry {
    const folders = words.map((word) => this.#namesWith(word))
    return (entry) => {
      let rank = 0
      for (let index = 0; index < words.length; index++) {
        const inName = folders[index]?.(entry.bookmark.parentId) ? inFolder : 0
        const found = rankOf(entry, words[index] as string) || inName
        rank = found && rank + found
        if (!found) break
      }
      return rank
    }
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

/** Returns 0 for what is not looked for. */
type RankEntry = (entry: Entry) => number

function fitOf(query: Exclude<SearchQuery, string>): RankEntry {
  if ('tag' in query) return ({ bookmark: { tags } }) => Number(Array.isArray(tags) && tags.includes(query.tag))
  const address = bareAddress(query.url)
  return (entry) => Number(address !== undefined && entry.address === address)
}

interface Found {
  bookmark: Readonly<PlaintextBookmark>
  rank: number
}

/** Keeps the best of what is found, without sorting all of it. */
class Best {
  readonly #limit: number
  #found: Found[] = []
  /** The last one that is still good enough. */
  #last: Found | undefined

  constructor(limit: number) {
    this.#limit = limit
  }

  add(one: Found): void {
    if (this.#last && byRank(one, this.#last) > 0) return
    this.#found.push(one)
    if (this.#found.length >= 2 * this.#limit) this.#cut()
  }

  bookmarks(): Found['bookmark'][] {
    this.#cut()
    return this.#found.map(({ bookmark }) => bookmark)
  }

  #cut(): void {
    this.#found = this.#found.sort(byRank).slice(0, this.#limit)
    if (this.#found.length === this.#limit) this.#last = this.#found.at(-1)
  }
}

/** The highest rank first, then the newest bookmark; the same on every device. */
function byRank({ bookmark: one, rank }: Found, { bookmark: other, rank: otherRank }: Found): number {
  return otherRank - rank || compare(dateOf(other), dateOf(one)) || compare(one.id, other.id)
}

/** Another client may have written anything. */
function dateOf({ dateAdded }: { dateAdded?: unknown }): string {
  return typeof dateAdded === 'string' ? dateAdded : ''
}

/** The weight of a word at the start of a word and inside one, by field: title, tags, address, description. */
const ranks = [
  { start: 7, inside: 4 },
  { start: 6, inside: 3 },
  { start: 5, inside: 2 },
  { start: 3, inside: 1 },
]

type Rank = (typeof ranks)[number]

/** The weight that it has more if the title begins with it. */
const firstWord = 1

/** Its weight in the name of a folder around the bookmark. */
const inFolder = 1

/** How well the word fits; 0 if the text does not contain it. `#word` fits the beginning of a tag, too. */
function rankOf({ text, starts }: SearchText, word: string): number {
  const tags = text.slice(starts[0], starts[1])
  if (word[0] === '#' && ` ${tags}`.includes(` ${word.slice(1)}`)) return (ranks[1] as Rank).start
  const at = text.indexOf(word)
  if (at === -1) return 0
  let field = 0
  while (at >= (starts[field] ?? text.length)) field++
  const { start, inside } = ranks[field] as Rank
  if (at === 0) return start + firstWord
  const end = starts[field] ?? text.length
  for (let next = at; next !== -1 && next < end; next = text.indexOf(word, next + 1)) {
    if (!/[\p{L}\p{N}]/u.test(text.charAt(next - 1))) return start
  }
  return inside
}

/** Separates the fields of a text. No word contains it. */
const separator = '\0'

/** The text that a search looks at: the fields in one, those that count most first. */
interface SearchText {
  text: string
  /** Where the fields after the title begin: tags, address, description. */
  starts: readonly number[]
}

/** The words of a query; an address is looked for as it is shown. */
function wordsOf(query: string): string[] {
  const words = fold(readable(query)).split(/[\s\0]+/)
  return [...new Set(words)].filter((word) => word !== '')
}

function searchText(bookmark: Readonly<PlaintextBookmark>): SearchText {
  // Another client may have written anything.
  const { title, tags, url, description, parentId, path }: Record<string, unknown> = bookmark
  // Without a folder of their own, bookmarks have the name of one.
  const folder = parentId === undefined ? path : ''
  const tagged = Array.isArray(tags) ? tags.map(clean).join(' ') : ''
  const fields = [clean(title), tagged, readable(clean(url)), `${clean(description)} ${clean(folder)}`]
  const text = fold(fields.join(separator))
  const starts: number[] = []
  for (let at = text.indexOf(separator); at !== -1; at = text.indexOf(separator, at + 1)) starts.push(at + 1)
  return { text, starts }
}

function clean(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll(separator, ' ') : ''
}

/** An address with its percent signs decoded. */
function readable(url: string): string {
  if (!url.includes('%')) return url
  try {
    return decodeURI(url)
  } catch {
    return url
  }
}
