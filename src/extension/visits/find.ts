import { compare } from '../../client/bookmark/tree.ts'
import type { EntityType, PlaintextBookmark } from '../../client/bookmark.ts'
import { fold } from '../../client/sync/search/fold.ts'
import type { Sync } from '../../client/sync/sync.ts'
import { paced } from '../../client/timing/paced.ts'

/** A page that a search finds. */
export interface FoundPage {
  url: string
  title: string
  /** Its last visit (ISO 8601), if it is known only from the history. */
  dateVisited?: string | undefined
}

interface Entry extends FoundPage {
  id: string
  text: string
  /** When it was visited, or else added. */
  date: string
}

type Searched = Pick<Sync, 'bookmarks' | 'groups' | 'history' | 'on'>

/** Finds pages by words in their titles and addresses. The first search builds the index. */
export class PageFinder {
  /** One for each type, in the order in which their pages are offered. */
  readonly #kinds: readonly Kind[]

  /**
   * @param types the types to search: records of others may still be stored, because they have unsent edits
   * @param isRemoved true if the person removed the history entry's page here, and the entry does not show that yet
   */
  constructor(sync: Searched, types: readonly EntityType[], isRemoved: (id: string) => boolean) {
    const kinds: Record<EntityType, () => Kind> = {
      bookmark: () => new Kind(sync, 'change', (id) => sync.bookmarks().get(id), [...sync.bookmarks().keys()]),
      group: () => new Kind(sync, 'groups', (id) => sync.groups.get(id), [...sync.groups.records().keys()]),
      history: () =>
        new Kind(sync, 'history', (id) => sync.history.get(id), [...sync.history.records().keys()], isRemoved),
    }
    this.#kinds = types.map((type) => kinds[type]())
  }

  /** Pages with all words, each address once: bookmarks, groups' tabs, then the history; the newest of each first. */
  async find(words: string, limit: number): Promise<FoundPage[]> {
    const found = new Map<string, FoundPage>()
    for (const kind of this.#kinds) {
      for (const page of await kind.find(words, limit)) if (!found.has(page.url)) found.set(page.url, page)
    }
    return [...found.values()].slice(0, limit)
  }

  /** Pages of the history, which is the last type, with all words, those visited last first. */
  async findVisited(words: string, limit: number): Promise<FoundPage[]> {
    return (await this.#kinds.at(-1)?.find(words, limit)) ?? []
  }
}

class Kind {
  readonly #entries = new Map<string, Entry>()
  readonly #stale: Set<string>
  readonly #get: (id: string) => Readonly<PlaintextBookmark> | undefined
  readonly #isHidden: (id: string) => boolean
  #newestFirst: readonly Entry[] | undefined

  constructor(
    sync: Searched,
    event: 'change' | 'groups' | 'history',
    get: (id: string) => Readonly<PlaintextBookmark> | undefined,
    ids: string[],
    isHidden = (_id: string) => false,
  ) {
    this.#get = get
    this.#isHidden = isHidden
    this.#stale = new Set(ids)
    sync.on(event, (news) => {
      for (const id of news.ids) this.#stale.add(id)
    })
  }

  async find(words: string, limit: number): Promise<Entry[]> {
    await paced(this.#stale, (id) => this.#refresh(id))
    this.#newestFirst ??= [...this.#entries.values()].sort((one, other) => compare(other.date, one.date))
    const sought = fold(words).split(/\s+/).filter(Boolean)
    const found: Entry[] = []
    for (const entry of this.#newestFirst) {
      if (found.length === limit) break
      if (sought.every((word) => entry.text.includes(word)) && !this.#isHidden(entry.id)) found.push(entry)
    }
    return found
  }

  #refresh(id: string): void {
    this.#stale.delete(id)
    this.#newestFirst = undefined
    const { url, title = '', source, dateVisited, dateAdded = '' } = this.#get(id) ?? {}
    // Other addresses may run code, such as those of `javascript:`.
    if (!url || !/^https?:/i.test(url)) this.#entries.delete(id)
    else {
      const text = fold(`${title}\n${url}`)
      const visited = source === 'history' ? { dateVisited } : {}
      this.#entries.set(id, { id, url, title, text, date: dateVisited ?? dateAdded, ...visited })
    }
  }
}
