import { abortable } from '../../timing/clock.ts'
import { exchange } from '../exchange/exchange.ts'
import type { TabMessage } from '../store/tabs.ts'
import type { Engine } from './engine.ts'
import { lead } from './lead.ts'

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
    this.#engine.outbox.reopen()
    this.#leading ??= this.#lead().finally(() => {
      this.#leading = undefined
    })
  }

  async syncNow(caller: AbortSignal | undefined): Promise<void> {
    await this.load()
    const { outbox, status, network } = this.#engine
    const signal = caller ? AbortSignal.any([this.#ended.signal, caller]) : this.#ended.signal
    outbox.reopen()
    try {
      await abortable(exchange(this.#engine, signal), signal)
    } catch (error) {
      if (!signal.aborted && this.#isLeader !== false) status.fail(error)
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
    const { tabs, replica } = this.#engine
    await this.#untilSignedOut()
    await replica.load()
    followNetwork(this.#engine, this.#ended.signal)
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
        if (!signal.aborted) this.#engine.status.fail(error)
      })
      .finally(() => {
        this.#isLeader = null
      })
  }

  #hear(message: TabMessage): void {
    if (!this.#loaded || this.#ended.signal.aborted) return
    const { replica, status, tabs } = this.#engine
    if (message.type === 'rows') {
      const { ids, origin, conflicts } = message
      replica.reload(ids, origin, conflicts).catch((error) => status.fail(error))
    }
    if (message.type === 'state' && !this.#isLeader) status.hear(message.state)
    if (message.type === 'hello' && this.#isLeader) tabs.post({ type: 'state', state: status.state })
    if (message.type === 'signed-out') this.#leave().catch((error) => status.fail(error))
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

/** Browsers know when the network goes and comes; Node does not say. */
function followNetwork({ network, disconnected, status }: Engine, signal: AbortSignal): void {
  const platform = globalThis as Partial<Pick<typeof globalThis, 'addEventListener'>>
  platform.addEventListener?.('online', () => network.ring(), { signal })
  platform.addEventListener?.(
    'offline',
    () => {
      status.set('offline')
      disconnected.ring()
    },
    { signal },
  )
}
