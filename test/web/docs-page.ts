import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { isDeep } from '../support/depth.ts'
import { screenshot } from './fixture.ts'

export type Look = readonly [colorScheme: 'light' | 'dark', width: number]

/** Half of what it is with its comments, which each page would read. */
const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** How much wider the page is than its screen (px). */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth))
}

/** The faults that axe finds in a part of the page, each rule with its first places; of all its rules, or of these alone. */
export async function accessibilityFaults(page: Page, part: string, rules?: string[]): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
  // Omits the lists of everything that passed.
  const of = { part, options: { resultTypes: ['violations' as const], ...(rules && { runOnly: rules }) } }
  return page.evaluate(async ({ part, options }) => {
    const { axe } = window as unknown as { axe: typeof import('axe-core') }
    // A colour in transition does not count.
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

/**
 * Axe's faults of a page in these looks, of the usual ones in the second alone without --deep, and all that sticks out; with a
 * picture of each. Afterwards the page is wide.
 */
export async function faultsIn(
  page: Page,
  name: string,
  looks: readonly Look[] = isDeep ? usualLooks : usualLooks.slice(1),
): Promise<string[]> {
  const found: string[] = []
  for (const [colorScheme, width] of looks) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height: 900 })
    found.push(...(await accessibilityFaults(page, 'html')))
    const inMain = await page.evaluate(() => {
      const main = document.querySelector('main')
      return main ? main.scrollWidth - main.clientWidth : 0
    })
    if (inMain + (await overflow(page)) > 0) found.push(`something sticks out of ${width} px`)
    await screenshot(page, `${name}-${width}-${colorScheme}`)
  }
  await page.setViewportSize({ width: 1440, height: 900 })
  return found
}

/** Links of a part to other pages that do not respond, and to missing anchors. */
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
