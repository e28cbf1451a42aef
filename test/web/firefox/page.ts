import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from './bidi.ts'

interface Tree {
  contexts: { context: string; url: string }[]
}

type Evaluated =
  | { type: 'success'; result: { value?: string } }
  | { type: 'exception'; exceptionDetails: { text: string } }

/** How an element is found: by its text, or, with a role, by its name; a label stands for its field. */
interface Query {
  by: 'label' | 'role' | 'text' | 'css'
  value: string
  name?: string | undefined
  exact?: boolean | undefined
}

type Action = 'look' | 'focus' | 'click' | 'check' | 'uncheck' | { fill: string }

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

class FirefoxLocator {
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

/** Runs in the page: whether the element is there and seen, and so the action done. */
function inPage({ query, action }: { query: Query; action: Action }): boolean {
  const { by, value, name, exact } = query
  const plain = (text: string | null) => (text ?? '').replace(/\s+/g, ' ').trim()
  const isNamed = (text: string | null, wanted: string | undefined) =>
    wanted === undefined || (exact ? plain(text) === wanted : plain(text).toLowerCase().includes(wanted.toLowerCase()))
  const ways = {
    label: () =>
      [...document.querySelectorAll('label')]
        .filter((label) => isNamed(label.textContent, value))
        .map((one) => one.control),
    role: () =>
      [...document.querySelectorAll(value === 'checkbox' ? 'input[type=checkbox]' : value)].filter((one) =>
        isNamed(one.textContent, name),
      ),
    text: () =>
      [...document.body.querySelectorAll('*')].filter(
        (one) => one.children.length === 0 && isNamed(one.textContent, value),
      ),
    css: () => [...document.querySelectorAll(value)],
  }
  const isSeen = (one: Element | null) => one?.checkVisibility({ visibilityProperty: true })
  const element = ways[by]().find(isSeen) as HTMLInputElement | undefined
  if (!element) return false
  if (typeof action === 'object') {
    element.focus()
    element.value = action.fill
    for (const type of ['input', 'change']) element.dispatchEvent(new Event(type, { bubbles: true }))
  } else if (action === 'focus') element.focus()
  else if (action === 'click') element.click()
  else if (action !== 'look' && element.checked !== (action === 'check')) element.click()
  return true
}
