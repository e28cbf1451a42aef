import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import asyncapi from '../../generated/asyncapi.json' with { type: 'json' }
import { operations } from '../../generated/operations.ts'
import { isDeep } from '../support/depth.ts'
import { brokenLinks, faintTexts, overflow } from './docs-page.ts'
import { demoOrigin, openChromium, openContext, screenshot } from './fixture.ts'

const wide = { width: 1400, height: 900 }
const narrow = { width: 390, height: 800 }
const backgrounds = { light: 'rgb(255, 255, 255)', dark: 'rgb(22, 24, 28)' }
/** Both hosts have the same files: one colour scheme each is enough for the quick depth. */
const runs = [
  { host: 'the service', start: served, colorScheme: 'light' },
  { host: 'a static host', start: hosted, colorScheme: 'dark' },
  ...(isDeep ? [{ host: 'the service', start: served, colorScheme: 'dark' } as const] : []),
  ...(isDeep ? [{ host: 'a static host', start: hosted, colorScheme: 'light' } as const] : []),
] as const

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  for (const { host, start, colorScheme } of runs) {
    t.test(`Every page of ${host} is complete, and readable in the ${colorScheme} scheme`, async (t) => {
      const address = await start(t)
      const page = await (await openContext(t, browser, { colorScheme })).newPage()
      const expectReadable = async (name: string) => {
        for (const [size, viewport] of Object.entries({ wide, narrow })) {
          await page.setViewportSize(viewport)
          if (isDeep) await reload(page)
          t.equal(await overflow(page), 0, `${name}: nothing sticks out of a ${size} screen`)
          await screenshot(page, `docs-${name}-${size}-${colorScheme}`)
        }
        await page.setViewportSize(wide)
        t.same(await faintTexts(page), [], `${name}: every text stands out from what is behind it`)
        const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
        t.equal(background, backgrounds[colorScheme], `${name}: the background`)
      }

      await page.setViewportSize(wide)
      await open(page, `${address}#section/How-sync-works`)
      t.same((await operationsWithSamples(page)).sort(), Object.keys(operations).sort(), 'every operation has samples')
      await page.getByAltText(/^Sequence/).evaluate((image: HTMLImageElement) => image.decode())
      t.same(await brokenLinks(page), [], 'every link of the HTTP page leads somewhere')
      await expectReadable('guide')
      await page.goto(`${address}#operation/pushChanges`)
      await expectReadable('operation')
      await page.getByPlaceholder('Search...').fill('keyring')
      await page.locator('[role=search] [role=menuitem], [data-role="search:results"] li').first().waitFor()

      await page.getByRole('link', { name: 'Realtime', exact: true }).click()
      await page.waitForURL(/realtime\.html/)
      await page.locator('#reference h1').first().waitFor()
      const messages = messageIds()
      const ids = await page.locator('[id^="tag/"]').evaluateAll((elements) => elements.map(({ id }) => id))
      t.same(ids.filter((id) => messages.includes(id)).sort(), messages.sort(), 'every message is there')
      t.same(await brokenLinks(page), [], 'every link of the realtime page leads somewhere')
      await page.goto(`${address}realtime.html#tag/What-the-server-sends/operation/sync`)
      await expectReadable('messages')

      await page.getByRole('link', { name: 'Operating', exact: true }).click()
      await page.waitForURL(/operating\.html/)
      await page.locator('[id="section/Contributing"]').waitFor()
      t.same(await brokenLinks(page), [], 'every link of the operating page leads somewhere')
      await page.goto(`${address}operating.html#section/Running`)
      await expectReadable('operating')

      await page.getByRole('link', { name: 'Changelog' }).click()
      await page.getByRole('heading', { name: 'Changelog of the contract' }).waitFor()
      t.match(await page.locator('main').textContent(), /1\.0\.0|without the history/)
      await expectReadable('changelog')
    })
  }
}

async function served(): Promise<string> {
  return `${await demoOrigin()}/docs/`
}

async function open(page: Page, address: string): Promise<void> {
  await page.goto(address)
  await page.locator('h1').first().waitFor()
}

/** What was loaded at this size may differ from what was brought to it. */
async function reload(page: Page): Promise<void> {
  await page.reload()
  await page.locator('h1').first().waitFor()
}

/** As GitHub Pages does it: under the repository's name, without headers of ours. */
async function hosted(t: Test): Promise<string> {
  const types: Record<string, string> = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' }
  const server = createServer(async (request, response) => {
    const name = /^\/repo\/([\w.]*)$/.exec(request.url ?? '')?.[1]
    const file = new URL(name || 'index.html', new URL('../../dist/docs/', import.meta.url))
    const content = name === undefined ? null : await readFile(file).catch(() => null)
    const type = types[extname(file.pathname)] ?? (file.pathname.endsWith('.html') ? 'text/html' : 'application/json')
    response.writeHead(content ? 200 : 404, { 'content-type': type }).end(content)
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/repo/`
}

/** The operations whose section has one code sample in each language. */
async function operationsWithSamples(page: Page): Promise<string[]> {
  return page.locator('[id^="operation/"]').evaluateAll((sections) =>
    sections
      .filter((section) => {
        const tabs = Array.from(section.querySelectorAll('[role=tab]'), ({ textContent }) => textContent)
        return ['curl', 'TypeScript'].every((language) => tabs.filter((tab) => tab === language).length === 1)
      })
      .map(({ id }) => id.slice('operation/'.length)),
  )
}

/** The anchors of the contract's messages. */
function messageIds(): string[] {
  return Object.values(asyncapi.operations).flatMap(({ title, messages }) =>
    messages.map(({ $ref }) => `tag/${title.replaceAll(' ', '-')}/operation/${$ref.split('/').at(-1)}`),
  )
}
