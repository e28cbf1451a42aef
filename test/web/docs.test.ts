import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { operations } from '../../generated/operations.ts'
import { buildDocs } from '../../scripts/docs/docs.ts'
import { isDeep } from '../support/depth.ts'
import { accessibilityFaults, brokenLinks, operationsWithSamples, overflow } from './docs-page.ts'
import { demoOrigin, openChromium, openContext, screenshot } from './fixture.ts'

const wide = { width: 1440, height: 900 }
const narrow = { width: 390, height: 844 }
const backgrounds = { light: 'rgb(255, 255, 255)', dark: 'rgb(20, 22, 26)' }
/** Both hosts have the same files: one colour scheme each is enough for the quick depth. */
const runs = [
  { host: 'the service', start: served, colorScheme: 'light' },
  { host: 'a static host', start: hosted, colorScheme: 'dark' },
  ...(isDeep ? [{ host: 'the service', start: served, colorScheme: 'dark' } as const] : []),
  ...(isDeep ? [{ host: 'a static host', start: hosted, colorScheme: 'light' } as const] : []),
] as const
/** A page of each kind, and what it has once it is complete. */
const kinds = {
  'index.html': 'An encrypted sync in ten lines',
  'de/using.html': 'So benutzen Sie es',
  'client.html': 'A browser extension',
  'api-history.html': 'History',
  'realtime.html#server-sync': 'Close codes',
  'changelog.html': '1.0.0',
  '404.html': 'There is no such page',
}
/** It takes as long as all others: the quick depth draws it once. */
const operationsPage = { 'http.html#operation/pushChanges': 'Push changes' }

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  for (const [index, { host, start, colorScheme }] of runs.entries()) {
    t.test(`A page of each kind of ${host} is complete and accessible in the ${colorScheme} scheme`, async (t) => {
      const { page, address } = await openDocs(t, start, colorScheme)
      const withOperations = isDeep || index === 0
      for (const [name, heading] of Object.entries({ ...kinds, ...(withOperations && operationsPage) })) {
        await page.goto(address + name)
        await page.getByRole('heading', { name: heading }).first().waitFor()
        for (const [size, viewport] of Object.entries({ narrow, wide })) {
          await page.setViewportSize(viewport)
          t.equal(await overflow(page), 0, `${name}: nothing sticks out of a ${size} screen`)
          await screenshot(page, `docs-${name.replace(/\.html.*/, '')}-${size}-${colorScheme}`)
        }
        const part = (!isDeep && partOf(name, index === 0)) || 'html'
        t.same(await accessibilityFaults(page, part), [], name)
        // The lists beside the text are the same on every page of a language.
        const links = name === 'index.html' || name === 'de/using.html' ? 'body' : 'main'
        t.same(await brokenLinks(page, links), [], `${name}: every link leads somewhere`)
        const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
        t.equal(background, backgrounds[colorScheme], `${name}: the background`)
      }
      if (!withOperations) return
      t.same((await operationsWithSamples(page)).sort(), Object.keys(operations).sort(), 'every operation has samples')
    })
  }

  t.test('The search finds guides, operations and messages, and leads to them', async (t) => {
    const { page, address } = await openDocs(t, hosted, 'light')
    await page.goto(`${address}start.html`)
    await page.getByRole('button', { name: 'Search' }).waitFor()
    await page.keyboard.press('/')
    const field = page.getByRole('searchbox')
    const results = page.locator('.VPLocalSearchBox .result')
    for (const [words, name] of [
      ['close codes', 'Close codes'],
      ['rewindBookmarks', /rewindBookmarks: /],
      ['recovery code vault', 'The vault'],
      ['Sync.resolve', 'Sync.resolve'],
    ] as const) {
      await field.fill(words)
      await results.filter({ hasText: name }).first().waitFor()
    }
    t.same(await accessibilityFaults(page, '.VPLocalSearchBox'), [])
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.locator('html.dark').waitFor()
    t.same(await accessibilityFaults(page, '.VPLocalSearchBox'), [], 'in the dark, too')
    await field.fill('deletes by other')
    await results.filter({ hasText: 'Deletes by other devices' }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/client\.html#deletes-by-other-devices$/)
    await page.getByRole('heading', { name: 'Deletes by other devices' }).waitFor()
  })

  t.test('The operations also open without .html in their address, in one load and without a fault', async (t) => {
    const { page, address } = await openDocs(t, served, 'light')
    const loads: string[] = []
    const faults: string[] = []
    page.on('request', (request) => request.resourceType() === 'document' && loads.push(request.url()))
    page.on('console', (message) => ['error', 'warning'].includes(message.type()) && faults.push(message.text()))
    page.on('pageerror', ({ message }) => faults.push(message))
    await page.goto(`${address}http`)
    await page.getByRole('heading', { name: 'Push changes' }).first().waitFor()
    await page.waitForLoadState('networkidle')
    t.same([loads, faults], [[`${address}http`], []])
    const reference = await page.evaluate(() => {
      const entries = performance.getEntriesByType('resource') as PerformanceResourceTiming[]
      return entries.filter(({ name }) => name.endsWith('redoc.standalone.js')).map((entry) => entry.initiatorType)
    })
    t.same(reference, ['link'], 'the megabyte is asked for once, by the page itself')
  })

  t.test("A sample is copied as it is shown, with the service's own address", async (t) => {
    const { page, address } = await openDocs(t, served, 'light')
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(address)
    const sample = page.locator('[class*=language-]', { hasText: 'openVault' })
    await sample.hover()
    await sample.getByRole('button', { name: 'Copy Code' }).click()
    await sample.locator('.copied').waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    t.match(copied, `openDevice('laptop.db', { baseUrl: '${await demoOrigin()}' })`)
    t.equal(copied.split('\n').filter(Boolean).length, 10, 'ten lines')
    await page.getByRole('link', { name: 'Open the app' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
  })

  t.test('From the operations, also while they are searched, a link of the bar leads on', async (t) => {
    const { page, address } = await openDocs(t, hosted, 'light')
    await page.goto(`${address}#operation/pushChanges`)
    await page.waitForURL(/http\.html#operation\/pushChanges/)
    await page.getByPlaceholder('Search...').fill('keyring')
    await page.locator('[role=search] [role=menuitem], [data-role="search:results"] li').first().waitFor()
    await page.getByRole('link', { name: 'Realtime', exact: true }).click()
    await page.getByRole('heading', { name: 'Close codes' }).waitFor()
    await page.getByRole('link', { name: 'Close codes', exact: true }).click()
    // This section is too short to reach the top of the screen.
    await page.locator('.VPDocAsideOutline .active', { hasText: 'Close codes' }).waitFor()
  })
}

/** Axe takes seconds for all operations, and for the longest guide, which in a second scheme has these colours of its own alone. */
function partOf(name: string, isFirst: boolean): string | undefined {
  if (name.startsWith('http')) return '[id="operation/pushChanges"]'
  return name === 'client.html' && !isFirst ? '.language-tsx' : undefined
}

async function openDocs(t: Test, start: (t: Test) => Promise<string>, colorScheme: 'light' | 'dark', options = {}) {
  if (typeof browser === 'string') throw new Error(browser)
  // Before the context, so that it is closed after it: a page fetches ahead until its end.
  const address = await start(t)
  const context = await openContext(t, browser, { colorScheme, viewport: wide, ...options })
  return { page: await context.newPage(), address }
}

async function served(): Promise<string> {
  return `${await demoOrigin()}/docs/`
}

/** As GitHub Pages does it: without headers of ours and, where there is time to build them for it, under another path. */
async function hosted(t: Test): Promise<string> {
  const types: Record<string, string> = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' }
  const base = isDeep ? '/repo/' : '/docs/'
  const folder = isDeep ? pathToFileURL(`${t.testdir()}/`) : new URL('../../dist/docs/', import.meta.url)
  if (isDeep) await buildDocs(base, folder)
  const server = createServer(async (request, response) => {
    const name = /^\/\w+\/([\w./@-]*)$/.exec(request.url ?? '')?.[1]
    const file = new URL(name || 'index.html', folder)
    const content = request.url?.startsWith(base) ? await readFile(file).catch(() => null) : null
    const type = types[extname(file.pathname)] ?? (file.pathname.endsWith('.html') ? 'text/html' : 'application/json')
    response.writeHead(content ? 200 : 404, { 'content-type': type }).end(content)
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`
}
