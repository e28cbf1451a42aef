import type { PlaintextBookmark } from '../../bookmark.ts'
import { abortable } from '../../timing/clock.ts'
import type { Emitter } from '../store/emitter.ts'
import type { Replica } from '../store/replica.ts'
import type { Search, SearchOptions } from './search.ts'

export type LoadSearch = () => Promise<{ Search: typeof Search }>

/** The search, which is made when the user first searches. */
export class SearchOnDemand {
  readonly #replica: Replica
  readonly #emitter: Emitter
  readonly #loadSearch: LoadSearch
  #search: Search | undefined

  constructor(replica: Replica, emitter: Emitter, loadSearch: LoadSearch) {
    this.#replica = replica
    this.#emitter = emitter
    this.#loadSearch = loadSearch
  }

  async find(text: string, options: SearchOptions): Promise<Readonly<PlaintextBookmark>[]> {
    const { Search } = await abortable(this.#loadSearch(), options.signal)
    this.#search ??= new Search(this.#replica, this.#emitter)
    return this.#search.find(text, options)
  }

  /** Clears the texts from memory. */
  forget(): void {
    this.#search?.forget()
  }
}
