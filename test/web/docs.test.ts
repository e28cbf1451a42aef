import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { operations } from '../../generated/operations.ts'
import { buildDocs } from '../../scripts/docs/docs.ts'
import { deep, isDeep } from '../support/depth.ts'
import { accessibilityFaults, brokenLinks, operationsWithSamples, overflow } from './docs-page.ts'
import { demoOrigin, openChromium, openContext, screenshot } from './fixture.ts'

const wide = { width: 1440, height: 900 }
const narrow = { width: 390, height: 844 }
type ColorScheme = 'light' | 'dark'
const schemes: ColorScheme[] = isDeep ? ['light', 'dark'] : ['light']
const backgrounds = { light: 'rgb(255, 255, 255)', dark: 'rgb(20, 22, 26)' }
/** Both hosts have the same pages; the tests below visit some of each. */
const hosts = { 'the service': served, ...(isDeep && { 'a static host': hosted }) }
/** A page of each kind, with a heading that it has when it is complete. */
const kinds = {
  'index.html': 'An encrypted sync in ten lines',
  'client.html': 'A browser extension',
  ...(isDeep && {
    'de/using.html': 'So benutzen Sie es',
    'api-history.html': 'History',
    'realtime.html#server-sync': 'Close codes',
    'changelog.html': '1.0.0',
    '404.html': 'There is no such page',
  }),
}

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  for (const [host, start] of Object.entries(hosts)) {
    t.test(`A page of each kind of ${host} is complete, and accessible`, async (t) => {
      const { page, address } = await openDocs(t, start)
      for (const [name, heading] of Object.entries(kinds)) {
        await page.goto(address + name)
        await page.getByRole('heading', { name: heading }).first().waitFor()
        await isComplete(t, page, name, schemes)
      }
    })
  }

  t.test('The operations also open without .html in their address, with one load and without an error', async (t) => {
    const { page, address } = await openDocs(t, served)
    const loads: string[] = []
    const faults: string[] = []
    page.on('request', (request) => request.resourceType() === 'document' && loads.push(request.url()))
    page.on('console', (message) => ['error', 'warning'].includes(message.type()) && faults.push(message.text()))
    page.on('pageerror', ({ message }) => faults.push(message))
    await page.goto(`${address}http#operation/pushChanges`)
    await page.getByRole('heading', { name: 'Push changes' }).first().waitFor()
    await page.waitForLoadState('networkidle')
    t.same([loads, faults], [[`${address}http`], []])
    const reference = await page.evaluate(() => {
      const entries = performance.getEntriesByType('resource') as PerformanceResourceTiming[]
      return entries.filter(({ name }) => name.endsWith('redoc.standalone.js')).map((entry) => entry.initiatorType)
    })
    t.same(reference, ['link'], 'the megabyte is loaded once, by the page itself')
    await isComplete(t, page, 'http', schemes)
    t.same((await operationsWithSamples(page)).sort(), Object.keys(operations).sort(), 'every operation has samples')
  })

  t.test('The search finds guides, operations and messages, and its links lead to them', async (t) => {
    const { page, address } = await openDocs(t, hosted)
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
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme })
      await page.locator(colorScheme === 'dark' ? 'html.dark' : 'html:not(.dark)').waitFor()
      t.same(await accessibilityFaults(page, '.VPLocalSearchBox'), [], `accessible, ${colorScheme}`)
    }
    await field.fill('deletes by other')
    await results.filter({ hasText: 'Deletes by other devices' }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(/client\.html#deletes-by-other-devices$/)
    await page.getByRole('heading', { name: 'Deletes by other devices' }).waitFor()
  })

  deep(t, "A code sample is copied as shown, with the service's own address", async (t) => {
    const { page, address } = await openDocs(t, served)
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

  deep(t, 'The links of the top bar work on the page of operations, also during a search', async (t) => {
    const { page, address } = await openDocs(t, hosted)
    await page.goto(`${address}#operation/pushChanges`)
    await page.waitForURL(/http\.html#operation\/pushChanges/)
    await page.getByPlaceholder('Search...').fill('keyring')
    await page.locator('[role=search] [role=menuitem], [data-role="search:results"] li').first().waitFor()
    await page.getByRole('link', { name: 'Realtime', exact: true }).click()
    await page.getByRole('heading', { name: 'Close codes' }).waitFor()
    await page.getByRole('link', { name: 'Close codes', exact: true }).click()
    // This section is too short to reach the top of the screen, but must be marked as the current one.
    await page.locator('.VPDocAsideOutline .active', { hasText: 'Close codes' }).waitFor()
  })
}

async function isComplete(t: Test, page: Page, name: string, schemes: ColorScheme[]): Promise<void> {
  // The navigation is the same on every page of a language, so its links are checked once, in deep runs.
  const links = isDeep && (name === 'index.html' || name === 'de/using.html') ? 'body' : 'main'
  t.same(await brokenLinks(page, links), [], `${name}: no link is broken`)
  for (const colorScheme of schemes) {
    await changeColours(page, name, colorScheme)
    for (const [size, viewport] of Object.entries({ narrow, wide })) {
      await page.setViewportSize(viewport)
      t.equal(await overflow(page), 0, `${name}: nothing is wider than a ${size} screen`)
      await screenshot(page, `docs-${name.replace(/\.html.*/, '')}-${size}-${colorScheme}`)
    }
    // For all operations, axe takes seconds.
    const part = !isDeep && name.startsWith('http') ? '[id="operation/pushChanges"]' : 'html'
    t.same(await accessibilityFaults(page, part), [], `${name}, ${colorScheme}`)
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    t.equal(background, backgrounds[colorScheme], `${name}: the background`)
  }
  await changeColours(page, name, 'light')
}

/** The reference reloads itself if its colours change. */
async function changeColours(page: Page, name: string, colorScheme: ColorScheme): Promise<void> {
  const isChanged = (await page.locator('html.dark').count()) !== Number(colorScheme === 'dark')
  const reloaded = isChanged && name === 'http' ? page.waitForEvent('load') : undefined
  await page.emulateMedia({ colorScheme })
  await page.locator(colorScheme === 'dark' ? 'html.dark' : 'html:not(.dark)').waitFor()
  await reloaded
  if (reloaded) await page.getByRole('heading', { name: 'Push changes' }).first().waitFor()
}

async function openDocs(t: Test, start: (t: Test) => Promise<string>) {
  if (typeof browser === 'string') throw new Error(browser)
  // The server starts before the context, so that it closes after it: pages prefetch until they are closed.
  const address = await start(t)
  const context = await openContext(t, browser, { viewport: wide })
  return { page: await context.newPage(), address }
}

async function served(): Promise<string> {
  return `${await demoOrigin()}/docs/`
}

/** Serves the documents like GitHub Pages: without our headers and, with --deep, under another path. */
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
