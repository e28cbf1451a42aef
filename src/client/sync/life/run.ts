import type { EntityType, PlaintextBookmark } from '../../bookmark.ts'
import { eraseKeys } from '../../crypto/keys.ts'
import { SignedOutError, StorageFullError, StoreBlockedError, StoreVersionError } from '../../errors.ts'
import { abortable, pause } from '../../timing/clock.ts'
import { forgetMasterKey } from '../../vault/master-key.ts'
import type { Turn } from '../edits/edit.ts'
import type { Connected, Engine } from '../engine.ts'
import type { Transport } from '../exchange/transport.ts'
import type { Search, SearchOptions, SearchQuery } from '../search/search.ts'
import { changeOf } from '../store/replica.ts'
import type { TabMessage } from '../store/tabs.ts'

/** The time until another attempt to load `deferred.ts` (ms). */
const fileAgainMs = 10_000

export type Deferred = typeof import('../deferred.ts')

/** @throws OfflineError the code of `deferred.ts` could not be loaded; the next call tries again */
export type LoadDeferred = () => Promise<Deferred>

/** The options of `signOut`. */
export interface SignOutOptions {
  /** True if unsent edits may be discarded. Default: false. */
  discardUnsent?: boolean | undefined
  /**
   * Runs before anything is deleted from this device. With `discardUnsent`, the sync is over by then; without it, `first`
   * runs only if there are no unsent edits. Only an edit that another tab makes meanwhile can still make `signOut` reject
   * with UnsentChangesError afterwards. If `first` rejects, so does `signOut`, and nothing was deleted.
   */
  first?: (() => Promise<void>) | undefined
  /** If it is aborted before the call, `signOut` rejects at once. Later, it only ends the wait for the end of the session. */
  signal?: AbortSignal | undefined
}

/** Starts and stops the engine in this tab. */
export class Run {
  readonly #engine: Engine
  readonly #loadDeferred: LoadDeferred
  readonly #connect: (deferred: Deferred) => Transport
  readonly #ended = new AbortController()
  readonly #stopped = new AbortController()
  /** Resolves once all work that was passed to `edit` has ended. */
  #edits: Promise<unknown> = Promise.resolve()
  /** Resolves once all edits requested so far have ended, except those that may overlap with others. */
  #turn = this.#edits
  /** Resolves once the exchanges of `syncNow` have ended, also those whose caller has aborted and does not wait for the end. */
  #exchanges = this.#edits
  #admitsEdits = true
  #isListening = false
  readonly #searches: Partial<Record<EntityType, Search>> = {}
  #loaded: Promise<void> | undefined
  #leading: Promise<void> | undefined
  /** The leader is the tab that talks to the service for all. False while this tab waits to lead; null if it does neither. */
  #isLeader: boolean | null = null

  constructor(engine: Engine, loadDeferred: LoadDeferred, connect: (deferred: Deferred) => Transport) {
    this.#engine = engine
    this.#loadDeferred = loadDeferred
    this.#connect = connect
    // A newer version of the app has taken over the store: this tab stops, and ignores what the newer tabs report.
    engine.emitter.on('error', ({ error }) => {
      if (error instanceof StoreVersionError) this.#ended.abort(error)
    })
  }

  /** Reads the store, and listens to the other tabs. Resolves once the store has been read. */
  async load(): Promise<void> {
    this.#ended.signal.throwIfAborted()
    this.#loaded ??= this.#load().catch((error) => {
      this.#loaded = undefined
      if (error instanceof StoreVersionError) this.#engine.status.fail(error)
      throw error
    })
    return this.#loaded
  }

  /** Loads the store, and lets this tab lead as soon as no other one does. Call it again after the session has ended. */
  async start(): Promise<void> {
    // Begins to load `deferred.ts` while the store is read.
    this.#loadDeferred().catch(() => {})
    await this.load()
    this.#engine.outbox.reopen()
    this.#leading ??= this.#lead().finally(() => {
      this.#leading = undefined
    })
  }

  /**
   * Runs an edit. Sign-out and `stop` wait for it. Its signal aborts with the caller's, or at the stop. Edits run in
   * the order of their calls: until `turn` resolves, `work` may only prepare.
   *
   * @param options if given, `turn` is false: the edit does not wait for others and may overlap with them
   */
  async edit<T>(
    work: (turn: Turn, signal: AbortSignal) => Promise<T>,
    options?: { signal?: AbortSignal | undefined },
  ): Promise<T> {
    await this.load()
    this.#ended.signal.throwIfAborted()
    if (!this.#admitsEdits) throw new DOMException('The user is signing out', 'AbortError')
    const turn = !options && this.#turn
    const edit = work(turn, this.#signalFor(options?.signal))
    if (turn) this.#turn = endOf(turn, edit)
    this.#edits = endOf(this.#edits, edit)
    return edit
  }

  /** Like `edit`, with the code of `deferred.ts`. Calls `work` once `turn` has resolved. */
  editWith<T>(
    work: (deferred: Deferred, connected: Connected) => Promise<T>,
    options?: { signal?: AbortSignal | undefined },
  ): Promise<T> {
    return this.edit(async (turn, signal) => {
      const [{ deferred, connected }] = await abortable(Promise.all([this.#reach(signal), turn]), signal)
      return work(deferred, connected)
    }, options)
  }

  async syncNow(caller: AbortSignal | undefined): Promise<void> {
    await this.load()
    const { outbox, status, network, tabs } = this.#engine
    const signal = this.#signalFor(caller)
    outbox.reopen()
    tabs.post({ type: 'hurry' })
    try {
      const { deferred, connected } = await abortable(this.#reach(signal), signal)
      const exchanging = deferred.exchange(connected)
      this.#exchanges = endOf(this.#exchanges, exchanging)
      await abortable(exchanging, signal)
    } catch (error) {
      if (!signal.aborted && this.#isLeader !== false) status.fail(error)
      status.endExchange()
      throw error
    }
    if (status.state !== 'online' && this.#isLeader !== false) status.set('polling')
    status.endExchange()
    network.ring()
  }

  /** The first search takes longer: it prepares the texts of all bookmarks. */
  async search(type: EntityType, query: SearchQuery, options: SearchOptions): Promise<Readonly<PlaintextBookmark>[]> {
    await this.load()
    const { Search } = await abortable(this.#loadDeferred(), options.signal)
    const { replica, emitter } = this.#engine
    this.#searches[type] ??= new Search({ live: replica.lives[type] }, emitter, changeOf[type])
    return this.#searches[type].find(query, options)
  }

  /** Loads `deferred.ts`, and connects to the service with it. */
  async #reach(signal: AbortSignal) {
    const deferred = await this.#loadDeferred()
    return { deferred, connected: deferred.connected(this.#engine, this.#connect(deferred), signal) }
  }

  #signalFor(caller: AbortSignal | undefined): AbortSignal {
    return caller ? AbortSignal.any([this.#ended.signal, caller]) : this.#ended.signal
  }

  #abort(): void {
    this.#ended.abort(new DOMException('The sync was stopped', 'AbortError'))
  }

  /** Aborts what runs, and resolves once all of it has ended. The store and the tabs remain usable. */
  async #end(): Promise<void> {
    this.#abort()
    await this.#edits
    await this.#exchanges
    await this.#leading
    await this.#loaded?.catch(() => {})
  }

  /** Stops once the app's signal aborts. A stopped sync does not listen to the signal, which may outlive it. */
  stopAt(signal: AbortSignal): void {
    if (signal.aborted) this.stop()
    else signal.addEventListener('abort', () => this.stop(), { signal: this.#stopped.signal })
  }

  async stop(): Promise<void> {
    const { tabs, replica, status } = this.#engine
    this.#stopped.abort()
    await this.#end()
    if (status.state !== 'signed-out') status.hear({ state: 'offline' })
    tabs.close()
    replica.close()
  }

  /**
   * Deletes the user's data from this device, in all tabs, and then ends the session. Tabs report `signed-out` only
   * after that: a page that reloads on this report must not find the session.
   */
  async signOut({ discardUnsent = false, first, signal }: SignOutOptions): Promise<void> {
    const { replica, tabs, userId, status } = this.#engine
    signal?.throwIfAborted()
    await this.load().catch((error) => {
      if (!(discardUnsent && error instanceof StoreVersionError)) throw error
    })
    const wipe = () => {
      tabs.post({ type: 'signed-out' })
      this.#abort()
      return replica.wipe()
    }
    if (discardUnsent) this.#abort()
    // No more edits: one that finds the store empty would wait for the end of the sign-out, which waits for edits.
    this.#admitsEdits = false
    await this.#edits
    await tabs.exclusively('sign-out', async () => {
      try {
        if (first) await replica.ifSent(discardUnsent)
        await first?.()
        await replica.ifSent(discardUnsent, wipe)
      } catch (error) {
        this.#admitsEdits = true
        throw error
      }
      const failures: unknown[] = []
      const erase = async () => {
        await this.#end()
        this.#forget()
        await this.stop()
        if (globalThis.indexedDB) await forgetMasterKey(userId)
      }
      // Ignored: a browser that denies storage has no stored key.
      await erase().catch((error) => error.name === 'SecurityError' || failures.push(error))
      await this.#logout(signal).catch((error) => failures.push(error))
      status.hear({ state: 'signed-out' })
      if (failures.length > 1) throw new AggregateError(failures, 'The key and the session may be left')
      if (failures.length > 0) throw failures[0]
    })
  }

  async #logout(signal = new AbortController().signal): Promise<void> {
    const { connected } = await abortable(this.#reach(signal), signal)
    await connected.transport.logout({ signal }).catch((error) => {
      // The session has ended already, or is another user's and stays.
      if (!(error instanceof SignedOutError)) throw error
    })
  }

  async #load(): Promise<void> {
    const { tabs } = this.#engine
    await this.#untilSignedOut()
    if (!this.#isListening) tabs.listen((message) => this.#hear(message))
    this.#isListening = true
    await this.#read()
    await this.#engine.replica.takeTypes().catch((error) => {
      // Stored rows can be shown and deleted even on a full disk.
      if (!(error instanceof StorageFullError)) throw error
    })
    followNetwork(this.#engine, this.#ended.signal)
    tabs.post({ type: 'hello' })
  }

  /** Reads the store, repeatedly if another tab blocks it. */
  async #read(): Promise<void> {
    const { replica, status } = this.#engine
    for (;;) {
      try {
        await replica.load()
        if (status.report.reason === 'blocked') status.hear({ state: 'offline' })
        return
      } catch (error) {
        if (this.#ended.signal.aborted || !(error instanceof StoreBlockedError)) throw error
        status.fail(error)
      }
    }
  }

  async #lead(): Promise<void> {
    const { signal } = this.#ended
    const { tabs, status } = this.#engine
    this.#isLeader = false
    status.begin()
    // The leader only reports changes of its state, so this tab asks for the current one.
    tabs.post({ type: 'hello' })
    const task = async () => {
      this.#isLeader = true
      // A sleeping tab may have missed messages of other tabs.
      await this.#read()
      const { deferred, connected } = await this.#untilReached()
      await deferred.lead(connected)
    }
    await tabs
      .exclusively('sync', task, signal)
      .catch((error) => {
        if (!signal.aborted) status.fail(error)
      })
      .finally(() => {
        this.#isLeader = null
      })
  }

  /** Loads the code and connects, again and again while offline: the page may have come from a cache. */
  async #untilReached() {
    const { signal } = this.#ended
    const { clock, network, status } = this.#engine
    for (;;) {
      network.reset()
      if (status.state !== 'online') status.set('connecting')
      try {
        return await abortable(this.#reach(signal), signal)
      } catch (error) {
        signal.throwIfAborted()
        status.fail(error)
      }
      await pause(clock, fileAgainMs, [network.rung], signal)
    }
  }

  #hear(message: TabMessage): void {
    if (!this.#loaded || this.#ended.signal.aborted) return
    const { replica, status, tabs, outbox } = this.#engine
    if (message.type === 'hurry') outbox.endWaits()
    // Also on `hello`: if the browser has emptied the store, a newly opened tab does not know what this one still has.
    if (message.type === 'rows' || message.type === 'hello') {
      const { ids, origin, conflicts } = message.type === 'rows' ? message : nothingNew
      replica.reload(ids, origin, conflicts).catch((error) => {
        if (!this.#ended.signal.aborted) status.fail(error)
      })
    }
    if (message.type === 'state' && !this.#isLeader) {
      const { type: _, ...report } = message
      status.hear(report)
    }
    if (message.type === 'hello' && this.#isLeader) tabs.post({ type: 'state', ...status.report })
    if (message.type === 'signed-out') this.#leave().catch((error) => status.fail(error))
  }

  /** Another tab is signing out: stops here, and waits until that tab has wiped the store and ended the session. */
  async #leave(): Promise<void> {
    this.#abort()
    this.#engine.replica.close()
    await this.#end()
    this.#forget()
    await this.stop()
    await this.#untilSignedOut()
    this.#engine.status.hear({ state: 'signed-out' })
  }

  /** Resolves once no tab is signing out. Until then, the session may still exist. */
  #untilSignedOut(): Promise<void> {
    return this.#engine.tabs.exclusively('sign-out', async () => {})
  }

  /** Clears the bookmarks and keys from memory. */
  #forget(): void {
    const { replica, trees, keys } = this.#engine
    for (const part of [replica, ...Object.values(trees), ...Object.values(this.#searches)]) part.forget()
    eraseKeys(keys)
  }
}

/** Resolves once both promises have settled; `one` must never reject. Does not keep the result of `other`. */
function endOf(one: Promise<unknown>, other: Promise<unknown>): Promise<unknown> {
  return other.catch(() => {}).then(() => one)
}

const nothingNew = { ids: [], origin: 'remote', conflicts: [] } as const

/** Browsers report when the network is lost and when it is back; Node does not. */
function followNetwork({ network, disconnected, status }: Engine, signal: AbortSignal): void {
  const platform = globalThis as Partial<Pick<typeof globalThis, 'addEventListener'>>
  platform.addEventListener?.('online', () => network.ring(), { signal })
  platform.addEventListener?.(
    'offline',
    () => {
      status.set('offline', 'network')
      disconnected.ring()
    },
    { signal },
  )
}
