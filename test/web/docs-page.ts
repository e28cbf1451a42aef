import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { isDeep } from '../support/depth.ts'
import { screenshot } from './fixture.ts'

export type Look = readonly [colorScheme: 'light' | 'dark', width: number]

/** The minified axe, because each page would have to parse the comments of the full one. */
const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** The number of pixels by which the page is wider than its screen. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth))
}

/** The rules of axe that a part of the page breaks, each with the first elements that do. */
export async function accessibilityFaults(page: Page, part: string): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
  // `violations` omits the lists of everything that passed.
  const of = { part, options: { resultTypes: ['violations' as const] } }
  return page.evaluate(async ({ part, options }) => {
    const { axe } = window as unknown as { axe: typeof import('axe-core') }
    // Waits for transitions, because their intermediate colours must not count.
    const changes = document.getAnimations().filter((one) => one instanceof CSSTransition)
    await Promise.allSettled(changes.map(({ finished }) => finished))
    const { violations } = await axe.run(part, options)
    return violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map(({ html }) => html.slice(0, 120))].join(' '))
  }, of)
}

const usualLooks: Look[] = [
  ['light', 1440],
  ['dark', 390],
]

/** The states that quick runs check: a list, a notice, a form, a dialog and a phone. */
const inQuickRuns = ['trash', 'quota', 'passphrase-refused', 'delete-account', 'pairing-pictures', 'visits']

/**
 * The faults of a page in these looks: those that axe finds, and contents wider than the screen. Takes screenshots.
 * Without --deep, only some states are checked, in the second of the usual looks. Afterwards the page is wide.
 */
export async function faultsIn(
  page: Page,
  name: string,
  looks: readonly Look[] = isDeep ? usualLooks : usualLooks.slice(1),
): Promise<string[]> {
  const found: string[] = []
  if (!isDeep && !inQuickRuns.includes(name)) return found
  for (const [colorScheme, width] of looks) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height: 900 })
    found.push(...(await accessibilityFaults(page, 'html')))
    const inMain = await page.evaluate(() => {
      const main = document.querySelector('main')
      return main ? main.scrollWidth - main.clientWidth : 0
    })
    if (inMain + (await overflow(page)) > 0) found.push(`something is wider than ${width} px`)
    await screenshot(page, `${name}-${width}-${colorScheme}`)
  }
  await page.setViewportSize({ width: 1440, height: 900 })
  return found
}

/** The broken links in a part of the page: to pages of the same origin that do not respond, and to missing anchors. */
export async function brokenLinks(page: Page, part: string): Promise<string[]> {
  return page.evaluate(async (part) => {
    const links = [...document.querySelectorAll<HTMLAnchorElement>(`${part} a[href]`)]
    const urls = new Set(links.map(({ href }) => href).filter((href) => new URL(href).origin === location.origin))
    const pages = new Map<string, Promise<Document | undefined>>()
    const load = async (url: string) => {
      const answer = await fetch(url)
      return answer.ok ? new DOMParser().parseFromString(await answer.text(), 'text/html') : undefined
    }
    const isBroken = async (url: string) => {
      const { hash } = new URL(url)
      const address = url.slice(0, url.length - hash.length)
      const id = decodeURIComponent(hash.slice(1))
      if (address === location.href.replace(location.hash, '')) return id !== '' && !document.getElementById(id)
      const found = await (pages.get(address) ?? pages.set(address, load(address)).get(address))
      // Redoc adds the anchors of the operations.
      return !found || (id !== '' && !id.includes('/') && !found.getElementById(id))
    }
    const checked = await Promise.all([...urls].map(async (url) => ({ url, isBroken: await isBroken(url) })))
    return checked.filter(({ isBroken }) => isBroken).map(({ url }) => url)
  }, part)
}

/** The operations whose section has one code sample in each language. */
export async function operationsWithSamples(page: Page): Promise<string[]> {
  return page.locator('[id^="operation/"]').evaluateAll((sections) =>
    sections
      .filter((section) => {
        const tabs = Array.from(section.querySelectorAll('[role=tab]'), ({ textContent }) => textContent)
        return ['curl', 'TypeScript'].every((language) => tabs.filter((tab) => tab === language).length === 1)
      })
      .map(({ id }) => id.slice('operation/'.length)),
  )
}
