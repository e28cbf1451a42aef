import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContext, BrowserContextOptions, FrameLocator, Locator, Page } from 'playwright-core'
import root, { type Test } from 'tap'
import { launchChromium, NoChromiumError, pressAtOnce } from '../../scripts/servers/chromium.ts'
import { freePort } from '../../scripts/servers/free-port.ts'
import { createKeyring } from '../../src/client/crypto/keyring.ts'
import { isDeep } from '../support/depth.ts'
import { folder, type Service, startService } from '../support/service.ts'

export const passphrase = 'correct horse battery'

let chromium: Promise<Browser | string> | undefined
let started: Promise<Service> | undefined

/** The browser that all tests in this process share, or the reason why there is none. Throws instead if CI is set. */
export function openChromium(): Promise<Browser | string> {
  chromium ??= launch()
  return chromium
}

async function launch(): Promise<Browser | string> {
  try {
    const browser = await launchChromium()
    root.teardown(() => browser.close())
    return browser
  } catch (error) {
    if (!(error instanceof NoChromiumError) || process.env.CI) throw error
    console.error(`\nNOT TESTED: ${error.message}\n`)
    return error.message
  }
}

/** The service that all tests in this process share, with the web page and the development provider. */
export function demo(): Promise<Service> {
  started ??= startDemo()
  return started
}

export async function demoOrigin(): Promise<string> {
  return (await demo()).origin
}

async function startDemo(): Promise<Service> {
  return startService(root, await folder(root), { SERVE_APP: 'true', ...(await developmentProvider()) })
}

/** The variables of a service that runs its own provider. */
export async function developmentProvider() {
  return { OIDC_ISSUER: '', OIDC_CLIENT_ID: '', OIDC_CLIENT_SECRET: '', DEV_IDP_PORT: `${await freePort()}` }
}

/** A long limit, so that a busy machine does not fail a test. */
const limitMs = 300_000

/** Lets the browser keep the page for offline, as real ones do. It takes a second of CPU, so other tests do without. */
export const keepsPage = { serviceWorkers: 'allow' } as const

/** Opens a separate browser context. Its pages must not request other hosts, nor log errors that are not expected. */
export async function openContext(
  t: Test,
  browser: Browser,
  options: BrowserContextOptions = {},
  expected?: RegExp,
): Promise<BrowserContext> {
  // Transitions would take an eighth of the CPU time.
  const reducedMotion = isDeep ? 'no-preference' : 'reduce'
  const usual = { viewport: { width: 1200, height: 800 }, serviceWorkers: 'block', reducedMotion } as const
  const context = await browser.newContext({ ...usual, ...options })
  context.setDefaultTimeout(limitMs)
  await context.addInitScript(lengthen, limitMs)
  await pressAtOnce(context)
  t.teardown(() => context.close())
  describeFailure(t, context)
  context.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url())
    if (/^(https?|wss?):$/.test(protocol) && hostname !== '127.0.0.1') t.fail(`a request to ${hostname}`)
  })
  context.on('console', (message) => {
    if (expected?.test(message.text())) return
    if (message.type() === 'error' && !isExpected(message.text(), message.location().url)) {
      t.fail(`the console says: ${message.text()} ${message.location().url}`)
    }
  })
  context.on('weberror', (error) => {
    const { message, stack } = error.error()
    if (!expected?.test(message)) t.fail(`the page threw: ${stack || message}`)
  })
  return context
}

/**
 * Runs in the page. Lengthens its timeouts, so that on a busy machine a message stays until the test has read it, and
 * a passphrase is rated before it is accepted.
 */
function lengthen(limitMs: number): void {
  const { setTimeout: later } = window
  const [judgedMs, shownMs, undoShownMs] = [3000, 10_000, 30_000]
  const run = (work: () => void, ms = 0, ...args: []) =>
    later(work, [judgedMs, shownMs, undoShownMs].includes(ms) ? limitMs : ms, ...args)
  Object.assign(window, { setTimeout: run })
}

/** Prints what the pages show when the test or a subtest fails. Later steps, which may fail as well, wait less. */
function describeFailure(t: Test, context: BrowserContext): void {
  const said: string[] = []
  context.on('console', (message) => said.push(`${message.type()}: ${message.text()}`))
  let isDescribed = false
  const describe = async (test: Test) => {
    if (isDescribed || test.passing()) return
    isDescribed = true
    context.setDefaultTimeout(5000)
    for (const page of context.pages()) {
      const shown = await page.locator('body').ariaSnapshot().catch(String)
      console.error(`\nWhen “${test.name}” failed, ${page.url()} showed:\n${shown}\n`)
    }
    console.error(['The console said last:', ...said.slice(-20)].join('\n'))
  }
  t.afterEach(describe)
  t.teardown(() => describe(t))
}

/** The browser logs every 4xx and every request without a network, even if the page handles them. */
function isExpected(text: string, url: string): boolean {
  const isSignedOut = text.includes('401') && /\/api\/v1\/(auth\/(session|refresh)|sync\/)/.test(url)
  const isSignedInTooLongAgo = text.includes('403') && url.endsWith('/api/v1/account')
  return isSignedOut || isSignedInTooLongAgo || /ERR_INTERNET_DISCONNECTED|ERR_FAILED/.test(text)
}

/** Signs in at the development provider like a person. */
export async function signIn(page: Page, origin: string, name: string): Promise<void> {
  await page.goto(origin)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await answerProvider(page, name)
  await page.waitForURL(`${origin}/`)
}

/** Enters the name on the development provider's page. */
export async function answerProvider(page: Page, name: string): Promise<void> {
  await page.waitForURL(/\/sign-in\//)
  await page.locator('input:not([type=hidden])').first().fill(name)
  await page.keyboard.press('Enter')
}

/** Creates a vault up to the recovery code, which it returns. */
export async function startVault(page: Page): Promise<string> {
  await page.getByLabel('New passphrase').fill(passphrase)
  await page.getByLabel('Repeat the passphrase').fill(passphrase)
  await page.getByRole('button', { name: 'Create my vault' }).click()
  return (await page.locator('#recovery-code').textContent()) ?? ''
}

export async function makeVault(page: Page): Promise<string> {
  const code = await startVault(page)
  await page.getByRole('button', { name: 'I have saved it' }).click()
  await live(page)
  return code
}

/** Signs in without a page, so that no page notices, as another app or the extension does in the same browser. */
export async function signInWithoutPage({ request }: BrowserContext, origin: string, name: string): Promise<void> {
  const login = await request.post(`${origin}/api/v1/auth/login`, { data: {} })
  const provider = await request.get((await login.json()).authorizationUrl)
  await request.post(provider.url(), { form: { name } })
}

/** Opens the page like one that has signed somebody in, which has stored `signed-in-user`. */
async function openSignedIn(page: Page, origin: string): Promise<void> {
  const script = await page.addInitScript(() => localStorage.setItem('signed-in-user', ''))
  await page.goto(origin)
  await script.dispose()
}

/** Opens the page at the vault's unlock screen, faster than `signIn`. */
export async function enter(page: Page, origin: string, name: string): Promise<void> {
  await signInWithoutPage(page.context(), origin, name)
  await openSignedIn(page, origin)
}

/** Opens the page with the unlocked vault of a new person. Returns the recovery code. */
export async function enterVault(page: Page, origin: string, name: string): Promise<string> {
  await signInWithoutPage(page.context(), origin, name)
  const session = await page.request.get(`${origin}/api/v1/auth/session`)
  const { user_id: userId } = (await session.json()).user
  const { keyring, recoveryCode } = await createKeyring({ userId, passphrase, fewestGuesses: 0 })
  await page.request.put(`${origin}/api/v1/account/keyring`, { data: { keyring, revision: 1 } })
  await openSignedIn(page, origin)
  await openVault(page, recoveryCode)
  return recoveryCode
}

/** A separate browser context with a page of a new person who is signed in and has an unlocked vault. */
export async function openPage(t: Test, browser: Browser, name: string, options = {}): Promise<Page> {
  const page = await (await openContext(t, browser, options)).newPage()
  await enterVault(page, await demoOrigin(), name)
  return page
}

export async function openVault(page: Page | FrameLocator, secret = passphrase): Promise<void> {
  const field = page.getByLabel('Passphrase or recovery code')
  await field.fill(secret)
  await field.press('Enter')
  await live(page)
}

/** Waits until the page is connected and has sent all edits. After a click, wait for its effect first. */
export async function live(page: Page | FrameLocator): Promise<void> {
  await page.locator('#status[data-state=online][data-waiting="0"]').waitFor()
}

/** Waits until the browser can show every part of the page without a network. */
export async function keptForOffline(page: Page): Promise<void> {
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
}

/** Does the work while the browser has no network. The page must be kept for offline. */
export async function withoutNetwork(page: Page, work: () => Promise<unknown>): Promise<void> {
  await keptForOffline(page)
  await page.context().setOffline(true)
  try {
    await work()
  } finally {
    await page.context().setOffline(false)
  }
}

/** The texts that identify the signed-in user. They must be gone from the browser after a sign-out. */
export async function identityOf(page: Page): Promise<string[]> {
  const stored = await page.evaluate(() => localStorage.getItem('signed-in-user'))
  return Object.values(JSON.parse(stored ?? ''))
}

/** The places of this browser that hold one of the texts. */
export async function placesOf(page: Page, texts: string[]): Promise<string[]> {
  const places = await page.evaluate(async () => {
    const places: [place: string, content: string][] = [
      ['localStorage', JSON.stringify(localStorage)],
      ['sessionStorage', JSON.stringify(sessionStorage)],
      ['address', location.href],
    ]
    for (const { name = '' } of await indexedDB.databases()) places.push([`database ${name}`, name])
    for (const name of await caches.keys()) {
      const cache = await caches.open(name)
      for (const request of await cache.keys()) {
        const kept = await cache.match(request)
        places.push([request.url, `${request.url} ${await kept?.text()}`])
      }
    }
    return places
  })
  return places.flatMap(([place, content]) => (texts.some((text) => content.includes(text)) ? [place] : []))
}

/** Shows a view of the page, as its link in the sidebar does. */
export async function show(page: Page, view: string): Promise<void> {
  await page.evaluate((view) => {
    location.hash = `#/${view}`
  }, view)
}

/**
 * Waits until `count` folders and bookmarks are shown. Returns a line for each: first the folders of the sidebar, all
 * opened, then the bookmarks in order, with their folders.
 */
export async function shownTree(page: Page, count: number): Promise<string[]> {
  const size = page.viewportSize()
  // The document has only the rows that are on the screen.
  await page.setViewportSize({ width: 1200, height: 3000 })
  await show(page, 'all')
  const lines = await page.waitForFunction((count) => {
    for (const opener of document.querySelectorAll<HTMLElement>('.folders [aria-expanded=false]')) opener.click()
    const folders = [...document.querySelectorAll<HTMLElement>('.folder-line')].map(
      (line) => `${'  '.repeat(Number(line.style.getPropertyValue('--depth')))}${line.textContent}`,
    )
    const bookmarks = [...document.querySelectorAll('[aria-label="All bookmarks"] .row-text')].map((row) => {
      const [title, path] = ['.row-title', '.row-path'].map((part) => row.querySelector(part)?.textContent ?? '')
      return `${title}${path}`
    })
    const lines = [...folders, ...bookmarks]
    return document.querySelector('[aria-label="All bookmarks"], .empty') && lines.length === count && lines
  }, count)
  const shown = await lines.jsonValue()
  await show(page, 'folder')
  if (size) await page.setViewportSize(size)
  return shown || []
}

/** Imports a bookmark file, and waits for the report. */
export async function importFile(page: Page, file: Parameters<Page['setInputFiles']>[1]): Promise<void> {
  await show(page, 'settings')
  await page.setInputFiles('input[type="file"]:not([accept])', file)
  await page.getByText(/bookmarks and folders imported/).waitFor()
}

/** Takes a screenshot for people to look at, if SCREENSHOTS names a folder. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS
  if (folder === undefined) return
  await mkdir(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`) })
}

/** The link of a bookmark or folder in the current view. */
export function link(page: Page | FrameLocator, title: string): Locator {
  return page.getByRole('main').getByRole('link', { name: title, exact: true })
}

/** Renames a bookmark in its form. The current view must show it. */
export async function retitle(page: Page, from: string, to: string): Promise<void> {
  await page.getByRole('button', { name: `Edit ${from}` }).click()
  await page.getByRole('textbox', { name: 'Title' }).fill(to)
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await link(page, to).waitFor()
}

/** Adds a bookmark in the current view like a person. */
export async function addBookmark(page: Page, title: string, address = 'https://example.org/'): Promise<void> {
  await page.getByRole('button', { name: 'Add bookmark' }).click()
  await page.getByRole('textbox', { name: 'Title' }).fill(title)
  await page.getByRole('textbox', { name: 'Address' }).fill(address)
  // Some people double-click everything.
  await page.getByRole('button', { name: 'Save', exact: true }).dblclick()
  await page.getByRole('link', { name: title }).waitFor()
}
