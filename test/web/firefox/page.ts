import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from './bidi.ts'
import { FirefoxLocator } from './locator.ts'

interface Tree {
  contexts: { context: string; url: string }[]
}

type Evaluated =
  | { type: 'success'; result: { value?: string } }
  | { type: 'exception'; exceptionDetails: { text: string } }

const pollMs = 50
/** As WebDriver writes the key. */
const enter = '\uE007'

/** A Firefox and its tabs. */
export class FirefoxBrowser {
  readonly command: Command

  constructor(command: Command) {
    this.command = command
  }

  async newPage(): Promise<FirefoxPage> {
    const { context } = await this.command<{ context: string }>('browsingContext.create', { type: 'tab' })
    return new FirefoxPage(this, context)
  }

  /** The next tab that is opened. */
  async nextPage(): Promise<FirefoxPage> {
    const before = this.#tabs()
    for (;;) {
      const known = new Set(await before)
      const opened = (await this.#tabs()).find((tab) => !known.has(tab))
      if (opened !== undefined) return new FirefoxPage(this, opened)
      await sleep(pollMs)
    }
  }

  async #tabs(): Promise<string[]> {
    const { contexts } = await this.command<Tree>('browsingContext.getTree', { maxDepth: 0 })
    return contexts.map(({ context }) => context)
  }
}

/** A tab, asked for its elements as Playwright's `Page` is: for the first that fits and is seen. */
export class FirefoxPage {
  readonly #browser: FirefoxBrowser
  readonly #context: string

  constructor(browser: FirefoxBrowser, context: string) {
    this.#browser = browser
    this.#context = context
  }

  /** Resolves once it is loaded. */
  async goto(url: string): Promise<void> {
    await this.#browser.command('browsingContext.navigate', { context: this.#context, url, wait: 'none' })
    const isThere = (url: string) => location.href === url && document.readyState === 'complete'
    while (!(await this.evaluate(isThere, url).catch(() => false))) await sleep(pollMs)
  }

  async close(): Promise<void> {
    await this.#browser.command('browsingContext.close', { context: this.#context })
  }

  async evaluate<Result, Value>(work: (value: Value) => Result | Promise<Result>, value?: Value): Promise<Result> {
    const answer = await this.#browser.command<Evaluated>('script.callFunction', {
      functionDeclaration: `async (json) => JSON.stringify(await (${work})(JSON.parse(json)))`,
      arguments: [{ type: 'string', value: JSON.stringify(value ?? null) }],
      target: { context: this.#context },
      awaitPromise: true,
      userActivation: true,
    })
    if (answer.type === 'exception') throw new Error(answer.exceptionDetails.text)
    return JSON.parse(answer.result.value ?? 'null')
  }

  getByLabel(value: string, { exact }: { exact?: boolean } = {}): FirefoxLocator {
    return new FirefoxLocator(this, { by: 'label', value, exact })
  }

  getByRole(value: string, { name, exact }: { name?: string; exact?: boolean } = {}): FirefoxLocator {
    return new FirefoxLocator(this, { by: 'role', value, name, exact })
  }

  getByText(value: string): FirefoxLocator {
    return new FirefoxLocator(this, { by: 'text', value })
  }

  locator(value: string): FirefoxLocator {
    return new FirefoxLocator(this, { by: 'css', value })
  }

  async pressEnter(): Promise<void> {
    const actions = ['keyDown', 'keyUp'].map((type) => ({ type, value: enter }))
    await this.#browser.command('browsingContext.activate', { context: this.#context })
    await this.#browser.command('input.performActions', {
      context: this.#context,
      actions: [{ type: 'key', id: 'keyboard', actions }],
    })
  }
}
