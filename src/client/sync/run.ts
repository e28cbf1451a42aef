import { abortable, anySignal } from './abortable.ts'
import type { Engine } from './engine.ts'
import { exchange } from './exchange.ts'
import { reportFailure } from './failure.ts'
import { lead } from './lead.ts'
import { followNetwork } from './network-events.ts'
import type { TabMessage } from './tabs.ts'

/** The engine's life in this tab. */
export class Run {
  readonly #engine: Engine
  readonly #ended = new AbortController()
  #loaded: Promise<void> | undefined
  #leading: Promise<void> | undefined
  /** Null: this tab was not started; false: it waits while another one leads. */
  #isLeader: boolean | null = null

  constructor(engine: Engine) {
    this.#engine = engine
    engine.tabs.listen((message) => this.#hear(message))
  }

  /** Resolves once what is stored was read; hears the other tabs from then on. */
  load(): Promise<void> {
    this.#ended.signal.throwIfAborted()
    this.#loaded ??= this.#load().catch((error) => {
      this.#loaded = undefined
      throw error
    })
    return this.#loaded
  }

  /** Leads as soon as no other tab does; again, when the session was over. */
  async start(): Promise<void> {
    await this.load()
    this.#engine.isPushRefused = false
    this.#leading ??= this.#lead().finally(() => {
      this.#leading = undefined
    })
  }

  async syncNow(caller: AbortSignal | undefined): Promise<void> {
    await this.load()
    const { status, network } = this.#engine
    const signal = anySignal(this.#ended.signal, caller)
    this.#engine.isPushRefused = false
    try {
      await abortable(exchange(this.#engine, signal), signal)
    } catch (error) {
      if (!signal.aborted && this.#isLeader !== false) reportFailure(this.#engine, error)
      throw error
    }
    if (status.state !== 'online' && this.#isLeader !== false) status.set('polling')
    network.ring()
  }

  /** Resolves when nothing runs any more. The store and the tabs can still be reached. */
  async end(): Promise<void> {
    this.#ended.abort(new DOMException('The sync was stopped', 'AbortError'))
    await this.#leading
    await this.#loaded?.catch(() => {})
  }

  async stop(): Promise<void> {
    const { tabs, replica, status } = this.#engine
    await this.end()
    if (status.state !== 'signed-out') status.hear('offline')
    tabs.close()
    replica.close()
  }

  async #load(): Promise<void> {
    const { tabs, replica, status } = this.#engine
    await this.#untilSignedOut()
    await replica.load()
    followNetwork(this.#engine, this.#ended.signal)
    status.refresh()
    tabs.post({ type: 'hello' })
  }

  async #lead(): Promise<void> {
    const { signal } = this.#ended
    this.#isLeader = false
    const task = async () => {
      this.#isLeader = true
      // Messages of other tabs may have been missed, asleep.
      await this.#engine.replica.load()
      await lead(this.#engine, signal)
    }
    await this.#engine.tabs
      .exclusively('sync', task, signal)
      .catch((error) => {
        if (!signal.aborted) reportFailure(this.#engine, error)
      })
      .finally(() => {
        this.#isLeader = null
      })
  }

  #hear(message: TabMessage): void {
    if (!this.#loaded || this.#ended.signal.aborted) return
    const { status, tabs } = this.#engine
    if (message.type === 'rows') this.#takeRows(message).catch((error) => reportFailure(this.#engine, error))
    if (message.type === 'state' && !this.#isLeader) status.hear(message.state)
    if (message.type === 'hello' && this.#isLeader) tabs.post({ type: 'state', state: status.state })
    if (message.type === 'signed-out') this.#leave().catch((error) => reportFailure(this.#engine, error))
  }

  async #takeRows({ ids, origin, conflicts }: Extract<TabMessage, { type: 'rows' }>): Promise<void> {
    const { replica, emitter, status, work } = this.#engine
    await replica.reload(ids, origin)
    for (const conflict of conflicts) emitter.emit('conflict', conflict)
    status.refresh()
    if (origin === 'remote') return
    this.#engine.isPushRefused = false
    work.ring()
  }

  /** Another tab signs out: it wipes the store and ends the session, which is waited for. */
  async #leave(): Promise<void> {
    await this.end()
    this.forget()
    await this.stop()
    await this.#untilSignedOut()
    this.#engine.status.hear('signed-out')
  }

  /** As long as a tab signs out, the session is still there. */
  #untilSignedOut(): Promise<void> {
    return this.#engine.tabs.exclusively('sign-out', async () => {})
  }

  /** Leaves nothing in memory. */
  forget(): void {
    const { replica, keys } = this.#engine
    replica.forget()
    for (const key of [keys.recordKey, keys.hashKey, keys.exportKey]) key.fill(0)
  }
}
