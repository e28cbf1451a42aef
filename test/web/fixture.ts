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

/** The one browser of all tests in this process; a sentence that says why there is none, except where CI is set. */
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

/** The one service of all tests in this process, with the demo app and the development provider. */
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

/** A busy machine is not a fault: no step takes as long as this unless it never ends. */
const patienceMs = 300_000

/** Of a context whose browser keeps the page for offline, as all do: a second of CPU that other tests do without. */
export const keepsPage = { serviceWorkers: 'allow' } as const

/** A browser of its own, whose pages must stay on this machine and must not complain, except of what is expected. */
export async function openContext(
  t: Test,
  browser: Browser,
  options: BrowserContextOptions = {},
  expected?: RegExp,
): Promise<BrowserContext> {
  // Transitions are an eighth of the CPU time.
  const reducedMotion = isDeep ? 'no-preference' : 'reduce'
  const usual = { viewport: { width: 1200, height: 800 }, serviceWorkers: 'block', reducedMotion } as const
  const context = await browser.newContext({ ...usual, ...options })
  context.setDefaultTimeout(patienceMs)
  await context.addInitScript(lengthen, patienceMs)
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
 * So that a busy machine is not a slow person: messages stay until they are read, and a passphrase is judged before it is taken.
 * In the page.
 */
function lengthen(patienceMs: number): void {
  const { setTimeout: later } = window
  const [judgedMs, shownMs, undoShownMs] = [3000, 10_000, 30_000]
  const run = (work: () => void, ms = 0, ...args: []) =>
    later(work, [judgedMs, shownMs, undoShownMs].includes(ms) ? patienceMs : ms, ...args)
  Object.assign(window, { setTimeout: run })
}

/** Prints what the pages show once the test or a subtest has failed. What follows may fail for the same reason: it waits less. */
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

/** The browser itself reports every 4xx and every request without a network, whatever the page makes of it. */
function isExpected(text: string, url: string): boolean {
  const isSignedOut = text.includes('401') && /\/api\/v1\/(auth\/(session|refresh)|sync\/)/.test(url)
  const isSignedInTooLongAgo = text.includes('403') && url.endsWith('/api/v1/account')
  return isSignedOut || isSignedInTooLongAgo || /ERR_INTERNET_DISCONNECTED|ERR_FAILED/.test(text)
}

/** Signs in at the development provider, as a person would. */
export async function signIn(page: Page, origin: string, name: string): Promise<void> {
  await page.goto(origin)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await answerProvider(page, name)
  await page.waitForURL(`${origin}/`)
}

/** Says who one is, on the development provider's page. */
export async function answerProvider(page: Page, name: string): Promise<void> {
  await page.waitForURL(/\/sign-in\//)
  await page.locator('input:not([type=hidden])').first().fill(name)
  await page.keyboard.press('Enter')
}

/** As far as the recovery code, which it returns. */
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

/** Without any page, so none hears of it: as another app of the same service does in this browser, or the extension. */
export async function signInBeside({ request }: BrowserContext, origin: string, name: string): Promise<void> {
  const login = await request.post(`${origin}/api/v1/auth/login`, { data: {} })
  const provider = await request.get((await login.json()).authorizationUrl)
  await request.post(provider.url(), { form: { name } })
}

/** Signs in without the pages on the way, through which `signIn` goes. Returns the user's id; the page is to be shown. */
async function signInUnseen(page: Page, origin: string, name: string): Promise<string> {
  await signInBeside(page.context(), origin, name)
  const session = await page.request.get(`${origin}/api/v1/auth/session`)
  // Any address of the service will do.
  await page.goto(session.url())
  await page.evaluate(() => localStorage.setItem('signed-in-user', ''))
  return (await session.json()).user.user_id
}

/** As far as the door of the vault, sooner than `signIn`. */
export async function enter(page: Page, origin: string, name: string): Promise<void> {
  await signInUnseen(page, origin, name)
  await page.goto(origin)
}

/** The open vault of a new person. Returns its recovery code; the passphrase needs `deriveInFull`. */
export async function enterVault(page: Page, origin: string, name: string): Promise<string> {
  const userId = await signInUnseen(page, origin, name)
  const { keyring, recoveryCode } = await createKeyring({ userId, passphrase, fewestGuesses: 0 })
  await page.request.put(`${origin}/api/v1/account/keyring`, { data: { keyring, revision: 1 } })
  await page.goto(origin)
  await openVault(page, recoveryCode)
  return recoveryCode
}

/** A browser of its own, whose person has signed in at the demo and has a vault, which is open. */
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

/** Connected, and nothing waits to be sent. What was just clicked counts once the page shows it. */
export async function live(page: Page | FrameLocator): Promise<void> {
  await page.locator('#status[data-state=online][data-waiting="0"]').waitFor()
}

/** Until the browser can show every part of the page without a network. */
export async function keptForOffline(page: Page): Promise<void> {
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
}

/** Does the work while the browser of this page, which it has kept, has no network. */
export async function withoutNetwork(page: Page, work: () => Promise<unknown>): Promise<void> {
  await keptForOffline(page)
  await page.context().setOffline(true)
  try {
    await work()
  } finally {
    await page.context().setOffline(false)
  }
}

/** Who is signed in: what must be gone from the browser together with the person. */
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
 * The folders and bookmarks that are shown, once they are `count`: a line for each, the folders of the sidebar with all of them
 * opened, then the bookmarks in their order, with their folders.
 */
export async function shownTree(page: Page, count: number): Promise<string[]> {
  const size = page.viewportSize()
  // Only what is on the screen is in the document.
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

/** Imports a bookmark file, as far as the message that tells what was imported. */
export async function importFile(page: Page, file: Parameters<Page['setInputFiles']>[1]): Promise<void> {
  await show(page, 'settings')
  await page.setInputFiles('input[type="file"]:not([accept])', file)
  await page.getByText(/bookmarks and folders imported/).waitFor()
}

/** Screenshots go to SCREENSHOTS where that names a folder: for people to look at. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS
  if (folder === undefined) return
  await mkdir(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`) })
}

/** The link of a bookmark or a folder in the view that is shown. */
export function link(page: Page | FrameLocator, title: string): Locator {
  return page.getByRole('main').getByRole('link', { name: title, exact: true })
}

/** By the form of the bookmark, in a view that shows it. */
export async function retitle(page: Page, from: string, to: string): Promise<void> {
  await page.getByRole('button', { name: `Edit ${from}` }).click()
  await page.getByRole('textbox', { name: 'Title' }).fill(to)
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await link(page, to).waitFor()
}

/** As a person would, in the view that is shown. */
export async function addBookmark(page: Page, title: string, address = 'https://example.org/'): Promise<void> {
  await page.getByRole('button', { name: 'Add bookmark' }).click()
  await page.getByRole('textbox', { name: 'Title' }).fill(title)
  await page.getByRole('textbox', { name: 'Address' }).fill(address)
  // Some people do, everywhere.
  await page.getByRole('button', { name: 'Save', exact: true }).dblclick()
  await page.getByRole('link', { name: title }).waitFor()
}
