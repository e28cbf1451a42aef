import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import asyncapi from '../../generated/asyncapi.json' with { type: 'json' }
import { operations } from '../../generated/operations.ts'
import { openChromium, openContext, screenshot, startDemo } from './fixture.ts'

const screens = {
  wide: { width: 1400, height: 900 },
  narrow: { width: 390, height: 800 },
}
const places = {
  guide: '#section/How-sync-works',
  operation: '#operation/pushChanges',
  messages: 'realtime#tag/What-the-server-sends/operation/sync',
  changelog: 'changelog',
}

const browser = await openChromium(t)
if (typeof browser === 'string') t.plan(0, browser)
else {
  const service = startDemo(t).then(({ origin }) => `${origin}/docs/`)
  for (const [host, start] of Object.entries({ 'the service': () => service, 'a static host': hosted })) {
    t.test(`Every operation, guide and message is reachable on ${host}`, async (t) => {
      const address = await start(t)
      const page = await (await openContext(t, browser, { viewport: screens.wide })).newPage()
      const images: number[] = []
      page.on('response', (response) => response.url().endsWith('.svg') && images.push(response.status()))

      await open(page, address)
      for (const operationId of Object.keys(operations)) {
        const section = page.locator(`[id="operation/${operationId}"]`)
        t.equal(await section.count(), 1, operationId)
        t.equal(await section.getByRole('tab', { name: 'curl' }).count(), 1, `${operationId} has a curl sample`)
        t.equal(await section.getByRole('tab', { name: 'TypeScript' }).count(), 1, `and one in TypeScript`)
      }
      t.same(images, [200], 'the sequence is drawn')
      t.ok(await page.getByAltText(/^Sequence/).evaluate((image: HTMLImageElement) => image.naturalWidth > 0))
      t.same(await brokenLinks(page), [], 'every link leads somewhere')

      await page.getByPlaceholder('Search...').fill('keyring')
      await page.locator('[role=search] [role=menuitem], [data-role="search:results"] li').first().waitFor()

      await page.getByRole('link', { name: 'Realtime', exact: true }).click()
      await page.locator('#reference h1').first().waitFor()
      for (const { title, messages } of Object.values(asyncapi.operations)) {
        for (const { $ref } of messages) {
          const id = `tag/${title.replaceAll(' ', '-')}/operation/${$ref.split('/').at(-1)}`
          t.equal(await page.locator(`[id="${id}"]`).count(), 1, id)
        }
      }
      t.same(await brokenLinks(page), [], 'every link leads somewhere')

      await page.getByRole('link', { name: 'Changelog' }).click()
      await page.getByRole('heading', { name: 'Changelog of the contract' }).waitFor()
      t.match(await page.locator('main').textContent(), /1\.0\.0|without the history/)
    })
  }

  for (const [size, viewport] of Object.entries(screens)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      t.test(`Readable on a ${size} screen in the ${colorScheme} scheme`, async (t) => {
        const context = await openContext(t, browser, { viewport, colorScheme })
        for (const [name, place] of Object.entries(places)) {
          const page = await context.newPage()
          await open(page, (await service) + place)
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
          t.ok(overflow <= 0, `${name}: nothing sticks out (${overflow} px)`)
          if (size === 'wide')
            t.same(await faintTexts(page), [], `${name}: every text stands out from what is behind it`)
          const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
          t.equal(background, colorScheme === 'dark' ? 'rgb(22, 24, 28)' : 'rgb(255, 255, 255)')
          await screenshot(page, `docs-${name}-${size}-${colorScheme}`)
          await page.close()
        }
      })
    }
  }
}

async function open(page: Page, address: string): Promise<void> {
  await page.goto(address)
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

/** Links to other pages beside this one must answer, anchors must be there. */
async function brokenLinks(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const links = [...document.querySelectorAll<HTMLAnchorElement>('#reference a[href], nav a[href]')]
    const urls = new Set(links.map(({ href }) => href).filter((href) => new URL(href).origin === location.origin))
    const broken: string[] = []
    for (const url of urls) {
      const { hash } = new URL(url)
      const isHere = url.slice(0, url.length - hash.length) === location.href.replace(location.hash, '')
      const id = decodeURIComponent(hash.slice(1))
      const found = isHere && id !== '' ? document.getElementById(id) !== null : (await fetch(url)).ok
      if (!found) broken.push(url)
    }
    return broken
  })
}

/** Texts whose contrast (WCAG 2) is below 3, with an example each. */
async function faintTexts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const rgb = (color: string) => (color.match(/[\d.]+/g) ?? []).map(Number)
    const luminance = (color: number[]) => {
      const [r = 0, g = 0, b = 0] = color.map((value) => {
        const part = value / 255
        return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
      })
      return 0.2126 * r + 0.7152 * g + 0.0722 * b
    }
    const known = new Map<Element | null, number[]>([[null, [255, 255, 255]]])
    const behind = (element: Element | null): number[] => {
      const found = known.get(element)
      if (found || !element) return found ?? []
      const own = rgb(getComputedStyle(element).backgroundColor)
      const color = own.length === 3 || (own[3] ?? 0) > 0.5 ? own : behind(element.parentElement)
      known.set(element, color)
      return color
    }
    const faint = new Set<string>()
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
      const element = texts.currentNode.parentElement
      const text = texts.currentNode.textContent?.trim() ?? ''
      if (!element || text === '' || element.getClientRects().length === 0) continue
      const [one, other] = [luminance(rgb(getComputedStyle(element).color)), luminance(behind(element))]
      const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
      if (contrast < 3) faint.add(`${element.tagName} ${text.slice(0, 40)}`)
    }
    return [...faint]
  })
}
