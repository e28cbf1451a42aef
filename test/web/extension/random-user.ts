import { setTimeout as sleep } from 'node:timers/promises'
import type { Dice } from '../../client/chaos/dice.ts'
import type { Marks } from '../../extension/marks.ts'
import type { Installed } from './installed.ts'
import type { Network } from './network.ts'
import { RandomEdits } from './random-edits.ts'

/** A worker has about so many calls to make in a sync. */
const mostCalls = 30
/** Users pause that long at most. */
const mostPauseMs = 1500

/** A user of a Chromium who does whatever comes, while its network goes and comes, and its workers die. */
export class RandomUser {
  readonly #name: string
  readonly #browser: Installed
  readonly #network: Network
  readonly #dice: Dice
  readonly #edits: RandomEdits
  readonly #note: (text: string) => void
  /** Its workers die at a call. */
  #isDying = false

  constructor(
    name: string,
    browser: Installed,
    network: Network,
    dice: Dice,
    marks: Marks,
    note: (text: string) => void,
  ) {
    this.#name = name
    this.#browser = browser
    this.#network = network
    this.#dice = dice
    this.#note = (text) => note(`${name} ${text}`)
    this.#edits = new RandomEdits(browser, dice, marks, this.#note)
  }

  async operate(): Promise<void> {
    if (this.#isDying && (await this.#browser.hasDied())) await this.#bury()
    const kind = this.#dice.draw({ edit: 68, pause: 11, kill: 10, network: 5, decide: 5, close: 1 })
    if (kind === 'edit') await this.#edits.edit(!this.#isDying)
    else if (kind === 'pause') await sleep(this.#dice.below(mostPauseMs))
    else if (kind === 'kill') await this.#kill()
    else if (kind === 'decide') await this.#decide()
    else if (kind === 'close') await this.#close()
    else this.#changeNetwork()
  }

  /** Its network is there again, and a worker that lives on. */
  async recover(): Promise<void> {
    this.#network.find()
    this.#isDying = false
    await this.#browser.live()
    await this.#browser.ask({ ask: 'sync-now' }).catch(() => {})
  }

  /** What stops the two sides from being the same. */
  async whatWaits(): Promise<string[]> {
    await this.#decide()
    const { state } = await this.#browser.ask({ ask: 'state' })
    const { sync, browser, refused = [] } = state ?? {}
    const isDone = sync?.state === 'online' && sync.waiting === 0 && browser?.state === 'in-step'
    return isDone && refused.length === 0 ? [] : [`${this.#name}: ${JSON.stringify(state)}`]
  }

  /** The worker that has died is gone: the browser starts another one for what happens next. */
  async #bury(): Promise<void> {
    this.#note('has lost its worker')
    this.#isDying = false
    await this.#browser.letLive()
  }

  async #kill(): Promise<void> {
    const kind = this.#dice.draw({ now: 1, atCall: 2 })
    const call = 1 + this.#dice.below(mostCalls)
    if (this.#isDying) {
      this.#note('has a worker that lives on')
      await this.#browser.live()
    } else if (kind === 'now') {
      this.#note('has its worker stopped')
      await this.#browser.stopWorker()
    } else {
      this.#note(`has a worker that dies at call ${call}`)
      await this.#browser.dieAt(call)
    }
    this.#isDying = !this.#isDying && kind === 'atCall'
  }

  /** Deletes that need a yes have it. */
  async #decide(): Promise<void> {
    if (this.#isDying) return
    const { held = { browser: [], devices: [] } } = await this.#browser.ask({ ask: 'held' })
    for (const side of ['browser', 'devices'] as const) {
      const ids = held[side].map(({ id }) => id)
      if (ids.length === 0) continue
      this.#note(`approves ${ids.length} deletes of ${side}`)
      await this.#browser.ask({ ask: 'decide', side, deletes: true, ids })
    }
  }

  async #close(): Promise<void> {
    this.#note('closes the browser, and opens it again')
    this.#isDying = false
    await this.#browser.closeAndOpen()
  }

  #changeNetwork(): void {
    if (this.#network.isLost) this.#network.find()
    else this.#network.lose()
    this.#note(this.#network.isLost ? 'is offline' : 'is online')
  }
}
