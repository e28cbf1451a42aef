import type { Page } from 'playwright-core'

/** How much wider the page is than its screen (px). */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth))
}

/** The links to pages beside this one that do not answer, and those to anchors that are not there. */
export async function brokenLinks(page: Page): Promise<string[]> {
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

/** The texts whose contrast (WCAG 2) with what is behind them is below 3. */
export async function faintTexts(page: Page): Promise<string[]> {
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
