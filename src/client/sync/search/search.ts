import { bareAddress } from '../../bookmark/address.ts'
import { compare, kindOf } from '../../bookmark/tree.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import { paced } from '../../timing/paced.ts'
import type { Emitter } from '../store/emitter.ts'
import type { Replica } from '../store/replica.ts'
import { spellings } from './fold.ts'
import { nearIndex } from './near.ts'
import { parseQuery, readable, type Term } from './query.ts'

interface Entry {
  bookmark: Readonly<PlaintextBookmark>
  address: string | undefined
  /** The searched texts; more than one if there are umlauts, which may be written as ae, oe and ue. */
  texts: readonly SearchText[]
  /** The index by date among all bookmarks, the newest first; -1 until it is known. */
  age: number
}

/**
 * A text as a person types it: words that are somewhere in a bookmark, `"words that follow each other"`, `-without`,
 * `#tag`, `in:folder`, `site:example.com`, `is:untagged`, and `OR` between two of these. Or a value that the bookmark
 * must have: a tag, or an address, in which `http` or `https`, `www.` and a final `/`, `?` or `#` do not matter.
 */
export type SearchQuery = string | { url: string } | { tag: string }

/** The options of `search`. */
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
  /** All entries by date; undefined after a change. */
  #newestFirst: readonly Entry[] | undefined

  constructor(
    { live }: Pick<Replica, 'live'>,
    emitter: Pick<Emitter, 'on'>,
    event: 'change' | 'groups' | 'history' = 'change',
  ) {
    this.#live = live
    for (const id of live.keys()) this.#stale.add(id)
    emitter.on(event, ({ ids }) => {
      for (const id of ids) this.#stale.add(id)
    })
  }

  async find(query: SearchQuery, { limit, signal }: SearchOptions): Promise<Readonly<PlaintextBookmark>[]> {
    signal?.throwIfAborted()
    const terms = typeof query === 'string' ? parseQuery(query) : undefined
    if (terms?.length === 0) return []
    await paced(this.#stale, (id) => this.#update(id), signal)
    for (const id of this.#stale) this.#update(id)
    const newestFirst = this.#inOrder()
    const rank = terms ? this.#rankBy(terms, rankOf) : fitOf(query as Exclude<SearchQuery, string>)
    let found = new Ranked(newestFirst, rank)
    // In insertion order: the order by date would access memory at random.
    for (const entry of this.#entries.values()) found.add(entry)
    if (found.isEmpty && terms?.some(allowsMistake)) {
      found = new Ranked(newestFirst, this.#rankBy(terms, rankNear))
      await paced(this.#entries.values(), (entry) => found.add(entry), signal)
    }
    return found.best(limit ?? (terms ? 100 : Number.POSITIVE_INFINITY))
  }

  #inOrder(): readonly Entry[] {
    if (this.#newestFirst) return this.#newestFirst
    const sorted = [...this.#entries.values()].sort(byAge)
    for (const [age, entry] of sorted.entries()) entry.age = age
    this.#newestFirst = sorted
    return sorted
  }

  /** Clears the texts from memory. */
  forget(): void {
    this.#entries.clear()
    this.#newestFirst = undefined
    this.#stale.clear()
  }

  #update(id: string): void {
    this.#newestFirst = undefined
    const bookmark = this.#live.get(id)
    if (bookmark && kindOf(bookmark) !== 'separator') {
      const address = kindOf(bookmark) === 'link' ? bareAddress(bookmark.url) : undefined
      this.#entries.set(id, { bookmark, address, texts: searchTexts(bookmark), age: -1 })
    } else this.#entries.delete(id)
    this.#stale.delete(id)
  }

  #rankBy(terms: readonly Term[], rankText: typeof rankOf): RankEntry {
    /** Each group has the terms joined by `OR`, of which one is enough. */
    const groups: { rank: RankEntry; isExcluded: boolean }[][] = []
    for (const term of terms) {
      const one = { rank: this.#rankOf(term, allowsMistake(term) ? rankText : rankOf), isExcluded: term.isExcluded }
      if (term.isAlternative) groups.at(-1)?.push(one)
      else groups.push([one])
    }
    return (entry) => {
      let sum = 0
      for (const group of groups) {
        let best = -1
        for (const { rank, isExcluded } of group) {
          const found = rank(entry)
          if (found > 0 !== isExcluded) best = Math.max(best, found)
        }
        if (best === -1) return 0
        sum += best
      }
      return sum || 1
    }
  }

  #rankOf({ kind, spellings }: Term, rankText: typeof rankOf): RankEntry {
    const inText = rankAny(spellings, rankText)
    if (kind === 'tag') return rankAny(spellings, rankTag)
    if (kind === 'site') return (entry) => Number(entry.address !== undefined) && rankAny(spellings, rankSite)(entry)
    if (kind === 'untagged') return ({ bookmark }) => Number(kindOf(bookmark) === 'link' && !tagsOf(bookmark)[0])
    const isInFolder = this.#namesWith(spellings)
    const rankFolder: RankEntry = ({ bookmark: { parentId } }) => Number(isInFolder(parentId)) * inFolder
    if (kind === 'text') return (entry) => inText(entry) || rankFolder(entry)
    return (entry) => rankFolder(entry) || rankAny(spellings, rankPath)(entry)
  }

  /** Returns a function that checks if the name of a folder, or of one around it, contains one of the words. */
  #namesWith(words: readonly string[]): (folderId: string | undefined) => boolean {
    const known = new Map<string, boolean>()
    const isNamed = ({ texts }: Entry) =>
      texts.some(({ text, starts }) => words.some((word) => text.slice(0, starts[0]).includes(word)))
    return (start) => {
      const path: string[] = []
      let id = start
      let answer = id !== undefined && known.get(id)
      while (id !== undefined && answer === undefined) {
        known.set(id, false) // Ends a cycle.
        path.push(id)
        const folder = this.#entries.get(id)
        const isFolder = folder !== undefined && kindOf(folder.bookmark) === 'folder'
        id = isFolder ? folder.bookmark.parentId : undefined
        answer = (isFolder && isNamed(folder)) || (id !== undefined && known.get(id))
      }
      for (const id of path) known.set(id, answer === true)
      return answer === true
    }
  }
}

/** Ranks an entry; 0 if it is not a hit. */
type RankEntry = (entry: Entry) => number

function fitOf(query: Exclude<SearchQuery, string>): RankEntry {
  if ('tag' in query) return ({ bookmark: { tags } }) => Number(Array.isArray(tags) && tags.includes(query.tag))
  const address = bareAddress(query.url)
  return (entry) => Number(address !== undefined && entry.address === address)
}

/** Sorts the hits: the highest rank first, then the newest. */
class Ranked {
  readonly #newestFirst: readonly Entry[]
  readonly #rankOf: RankEntry
  readonly #ranks: Uint32Array
  isEmpty = true

  constructor(newestFirst: readonly Entry[], rankOf: RankEntry) {
    this.#newestFirst = newestFirst
    this.#rankOf = rankOf
    this.#ranks = new Uint32Array(newestFirst.length)
  }

  add(entry: Entry): void {
    const rank = this.#rankOf(entry)
    this.#ranks[entry.age] = rank
    if (rank > 0) this.isEmpty = false
  }

  best(limit: number): Entry['bookmark'][] {
    const byRank: Entry['bookmark'][][] = []
    for (const [age, { bookmark }] of this.#newestFirst.entries()) {
      const rank = this.#ranks[age] as number
      const found = byRank[rank]
      if (found) found.push(bookmark)
      else if (rank > 0) byRank[rank] = [bookmark]
    }
    const best = byRank.toReversed().flatMap((found) => found ?? [])
    return best.length > limit ? best.slice(0, limit) : best
  }
}

/** Sorts the newest first, then by id, so that the order is the same on every device. */
function byAge({ bookmark: one }: Entry, { bookmark: other }: Entry): number {
  return compare(dateOf(other), dateOf(one)) || compare(one.id, other.id)
}

/** Empty if it is not a string: other clients may have written any value. */
function dateOf({ dateAdded }: { dateAdded?: unknown }): string {
  return typeof dateAdded === 'string' ? dateAdded : ''
}

/** The weight of a hit at the start of a word and inside one, by field: title, tags, address, description, folder's name. */
const ranks = [
  { start: 7, inside: 4 },
  { start: 6, inside: 3 },
  { start: 5, inside: 2 },
  { start: 3, inside: 1 },
  { start: 3, inside: 1 },
]

type Rank = (typeof ranks)[number]

/** The weight added if the title begins with the word. */
const firstWord = 1

/** The weight of a word in the name of a folder around the bookmark. */
const inFolder = 1

/** The weight of the word in the first field that contains it; 0 if none does. */
function rankOf({ text, starts }: SearchText, word: string): number {
  const at = text.indexOf(word)
  if (at === -1) return 0
  const field = fieldAt(starts, at)
  const { start, inside } = ranks[field] as Rank
  if (at === 0) return start + firstWord
  const end = starts[field] ?? text.length
  for (let next = at; next !== -1 && next < end; next = text.indexOf(word, next + 1)) {
    if (!/[\p{L}\p{N}]/u.test(text.charAt(next - 1))) return start
  }
  return inside
}

/** Like `rankOf`, but also finds the word with one mistake: see `nearIndex`. */
function rankNear(searched: SearchText, word: string): number {
  const exact = rankOf(searched, word)
  const at = exact === 0 ? nearIndex(searched.text, word) : -1
  return at === -1 ? exact : (ranks[fieldAt(searched.starts, at)] as Rank).inside
}

/** True if the term may have a mistake. Words of fewer than four characters, or with digits, would match too much. */
function allowsMistake({ kind, isExcluded, isQuoted, spellings: [word = ''] }: Term): boolean {
  return kind === 'text' && !isExcluded && !isQuoted && /^\D{4,}$/.test(word)
}

/** Ranks a bookmark with a tag in which a word begins with the sought one, or with `#` and the word in any text. */
function rankTag(searched: SearchText, word: string): number {
  const tags = `\n${fieldOf(searched, 1)}`
  const isThere = tags.includes(`\n${word}`) || tags.includes(` ${word}`)
  return isThere ? (ranks[1] as Rank).start : rankOf(searched, `#${word}`)
}

/** 1 if the address is of this site or a subdomain, and begins with the site's path, if given; otherwise 0. */
function rankSite(searched: SearchText, site: string): number {
  const address = `.${bareAddress(fieldOf(searched, 2))}`
  const at = address.indexOf(`.${site}`)
  return Number(at !== -1 && !address.slice(0, at).includes('/'))
}

/** 1 if the bookmark has no `parentId`, and its `path` contains the word; otherwise 0. */
function rankPath(searched: SearchText, word: string): number {
  return Number(fieldOf(searched, 4).includes(word))
}

/** The best rank of all spellings of the bookmark and the word. */
function rankAny(words: readonly string[], rankText: typeof rankOf): RankEntry {
  return ({ texts }) => {
    let best = 0
    for (const text of texts) for (const word of words) best = Math.max(best, rankText(text, word))
    return best
  }
}

/** Separates the fields of a text. No word contains it. */
const separator = '\0'

/** The text that is searched: all fields in one, the most important first. */
interface SearchText {
  text: string
  /** The starts of the fields after the title: tags, address, description, folder's name. */
  starts: readonly number[]
}

function fieldAt(starts: readonly number[], at: number): number {
  let field = 0
  while (at >= (starts[field] ?? Number.POSITIVE_INFINITY)) field++
  return field
}

function fieldOf({ text, starts }: SearchText, field: number): string {
  return text.slice(starts[field - 1], (starts[field] ?? text.length + 1) - 1)
}

function searchTexts(bookmark: Readonly<PlaintextBookmark>): SearchText[] {
  // Other clients may have written values of any type.
  const { title, url, description, parentId, path }: Record<string, unknown> = bookmark
  // If there is no `parentId`, only `path` may have the names of the folders.
  const folder = parentId === undefined ? path : ''
  const tagged = tagsOf(bookmark).map(clean).join('\n')
  const fields = [clean(title), tagged, readable(clean(url)), clean(description), clean(folder)]
  return spellings(fields.join(separator)).map((text) => {
    const starts: number[] = []
    for (let at = text.indexOf(separator); at !== -1; at = text.indexOf(separator, at + 1)) starts.push(at + 1)
    return { text, starts }
  })
}

function tagsOf({ tags }: { tags?: unknown }): unknown[] {
  return Array.isArray(tags) ? tags : []
}

/** Leaves one space between words. */
function clean(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll(separator, ' ').replace(/\s+/g, ' ').trim() : ''
}
