import { randomUUID } from 'node:crypto'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import type { Platform, Question } from '../../../src/extension/app/platform.ts'
import type { BookmarksApi, BrowserNode } from '../../../src/extension/index.ts'
import { folder, type Service } from '../../support/service.ts'
import { passphrase } from '../fixture.ts'
import { type Command, startFirefox } from './bidi.ts'
import { FirefoxBrowser, type FirefoxPage } from './page.ts'
import { countWakes, type Wakes } from './wakes.ts'

interface Calls extends Pick<BookmarksApi, 'create' | 'update' | 'move' | 'remove'> {
  removeTree(id: string): Promise<void>
}
declare const chrome: Platform & { extension: { getBackgroundPage(): { wakes: Wakes } } }

const extensionId = 'encrypted-bookmark-sync@example.org'

/** A Firefox of its own profile with the example extension, whose background page counts what it does. */
export class Installed {
  readonly #command: Command
  readonly #browser: FirefoxBrowser
  readonly #origin: string
  page!: FirefoxPage

  constructor(command: Command, origin: string) {
    this.#command = command
    this.#browser = new FirefoxBrowser(command)
    this.#origin = origin
  }

  static async start(t: Test, program: string): Promise<Installed> {
    const path = join(await folder(t), 'extension')
    await cp(fileURLToPath(new URL('../../../dist/extension/firefox', import.meta.url)), path, { recursive: true })
    const background = join(path, 'worker.js')
    await writeFile(background, `(${countWakes})()\n${await readFile(background, 'utf8')}`)
    const uuid = randomUUID()
    const command = await startFirefox(t, program, {
      'extensions.webextensions.uuids': JSON.stringify({ [extensionId]: uuid }),
      // Nobody can click on the browser's question for a permission.
      'extensions.webextOptionalPermissionPrompts': false,
    })
    await command('webExtension.install', { extensionData: { type: 'path', path } })
    const installed = new Installed(command, `moz-extension://${uuid}`)
    installed.page = await installed.#browser.newPage()
    await installed.open()
    return installed
  }

  open(name = 'start'): Promise<void> {
    return this.page.goto(`${this.#origin}/${name}.html`)
  }

  /** From the first-run page on. */
  async setUp({ origin: server }: Service, name: string): Promise<void> {
    const { page } = this
    await this.open()
    await page.getByLabel('Address of your server').fill(server)
    await page.getByRole('button', { name: 'Continue' }).pressEnter()
    await this.#signIn(name)
    await page.locator('form:is(#unlock, #create):not([hidden])').waitFor()
    if (await page.getByLabel('Once more').isVisible()) {
      await page.getByLabel('Passphrase', { exact: true }).fill(passphrase)
      await page.getByLabel('Once more').fill(passphrase)
      await page.getByRole('button', { name: 'Create the vault' }).click()
      await page.getByRole('checkbox').check()
      await page.getByRole('button', { name: 'Start' }).click()
    } else {
      await page.getByLabel('Passphrase or recovery code').fill(passphrase)
      await page.getByRole('button', { name: 'Open the vault' }).click()
    }
    await page.getByText('In step').waitFor()
  }

  /** Its session has ended, but not its vault. */
  async signInAgain(name: string): Promise<void> {
    await this.open()
    await this.#signIn(name)
    await this.page.getByText('In step').waitFor()
  }

  async #signIn(name: string): Promise<void> {
    const opened = this.#browser.nextPage()
    await this.page.getByRole('button', { name: 'Sign in' }).click()
    const tab = await opened
    // A provider that knows the person does not ask again, and the extension closes the tab.
    await tab
      .locator('input:not([type=hidden])')
      .fill(name)
      .then(
        () => tab.pressEnter(),
        () => {},
      )
  }

  /** As the user of another device does, who ends this one's session. */
  async endSession({ origin: server }: Service): Promise<void> {
    await this.page.evaluate(
      (url) => fetch(url, { method: 'POST', credentials: 'include' }).then(({ status }) => status),
      `${server}/api/v1/auth/logout`,
    )
  }

  async inTab(name: string, work: (page: FirefoxPage) => Promise<unknown>): Promise<void> {
    const tab = await this.#browser.newPage()
    await tab.goto(`${this.#origin}/${name}.html`)
    await work(tab)
    await tab.close()
  }

  /** Presses a button of the popup. */
  press(name: string): Promise<void> {
    return this.inTab('popup', async (popup) => {
      const button = popup.getByRole('button', { name, exact: true })
      await button.click()
      await button.waitFor({ state: 'hidden' })
    })
  }

  ask(question: Question): Promise<object> {
    return this.page.evaluate((question) => chrome.runtime.sendMessage(question), question)
  }

  /** Calls `browser.bookmarks` in a page of the extension. */
  call<Name extends keyof Calls>(
    name: Name,
    ...values: Parameters<Calls[Name]>
  ): Promise<Awaited<ReturnType<Calls[Name]>>> {
    const evaluate = ([name, values]: [string, unknown[]]) =>
      (chrome.bookmarks as object as Record<string, (...values: unknown[]) => unknown>)[name]?.(...values)
    return this.page.evaluate(evaluate, [name, values] as [string, unknown[]]) as Promise<
      Awaited<ReturnType<Calls[Name]>>
    >
  }

  /** Adds a link, or whatever else, and returns its id. */
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

  /** As Firefox does with a background page that has had nothing to do. */
  async stopBackground(): Promise<void> {
    await this.#inBrowser('terminateBackground()')
  }

  backgroundState(): Promise<string | undefined> {
    return this.#inBrowser('backgroundState')
  }

  wakes(): Promise<Wakes> {
    return this.page.evaluate(() => chrome.extension.getBackgroundPage().wakes)
  }

  async #inBrowser(what: string): Promise<string | undefined> {
    const { contexts } = await this.#command<{ contexts: { context: string }[] }>('browsingContext.getTree', {
      'moz:scope': 'chrome',
    })
    const { result } = await this.#command<{ result: { value?: string } }>('script.evaluate', {
      target: { context: contexts[0]?.context },
      expression: `WebExtensionPolicy.getByID('${extensionId}').extension.${what}`,
      awaitPromise: true,
    })
    return result.value
  }
}
