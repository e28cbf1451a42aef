import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import type { Platform } from '../../../examples/extension/src/platform.ts'
import type { BookmarksApi, BrowserNode } from '../../../src/client/extension.ts'
import { folder, type Service } from '../../support/service.ts'
import { passphrase } from '../fixture.ts'
import { type ExtensionBrowser, startWithExtensions } from './chromium.ts'

interface Calls extends Pick<BookmarksApi, 'create' | 'update' | 'move' | 'remove'> {
  removeTree(id: string): Promise<void>
  getChildren(id: string): Promise<BrowserNode[]>
}
declare const chrome: Platform & { action: { getBadgeText(details: object): Promise<string> } }

/** By the key in the manifest of the example. */
const origin = 'chrome-extension://pcbjnhkdokakkkiifmcaohcbjmochang'
const built = fileURLToPath(new URL('../../../dist/extension/chrome', import.meta.url))

/** A Chromium of its own profile with the example extension, whose user has set it up. */
export class Installed {
  readonly chromium: ExtensionBrowser
  page!: Page

  constructor(chromium: ExtensionBrowser) {
    this.chromium = chromium
  }

  /** Nobody can click on the browser's question for the permission, so this copy has it. */
  static async start(t: Test): Promise<Installed> {
    const copy = join(await folder(t), 'extension')
    await cp(built, copy, { recursive: true })
    const manifest = JSON.parse(await readFile(join(copy, 'manifest.json'), 'utf8'))
    const own = { host_permissions: ['http://127.0.0.1/*'] }
    await writeFile(join(copy, 'manifest.json'), JSON.stringify({ ...manifest, ...own }))
    return new Installed(await startWithExtensions(t, [copy]))
  }

  async open(name = 'start'): Promise<void> {
    await this.page.goto(`${origin}/${name}.html`)
  }

  /** From the first-run page on. */
  async setUp({ origin: server }: Service, name: string): Promise<void> {
    const { page } = this
    await this.open()
    await page.getByLabel('Address of your server').fill(server)
    await page.getByRole('button', { name: 'Continue' }).click()
    await this.#signIn(name)
    const [unlock, create] = [page.getByLabel('Passphrase or recovery code'), page.getByLabel('Once more')]
    await page.locator('form:is(#unlock, #create):not([hidden])').waitFor()
    if (await create.isVisible()) {
      await page.getByLabel('Passphrase', { exact: true }).fill(passphrase)
      await create.fill(passphrase)
      await page.getByRole('button', { name: 'Create the vault' }).click()
      await page.getByRole('checkbox').check()
      await page.getByRole('button', { name: 'Start' }).click()
    } else {
      await unlock.fill(passphrase)
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

  /** Its keys were replaced: badge and popup say so, and lead to the page that asks for the passphrase. */
  async unlockAgain(): Promise<void> {
    const popup = await this.page.context().newPage()
    await popup.goto(`${origin}/popup.html`)
    await popup.getByText('Your keys were replaced on another device').waitFor()
    while ((await popup.evaluate(() => chrome.action.getBadgeText({}))) === '') await popup.waitForTimeout(50)
    const opened = this.page.context().waitForEvent('page')
    await popup.getByRole('button', { name: 'Open the vault' }).click()
    const page = await opened
    await page.getByLabel('Passphrase or recovery code').fill(passphrase)
    await page.getByRole('button', { name: 'Open the vault' }).click()
    await page.getByText('In step').waitFor()
    await page.close()
    await popup.getByText('In step').waitFor()
    while ((await popup.evaluate(() => chrome.action.getBadgeText({}))) !== '') await popup.waitForTimeout(50)
    await popup.close()
  }

  async #signIn(name: string): Promise<void> {
    const opened = this.page.context().waitForEvent('page')
    await this.page.getByRole('button', { name: 'Sign in' }).click()
    const tab = await opened
    const field = tab.locator('input:not([type=hidden])').first()
    // A provider that knows the person does not ask again, and the extension closes the tab.
    await field.fill(name).then(
      () => tab.keyboard.press('Enter'),
      () => {},
    )
  }

  /** As the user of another device does, who ends this one's session. */
  async endSession({ origin: server }: Service): Promise<void> {
    await this.page.evaluate(
      (url) => fetch(url, { method: 'POST', credentials: 'include' }),
      `${server}/api/v1/auth/logout`,
    )
  }

  /** On the page of settings. */
  async onOptions(work: (page: Page) => Promise<unknown>): Promise<void> {
    const options = await this.page.context().newPage()
    await options.goto(`${origin}/options.html`)
    await work(options)
    await options.close()
  }

  /** Calls `chrome.bookmarks` in a page of the extension. */
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

  /** Adds a link, and returns its id. */
  async add(parentId: string, title: string, index?: number): Promise<string> {
    const url = `https://example.org/${encodeURIComponent(title)}`
    const place = index === undefined ? {} : { index }
    return (await this.call('create', { parentId, title, url, ...place })).id
  }

  async nodeOf(title: string): Promise<BrowserNode> {
    const [top] = await this.#tree()
    const pending = [...(top?.children ?? [])]
    for (const node of pending) {
      if (node.title === title) return node
      pending.push(...(node.children ?? []))
    }
    throw new Error(`There is no ${title}`)
  }

  async find(title: string): Promise<string> {
    return (await this.nodeOf(title)).id
  }

  #tree(): Promise<BrowserNode[]> {
    return this.page.evaluate(() => chrome.bookmarks.getTree())
  }

  /** Presses a button of the popup. */
  async press(name: string): Promise<void> {
    const popup = await this.page.context().newPage()
    await popup.goto(`${origin}/popup.html`)
    const button = popup.getByRole('button', { name, exact: true })
    await button.click()
    await button.waitFor({ state: 'hidden' })
    await popup.close()
  }

  /** A message starts a worker that was stopped. */
  async wake(): Promise<void> {
    await this.page.evaluate(() => chrome.runtime.sendMessage({ ask: 'state' }))
  }

  /** The bookmarks as lines: two spaces a level, `title url`. */
  async lines(): Promise<string[]> {
    const [top] = await this.#tree()
    const write = (nodes: BrowserNode[] = [], indent: string): string[] =>
      nodes.flatMap(({ title, url, children }) => [
        `${indent}${url === undefined ? `${title}/` : `${title} ${url}`}`,
        ...write(children, `${indent}  `),
      ])
    return write(top?.children, '')
  }

  async stopWorker(): Promise<void> {
    const debugging = await this.page.context().newCDPSession(this.page)
    await debugging.send('ServiceWorker.enable')
    await debugging.send('ServiceWorker.stopAllWorkers')
    await debugging.detach()
  }
}
