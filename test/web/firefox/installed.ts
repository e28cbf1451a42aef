import { randomUUID } from 'node:crypto'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import puppeteer, { type Browser, type Page, type Target } from 'puppeteer-core'
import type { Test } from 'tap'
import type { Answer, Platform, Question } from '../../../src/extension/app/platform.ts'
import type { BookmarksApi, BrowserNode } from '../../../src/extension/index.ts'
import { folder, type Service } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { passphrase } from '../fixture.ts'

interface Calls extends Pick<BookmarksApi, 'create' | 'update' | 'move' | 'remove'> {
  removeTree(id: string): Promise<void>
}
/** The actions of the extension's background page since its start. */
interface Wakes {
  timers: number
  requests: number
  /** The types of the socket's messages. */
  messages: string[]
}
interface Policy {
  extension: { backgroundState: string; terminateBackground(): Promise<void> }
}
declare const chrome: Platform & { extension: { getBackgroundPage(): { wakes: Wakes } } }
/** Works only in Firefox's own pages. */
declare const WebExtensionPolicy: { getByID(id: string): Policy }

const extensionId = 'encrypted-bookmark-sync@example.org'

/** Puppeteer's selector of an element by its role and name. */
export function named(role: string, name: string): string {
  return `::-p-aria([role="${role}"][name="${name}"])`
}

/**
 * A Firefox with a separate profile and the example extension, whose background page counts its actions. Puppeteer
 * drives it, because Playwright cannot follow extension pages, which Firefox runs in another process.
 */
export class Installed {
  readonly page: Page
  readonly #browser: Browser
  readonly #origin: string

  private constructor(browser: Browser, page: Page, origin: string) {
    this.#browser = browser
    this.page = page
    this.#origin = origin
  }

  static async start(t: Test, program: string): Promise<Installed> {
    const path = join(await folder(t), 'extension')
    await cp(fileURLToPath(new URL('../../../dist/extension/firefox', import.meta.url)), path, { recursive: true })
    const background = join(path, 'worker.js')
    await writeFile(background, `(${countWakes})()\n${await readFile(background, 'utf8')}`)
    const uuid = randomUUID()
    const browser = await puppeteer.launch({
      browser: 'firefox',
      executablePath: program,
      // Gives access to Firefox's own pages, which can stop the background page.
      args: ['--remote-allow-system-access'],
      extraPrefsFirefox: {
        'extensions.webextensions.uuids': JSON.stringify({ [extensionId]: uuid }),
        // No test can click on the browser's permission prompt.
        'extensions.webextOptionalPermissionPrompts': false,
      },
    })
    t.teardown(() => browser.close())
    await browser.installExtension(path)
    const installed = new Installed(browser, await newPage(browser), `moz-extension://${uuid}`)
    await installed.open()
    return installed
  }

  open(name = 'start'): Promise<void> {
    return visit(this.page, `${this.#origin}/${name}.html`)
  }

  /** Sets the extension up on its first-run page. */
  async setUp({ origin: server }: Service, name: string): Promise<void> {
    const { page } = this
    await this.open()
    await page.locator(named('textbox', 'Address of your server')).fill(server)
    await page.locator(named('button', 'Continue')).click()
    await this.#signIn(name)
    await page.locator('form:is(#unlock, #create):not([hidden])').wait()
    if (await page.$('#create:not([hidden])')) {
      await page.locator('#create [name=secret]').fill(passphrase)
      await page.locator('#create [name=again]').fill(passphrase)
      await page.locator(named('button', 'Create the vault')).click()
      await page.locator('#recovery [type=checkbox]').click()
      await page.locator(named('button', 'Start')).click()
    } else {
      await page.locator('#unlock [name=secret]').fill(passphrase)
      await page.locator(named('button', 'Open the vault')).click()
    }
    await page.locator('::-p-text(In step)').wait()
  }

  /** Signs in again after the session has ended, and opens the existing vault. */
  async signInAgain(name: string): Promise<void> {
    await this.open()
    await this.#signIn(name)
    await this.page.locator('::-p-text(In step)').wait()
  }

  async #signIn(name: string): Promise<void> {
    const opened = new Promise<Target>((resolve) => this.#browser.once('targetcreated', resolve))
    await this.page.locator(named('button', 'Sign in')).click()
    const tab = await (await opened).page()
    // A provider that knows the person does not ask again, and the extension closes the tab.
    const closed = new AbortController()
    tab?.once('close', () => closed.abort())
    if (!tab || tab.isClosed()) return
    await tab
      .locator('input:not([type=hidden])')
      .setTimeout(0)
      .fill(name, { signal: closed.signal })
      .then(
        () => tab.keyboard.press('Enter'),
        () => {},
      )
  }

  /** Ends this device's session, as the user of another device does. */
  async endSession({ origin: server }: Service): Promise<void> {
    await this.page.evaluate(
      (url) => fetch(url, { method: 'POST', credentials: 'include' }).then(({ status }) => status),
      `${server}/api/v1/auth/logout`,
    )
  }

  async inTab(name: string, work: (page: Page) => Promise<unknown>): Promise<void> {
    const tab = await newPage(this.#browser)
    await visit(tab, `${this.#origin}/${name}.html`)
    await work(tab)
    await tab.close()
  }

  async visitInTab(url: string): Promise<void> {
    const tab = await newPage(this.#browser)
    await visit(tab, url)
    await tab.close()
  }

  /** Presses a button of the popup, which must then disappear. */
  press(name: string): Promise<void> {
    return this.inTab('popup', async (popup) => {
      await popup.locator(named('button', name)).click()
      await until(async () => (await popup.$(named('button', name))) === null)
    })
  }

  ask(question: Question): Promise<Answer> {
    return this.page.evaluate((question) => chrome.runtime.sendMessage(question), question)
  }

  /** Calls `browser.bookmarks` in a page of the extension. */
  call<Name extends keyof Calls>(
    name: Name,
    ...values: Parameters<Calls[Name]>
  ): Promise<Awaited<ReturnType<Calls[Name]>>> {
    const evaluate = (name: string, values: unknown[]) =>
      (chrome.bookmarks as object as Record<string, (...values: unknown[]) => unknown>)[name]?.(...values)
    return this.page.evaluate(evaluate, name, values) as Promise<Awaited<ReturnType<Calls[Name]>>>
  }

  /** Adds a link or another node, and returns its id. */
  async add(parentId: string, title: string, more: object = { url: `https://example.org/${title}` }): Promise<string> {
    return (await this.call('create', { parentId, title, ...more })).id
  }

  async roots(): Promise<BrowserNode[]> {
    const [top] = await this.page.evaluate(() => chrome.bookmarks.getTree())
    return top?.children ?? []
  }

  async nodeOf(title: string): Promise<BrowserNode> {
    const pending = await this.roots()
    for (const node of pending) {
      if (node.title === title) return node
      pending.push(...(node.children ?? []))
    }
    throw new Error(`There is no ${title}`)
  }

  async find(title: string): Promise<string> {
    return (await this.nodeOf(title)).id
  }

  /** Stops the background page, as Firefox does when it is idle. */
  stopBackground(): Promise<string> {
    return this.#inFirefox(async (id) => {
      const { extension } = WebExtensionPolicy.getByID(id)
      await extension.terminateBackground()
      return extension.backgroundState
    })
  }

  backgroundState(): Promise<string> {
    return this.#inFirefox((id) => WebExtensionPolicy.getByID(id).extension.backgroundState)
  }

  async #inFirefox(work: (id: string) => string | Promise<string>): Promise<string> {
    const tab = await newPage(this.#browser)
    await visit(tab, 'about:processes')
    const result = await tab.evaluate(work, extensionId)
    await tab.close()
    return result
  }

  wakes(): Promise<Wakes> {
    return this.page.evaluate(() => chrome.extension.getBackgroundPage().wakes)
  }

  /** Leaves the extension's page, so that only the background page is left. */
  leave(): Promise<void> {
    return visit(this.page, 'about:blank')
  }
}

async function newPage(browser: Browser): Promise<Page> {
  const page = await browser.newPage()
  page.setDefaultTimeout(600_000)
  return page
}

/** Puppeteer does not report that a page of an extension, or of Firefox itself, has loaded. */
async function visit(page: Page, url: string): Promise<void> {
  page.goto(url, { timeout: 0 }).catch(() => {})
  const isLoaded = (url: string) => location.href === url && document.readyState === 'complete'
  await until(() => page.evaluate(isLoaded, url).catch(() => false))
}

/** Runs before the background page's own code, and counts its actions. */
function countWakes(): void {
  const wakes: Wakes = { timers: 0, requests: 0, messages: [] }
  const { setTimeout: later, setInterval: often, fetch: send, WebSocket: Socket } = globalThis
  const counted =
    (set: (work: () => void, ms?: number) => unknown) =>
    (work: () => void, ms?: number): unknown => {
      const counting = () => {
        wakes.timers++
        work()
      }
      return set(counting, ms)
    }
  class CountedSocket extends Socket {
    constructor(url: string) {
      super(url)
      this.addEventListener('message', ({ data }) => wakes.messages.push(JSON.parse(data).type))
    }
  }
  Object.assign(globalThis, {
    wakes,
    setTimeout: counted(later),
    setInterval: counted(often),
    WebSocket: CountedSocket,
    fetch: (...values: Parameters<typeof fetch>) => {
      wakes.requests++
      return send(...values)
    },
  })
}
