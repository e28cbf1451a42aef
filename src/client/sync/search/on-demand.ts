import type { PlaintextBookmark } from '../../bookmark.ts'
import { abortable } from '../../timing/clock.ts'
import type { LoadDeferred } from '../load-deferred.ts'
import type { Emitter } from '../store/emitter.ts'
import type { Replica } from '../store/replica.ts'
import type { Search, SearchOptions } from './search.ts'

/** The search, which is made when the user first searches. */
export class SearchOnDemand {
  readonly #replica: Replica
  readonly #emitter: Emitter
  readonly #loadDeferred: LoadDeferred
  #search: Search | undefined

  constructor(replica: Replica, emitter: Emitter, loadDeferred: LoadDeferred) {
    this.#replica = replica
    this.#emitter = emitter
    this.#loadDeferred = loadDeferred
  }

  async find(text: string, options: SearchOptions): Promise<Readonly<PlaintextBookmark>[]> {
    const { Search } = await abortable(this.#loadDeferred(), options.signal)
    this.#search ??= new Search(this.#replica, this.#emitter)
    return this.#search.find(text, options)
  }

  /** Clears the texts from memory. */
  forget(): void {
    this.#search?.forget()
  }
}
