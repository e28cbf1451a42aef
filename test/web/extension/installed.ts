import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Browser, Page, Worker } from 'playwright-core'
import type { Test } from 'tap'
import type { Answer, Platform, Question } from '../../../src/extension/app/platform.ts'
import type { BookmarksApi, BrowserNode } from '../../../src/extension/index.ts'
import { folder } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { contextOf, type ExtensionBrowser, startChromium, startWithExtensions } from './chromium.ts'

interface Calls extends Pick<BookmarksApi, 'create' | 'update' | 'move' | 'remove'> {
  removeTree(id: string): Promise<void>
  getSubTree(id: string): Promise<BrowserNode[]>
}
interface More {
  bookmarkManagerPrivate: Record<'cut' | 'removeTrees', (ids: string[]) => Promise<void>> & {
    paste(parentId: string): Promise<void>
    undo(): Promise<void>
  }
  runtime: { getManifest(): { version: string } }
  storage: { session: { remove(names: string[]): Promise<void> } }
}
declare const chrome: Platform & More

/** Global values that death.ts sets in the worker. */
interface WorkerLife {
  /** Random, so different for each worker that the browser starts. */
  life: string
  /** The WebSockets of this worker, by the types of the messages received. */
  sockets: string[][]
}

/** The id that follows from the key in the example's manifest. */
export const origin = 'chrome-extension://pcbjnhkdokakkkiifmcaohcbjmochang'
const built = fileURLToPath(new URL('../../../dist/extension/chrome', import.meta.url))
const death = fileURLToPath(new URL('death.ts', import.meta.url))

const none = { api: [], sites: [] }

/** Bookmarks bar and other bookmarks, in Chrome. */
export const [bar, other] = ['1', '2'] as const

/** A Chromium with a separate profile and the example extension. */
export class Installed {
  readonly chromium: ExtensionBrowser
  readonly #copy: string
  #browser: Browser | undefined
  page!: Page

  private constructor(chromium: ExtensionBrowser, copy: string) {
    this.chromium = chromium
    this.#copy = copy
  }

  /**
   * Starts a copy of the extension with access to sites, as no test can answer prompts, and with a worker that can die.
   *
   * @param allowed optional permissions that it also has
   * @param args command-line arguments of Chromium
   */
  static async start(t: Test, allowed: readonly string[] = [], args: string[] = []): Promise<Installed> {
    const copy = join(await folder(t), 'extension')
    await cp(built, copy, { recursive: true })
    // A test that allows only `tabs` simulates a browser without tab groups.
    const js = allowed.join() === 'tabs' ? 'delete chrome.tabs.group;' : ''
    const outfile = join(copy, 'death.js')
    await build({ entryPoints: [death], outfile, banner: { js }, format: 'esm', logLevel: 'warning' })
    await writeFile(join(copy, 'mortal.js'), "import './death.js'\nimport './worker.js'\n")
    const manifest = JSON.parse(await readFile(join(copy, 'manifest.json'), 'utf8'))
    const own = {
      host_permissions: ['http://127.0.0.1/*', 'https://*/*'],
      permissions: [...manifest.permissions, ...allowed],
      background: { service_worker: 'mortal.js', type: 'module' },
    }
    await writeFile(join(copy, 'manifest.json'), JSON.stringify({ ...manifest, ...own }))
    const installed = new Installed(await startWithExtensions(t, [copy], args), copy)
    t.teardown(() => installed.#browser?.close())
    await installed.#watch()
    return installed
  }

  async #watch(): Promise<void> {
    this.#browser = await this.chromium.connect()
    await this.#openPage()
  }

  /** Opens an extension page, with retries: right after the browser's start, these pages do not exist yet. */
  async #openPage(): Promise<void> {
    const page = await contextOf(this.#browser as Browser).newPage()
    await this.page?.close().catch(() => {})
    await until(() =>
      page.goto(`${origin}/start.html`).then(
        () => true,
        () => false,
      ),
    )
    this.page = page
  }

  async open(name = 'start'): Promise<void> {
    await this.page.goto(`${origin}/${name}.html`)
  }

  /** A page of the extension in a new tab during the work. */
  async inTab(name: string, work: (page: Page) => Promise<unknown>): Promise<void> {
    const page = await this.page.context().newPage()
    await page.goto(`${origin}/${name}.html`)
    await work(page)
    await page.close()
  }

  /** Cuts and pastes in Chromium's own bookmark manager. */
  cutAndPaste(ids: string[], folder: string): Promise<void> {
    return this.#inManager(async (manager) => {
      await manager.evaluate((ids) => chrome.bookmarkManagerPrivate.cut(ids), ids)
      await manager.evaluate((folder) => chrome.bookmarkManagerPrivate.paste(folder), folder)
    })
  }

  /** Removes in Chromium's own bookmark manager, and then presses Undo. */
  removeAndUndo(id: string, meanwhile: () => Promise<unknown>): Promise<void> {
    return this.#inManager(async (manager) => {
      await manager.evaluate((id) => chrome.bookmarkManagerPrivate.removeTrees([id]), id)
      await meanwhile()
      await manager.evaluate(() => chrome.bookmarkManagerPrivate.undo())
    })
  }

  async #inManager(work: (manager: Page) => Promise<void>): Promise<void> {
    const manager = await this.page.context().newPage()
    await manager.goto('chrome://bookmarks')
    await work(manager)
    await manager.close()
  }

  /** Presses a button of the popup, which must then disappear. */
  press(name: string): Promise<void> {
    return this.inTab('popup', async (popup) => {
      const button = popup.getByRole('button', { name, exact: true })
      await button.click()
      await button.waitFor({ state: 'hidden' })
    })
  }

  /** Presses a button of the popup whenever it appears. */
  async pressUntil(name: string, done: Promise<unknown>): Promise<void> {
    const isOver = done.then(() => true)
    await this.inTab('popup', async (popup) => {
      const button = popup.getByRole('button', { name, exact: true })
      // A button that has disappeared cannot be pressed.
      const press = () =>
        button.click({ timeout: 1000 }).then(
          () => false,
          () => false,
        )
      while (!(await Promise.race([isOver, press()])));
    })
  }

  /** Waits until the popup shows this text. */
  reads(text: string | RegExp): Promise<void> {
    return this.inTab('popup', (popup) => popup.getByText(text).first().waitFor())
  }

  /** A message starts a stopped worker. */
  ask(question: Question): Promise<Answer> {
    return this.page.evaluate((question) => chrome.runtime.sendMessage(question), question)
  }

  /** Asks the worker to start this many times at once. Returns how many sync locks are held and pending. */
  async startTimes(count: number): Promise<{ held: number; pending: number }> {
    return this.page.evaluate(async (count) => {
      await Promise.all(Array.from({ length: count }, () => chrome.runtime.sendMessage({ ask: 'start' })))
      await new Promise((resolve) => setTimeout(resolve, 1000))
      const { held = [], pending = [] } = await navigator.locks.query()
      const countOf = (locks: LockInfo[]) => locks.filter(({ name }) => name?.startsWith('ebs-sync-')).length
      return { held: countOf(held), pending: countOf(pending) }
    }, count)
  }

  /** Resolves all conflicts of earlier scenarios without changing anything, so that none of them is shown. */
  async decideConflicts(): Promise<void> {
    const { conflicts = [] } = (await this.ask({ ask: 'state' })).state ?? {}
    for (const conflict of conflicts) await this.ask({ ask: 'resolve', conflict, choice: 'theirs' })
  }

  async stopWorker(): Promise<void> {
    const debugging = await this.page.context().newCDPSession(this.page)
    await debugging.send('ServiceWorker.enable')
    await debugging.send('ServiceWorker.stopAllWorkers')
    await debugging.detach()
  }

  /** Stops the worker. The next one dies at the call with this number, as death.ts counts. */
  async dieAt(call: number): Promise<void> {
    await this.stopWorker()
    await this.page.evaluate((dieAt) => chrome.storage.session.set({ dieAt }), call)
  }

  hasDied(): Promise<boolean> {
    return this.page.evaluate(async () => (await chrome.storage.session.get('died')).died !== undefined)
  }

  /** Starts a worker that does not die. */
  async live(): Promise<void> {
    await this.page.evaluate(() => chrome.storage.session.remove(['dieAt', 'died']))
    await this.stopWorker()
    await this.ask({ ask: 'state' })
  }

  async closeAndOpen(meanwhile: () => Promise<unknown> = async () => {}): Promise<void> {
    const debugging = await (this.#browser as Browser).newBrowserCDPSession()
    await debugging.send('Browser.close').catch(() => {})
    await this.#again(meanwhile)
  }

  /** Closes the browser and opens it with a newer version of the extension. */
  async update(version: string): Promise<void> {
    await this.closeAndOpen(async () => {
      const path = join(this.#copy, 'manifest.json')
      await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), version }))
    })
    const runs = await this.page.evaluate(() => chrome.runtime.getManifest().version)
    if (runs !== version) throw new Error(`Version ${runs} runs instead of ${version}`)
  }

  /** Kills the browser's processes. */
  async crash(meanwhile: () => Promise<unknown> = async () => {}): Promise<void> {
    this.chromium.signal('SIGKILL')
    await this.#again(meanwhile)
  }

  async #again(meanwhile: () => Promise<unknown>): Promise<void> {
    await this.#browser?.close().catch(() => {})
    await meanwhile()
    await this.chromium.startAgain()
    await this.#watch()
  }

  /** Disconnects during the work, because an attached debugger or an open page keeps the worker running. */
  async unwatched(work: () => Promise<unknown>): Promise<void> {
    await this.page.close()
    await this.#browser?.close()
    await work()
    await this.#watch()
  }

  async worker(): Promise<WorkerLife> {
    await this.ask({ ask: 'state' })
    return this.#inWorker(() => {
      const { life, sockets } = globalThis as unknown as WorkerLife
      return { life, sockets }
    })
  }

  /** Sends the worker the events of an import. No test can make Chromium run a real one. */
  async dispatchImport(event: 'onImportBegan' | 'onImportEnded'): Promise<void> {
    await this.#inWorker((event) => {
      const told = chrome.bookmarks[event] as unknown as { dispatch(): void }
      told.dispatch()
    }, event)
  }

  async #inWorker<Result, Value>(work: (value: Value) => Result, value?: Value): Promise<Result> {
    const isOurs = (worker: Worker) => worker.url().startsWith(origin)
    const context = this.page.context()
    const worker = context.serviceWorkers().find(isOurs) ?? (await context.waitForEvent('serviceworker', isOurs))
    return worker.evaluate(work as (value: unknown) => Result, value)
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

  async roots(): Promise<BrowserNode[]> {
    const [top] = await this.page.evaluate(() => chrome.bookmarks.getTree())
    return top?.children ?? []
  }
}

/**
 * A Chromium with the extension installed in its profile, so that it starts like one that was installed earlier.
 *
 * @param given optional permissions and sites that the user has granted, and can revoke
 */
export async function startKept(t: Test, given: { api: string[]; sites: string[] } = none): Promise<ExtensionBrowser> {
  const profile = await folder(t)
  const permissions = {
    api: ['alarms', 'bookmarks', 'cookies', 'storage', ...given.api],
    explicit_host: given.sites,
    ...{ manifest_permissions: [], scriptable_host: [] },
  }
  // Location 4 means loaded unpacked, state 1 means enabled.
  const kept = {
    ...{ path: built, location: 4, state: 1 },
    ...{ active_permissions: permissions, granted_permissions: permissions },
  }
  const settings = { [new URL(origin).hostname]: kept }
  const preferences = { extensions: { ui: { developer_mode: true }, settings } }
  await mkdir(join(profile, 'Default'))
  await writeFile(join(profile, 'Default', 'Preferences'), JSON.stringify(preferences))
  const chromium = await startChromium(t, profile)
  // An extension page starts the worker, which then registers the events that start it.
  await chromium.watch(async (context) => {
    const page = await context.newPage()
    await until(() =>
      page.goto(`${origin}/options.html`).then(
        () => true,
        () => false,
      ),
    )
    await page.getByText('Not set up yet').waitFor()
  })
  return chromium
}

/** Closes the browser and opens it again. */
export async function closeAndOpen(chromium: ExtensionBrowser): Promise<void> {
  await chromium.watch(async (context) => {
    const debugging = await context.browser()?.newBrowserCDPSession()
    await debugging?.send('Browser.close').catch(() => {})
  })
  await chromium.startAgain()
}
