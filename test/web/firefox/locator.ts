import { setTimeout as sleep } from 'node:timers/promises'
import { type Action, inPage, type Query } from './in-page.ts'
import type { FirefoxPage } from './page.ts'

const pollMs = 50

/** An element of a page, as Playwright's `Locator` is. */
export class FirefoxLocator {
  readonly #page: FirefoxPage
  readonly #query: Query

  constructor(page: FirefoxPage, query: Query) {
    this.#page = page
    this.#query = query
  }

  isVisible(): Promise<boolean> {
    return this.#page.evaluate(inPage, { query: this.#query, action: 'look' as Action })
  }

  async waitFor({ state = 'visible' }: { state?: 'visible' | 'hidden' } = {}): Promise<void> {
    // A page that is being loaded does not answer.
    while ((await this.isVisible().catch(() => undefined)) !== (state === 'visible')) await sleep(pollMs)
  }

  fill(fill: string): Promise<void> {
    return this.#act({ fill })
  }

  click(): Promise<void> {
    return this.#act('click')
  }

  /** What a script clicks at is not the user's to Firefox, which asks for permissions only after a key or a button of theirs. */
  async pressEnter(): Promise<void> {
    await this.#act('focus')
    await this.#page.pressEnter()
  }

  check(): Promise<void> {
    return this.#act('check')
  }

  uncheck(): Promise<void> {
    return this.#act('uncheck')
  }

  /** Waits for the element; rejects once the page is closed. */
  async #act(action: Action): Promise<void> {
    const tryIt = () => this.#page.evaluate(inPage, { query: this.#query, action })
    while (!(await tryIt().catch(retryUnlessClosed))) await sleep(pollMs)
  }
}

function retryUnlessClosed(error: Error): false {
  if (error.message.includes('no such frame')) throw error
  return false
}
