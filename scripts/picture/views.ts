import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import type { Report } from '../../src/service/terminal/progress.ts'
import { launchChromium, pressAtOnce } from '../servers/chromium.ts'
import { serveOwn } from '../servers/service.ts'
import { library } from './library.ts'
import { choosePassphrase, confirmCode, goTo, goToVault, importBookmarks, openVault, upToDate } from './person.ts'
import { addRecords } from './records.ts'

const folder = fileURLToPath(new URL('../../dist/pictures/', import.meta.url))
const schemes = ['light', 'dark'] as const
/** The largest height of a picture (px): enough for complete views, but not for lists of thousands. */
const maxHeight = 2600

interface Kind {
  options: BrowserContextOptions
  sizes: readonly { width: number; height: number }[]
}

const desk: Kind = {
  options: {},
  sizes: [
    { width: 1440, height: 900 },
    { width: 768, height: 1024 },
  ],
}
const phone: Kind = {
  options: { hasTouch: true, isMobile: true },
  sizes: [
    { width: 390, height: 844 },
    { width: 320, height: 640 },
  ],
}

/** A browser of the person, with a function that draws its page. */
interface Studio {
  page: Page
  /** Draws the page in all sizes, light and dark. If there is a scene, it is prepared before. */
  draw(name: string, scene?: Scene): Promise<void>
}

/** Draws every view and the main dialogs in all sizes, light and dark. Returns the pictures and an overview. */
export async function drawViews(report: Report, locale: string): Promise<string[]> {
  await using opened = new AsyncDisposableStack()
  report('starting the service and Chromium', 0)
  const { origin } = (await serveOwn(opened, { SERVE_APP: 'true' })).url
  const browser = await launchChromium()
  opened.defer(() => browser.close())
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const drawn: string[] = []
  const draw = async (name: string, page: Page) => {
    await page.screenshot({ path: join(folder, `${name}.png`) })
    drawn.push(`${name}.png`)
    report(`drawing ${name}`, drawn.length)
  }
  const open = async (kind: Kind) => {
    const studio = await openStudio(browser, kind, locale, draw)
    await studio.page.goto(origin)
    return studio
  }

  const at = { desk: await open(desk), phone: await open(phone) }
  await arrive(at.desk, at.phone)
  await fill(at.desk, at.phone)
  const views = await pathsOfViews()
  for (const studio of [at.desk, at.phone]) {
    for (const view of views) {
      await goTo(studio.page, await addressOf(studio.page, view))
      await studio.draw(view)
      await close(studio.page)
    }
    for (const [name, scene] of Object.entries(scenes)) {
      await studio.draw(name, scene)
    }
  }
  await pair(at.desk, await open(phone))
  const all = 'index.html'
  await writeFile(join(folder, all), pageOf(drawn))
  return [...drawn, all].map((name) => join(folder, name))
}

async function openStudio(
  browser: Browser,
  { options, sizes }: Kind,
  locale: string,
  draw: (name: string, page: Page) => Promise<void>,
): Promise<Studio> {
  const [usual = null] = sizes
  const page = await browser.newPage({ ...options, locale, reducedMotion: 'reduce', viewport: usual })
  await pressAtOnce(page)
  const drawAll = async (name: string, scene?: Scene) => {
    for (const size of sizes) {
      await page.setViewportSize(size)
      if (scene) {
        await goTo(page, 'folder')
        await page.locator('.row').first().waitFor()
      }
      // The scene is repeated for each size, because an open menu would stay where it is.
      const end = (await scene?.(page)) ?? close
      await stillness(page)
      await page.setViewportSize({
        ...size,
        height: Math.max(size.height, await page.evaluate(heightOfView, maxHeight)),
      })
      for (const colorScheme of schemes) {
        await page.emulateMedia({ colorScheme })
        await stillness(page)
        await draw(`${size.width}-${colorScheme}-${name}`, page)
      }
      if (scene) await end(page)
    }
    if (usual) await page.setViewportSize(usual)
  }
  return { page, draw: drawAll }
}

/** Runs in the browser: the height at which the view shows everything, up to `most`. 0 if a dialog or a menu is open. */
function heightOfView(most: number): number {
  const main = document.querySelector('main')
  const whole = main ? main.scrollHeight + main.getBoundingClientRect().top : document.documentElement.scrollHeight
  return document.querySelector('dialog[open], .menu:popover-open') ? 0 : Math.min(most, Math.ceil(whole))
}

/** Waits until the page has not changed for a moment. */
async function stillness(page: Page): Promise<void> {
  await page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        const quietMs = 250
        let timer = setTimeout(end, quietMs)
        const observer = new MutationObserver(() => {
          clearTimeout(timer)
          timer = setTimeout(end, quietMs)
        })
        // Leaves out a pairing, whose countdown never stops changing.
        const places = document.querySelectorAll('main, dialog > :not(.pairing), .front')
        for (const place of places) observer.observe(place, { childList: true, subtree: true, attributes: true })
        function end() {
          observer.disconnect()
          resolve()
        }
      }),
  )
}

/** Draws the pages from the first one to the open vault, in both browsers: one makes the vault, the other opens it. */
async function arrive(one: Studio, other: Studio): Promise<void> {
  await one.draw('front')
  await goToVault(one.page)
  await one.page.locator('[name=passphrase]').waitFor()
  await one.draw('vault-new')
  await choosePassphrase(one.page)
  await one.draw('vault-recovery-code')
  await confirmCode(one.page)
  await one.draw('no-bookmarks')
  await other.draw('front')
  await goToVault(other.page)
  await other.page.locator('[name=secret]').waitFor()
  await other.draw('vault-locked')
  await openVault(other.page)
  await other.draw('no-bookmarks')
}

const contested = 'Bread without kneading'

/** Adds bookmarks, a backup, trash, tab groups, history and stars, and makes each browser lose an edit. */
async function fill(one: Studio, other: Studio): Promise<void> {
  const [{ page }, { page: second }] = [one, other]
  await importBookmarks(page, library)
  await one.draw('settings-imported')
  await upToDate(page)
  await page.locator('#backups .button').first().click()
  await page.locator('.backup').waitFor()
  for (const title of ['Old printer page', 'Old router page', 'Empty for now']) {
    await goTo(page, 'folder')
    await focus(page, title)
    await page.keyboard.press('Delete')
    await row(page, title).waitFor({ state: 'detached' })
  }
  await upToDate(page)
  await upToDate(second)
  await addRecords(page, new URL(page.url()).origin)
  for (const device of [page, second]) {
    await goTo(device, 'visits')
    await device.locator('#main .button.primary').click()
    await device.locator('.virtual .row').first().waitFor()
  }
  await contest(page, second, contested, `${contested}, in an iron pot`, `${contested} at all`)
  await contest(second, page, 'Trains in Europe', 'Trains in Europe, and tickets', 'The Man in Seat Sixty-One')
}

/** Makes a conflict about a title: `loser` edits it first, while offline. */
async function contest(loser: Page, winner: Page, title: string, lost: string, kept: string): Promise<void> {
  for (const page of [loser, winner]) await goTo(page, 'all')
  await loser.context().setOffline(true)
  await retitle(loser, title, lost)
  await retitle(winner, title, kept)
  await upToDate(winner)
  await loser.context().setOffline(false)
  await goTo(loser, 'conflicts')
  await loser.locator('#conflicts [data-id]').waitFor()
  await upToDate(loser)
}

async function retitle(page: Page, title: string, to: string): Promise<void> {
  await focus(page, title)
  await page.keyboard.press('e')
  await page.fill('dialog [name=title]', to)
  await page.keyboard.press('Enter')
  await row(page, to).waitFor()
}

const row = (page: Page, title: string) => page.locator('.row-title').getByText(title, { exact: true })
const focus = (page: Page, title: string) => row(page, title).focus()
/** Focuses the first bookmark, which some scenes edit or select. */
const focusFirst = (page: Page) => page.locator('.row:not(:has(.folder)) [data-main]').first().focus()

/** The address of a view. For a view of one item, it names an item. */
async function addressOf(page: Page, view: string): Promise<string> {
  const rests: Record<string, string> = {
    tag: 'recipes',
    search: 'rec',
    add: '["Wikipedia","https://en.wikipedia.org/wiki/Bread"]',
  }
  if (view !== 'history') return rests[view] ? `${view}/${encodeURIComponent(rests[view])}` : view
  await goTo(page, 'search/Bread')
  const id = await page.locator('.virtual [data-id]', { hasText: 'Bread' }).first().getAttribute('data-id')
  return `history/${id}`
}

/** The paths of the views in `app/views.ts`, in order. Reads the file as text, because Node cannot import JSX. */
async function pathsOfViews(): Promise<string[]> {
  const source = await readFile(new URL('../../src/web/app/views.ts', import.meta.url), 'utf8')
  const paths = Array.from(source.matchAll(/\bpath: '([^']+)'/g), ([, path = '']) => path)
  if (paths.length === 0) throw new Error('app/views.ts lists no view')
  return paths
}

/** Closes dialogs, menus and filled fields. */
async function close(page: Page): Promise<void> {
  // The first press may only close suggestions, and the last a message.
  for (let times = 0; times < 3; times++) await page.keyboard.press('Escape')
  await page.locator('dialog').waitFor({ state: 'detached' })
  const toasts = page.locator('.toast > :last-child')
  while ((await toasts.count()) > 0) await toasts.first().click()
}

/** Prepares a picture; the page shows the top folder. May return what ends the scene, instead of pressing Escape. */
type Scene = (page: Page) => Promise<void | ((page: Page) => Promise<void>)>

const menuOf = (page: Page, place: string) => page.locator(`${place} [aria-haspopup=menu]`)
const own =
  (index: number): Scene =>
  async (page) => {
    await menuOf(page, '.header').click()
    await page.locator('.menu:popover-open button').nth(index).click()
  }
const keys =
  (...pressed: string[]): Scene =>
  async (page) => {
    await focusFirst(page)
    for (const key of pressed) await page.keyboard.press(key)
  }
const typed =
  (key: string, text: string): Scene =>
  async (page) => {
    await page.keyboard.press(key)
    await page.locator('dialog').waitFor()
    await page.keyboard.type(text)
  }
const view =
  (address: string): Scene =>
  (page) =>
    goTo(page, address)

const scenes: Record<string, Scene> = {
  'inside-folder': async (page) => page.locator('.row-title').first().click(),
  'no-such-folder': view('folder/none'),
  'no-such-view': view('nowhere'),
  'nothing-found': view('search/zzzzzz'),
  cards: async (page) => {
    const layout = page.locator('.toolbar > button').last()
    await layout.click()
    return () => layout.click()
  },
  'groups-open': async (page) => {
    await goTo(page, 'groups')
    await page.locator('.row-title').first().click()
  },
  'group-edit': async (page) => {
    await goTo(page, 'groups')
    await page.locator('.row-tools [aria-haspopup=menu]').first().click({ force: true })
    await page.locator('.menu:popover-open button').nth(1).click()
  },
  'groups-from-folder': async (page) => {
    await goTo(page, 'groups')
    await page.locator('#main .bar > .button').click()
  },
  selected: keys('x', 'ArrowDown', 'x'),
  drawer: async (page) => {
    const opener = page.locator('.menu-button')
    if (await opener.isVisible()) await opener.click()
  },
  'row-menu': async (page) => page.locator('.row-tools [aria-haspopup=menu]').nth(1).click({ force: true }),
  'sort-menu': async (page) => menuOf(page, '.toolbar').click(),
  'own-menu': async (page) => menuOf(page, '.header').click(),
  'new-bookmark': typed('n', 'en.wikipedia.org'),
  'new-folder': typed('f', 'Garden'),
  edit: keys('e'),
  'edit-tags': async (page) => {
    await keys('e')(page)
    await page.locator('dialog [name=tag]').click()
    await page.keyboard.type('re')
  },
  move: keys('m'),
  tags: keys('t'),
  'command-bar': typed('/', ''),
  'command-bar-found': typed('/', 'rec'),
  'command-bar-tags': typed('/', '#re'),
  'command-bar-commands': typed('/', '>'),
  'command-bar-address': typed('/', 'https://example.org/new'),
  seen: async (page) => {
    await own(2)(page)
    await page.locator('dialog details').first().click()
  },
  details: own(3),
  passphrase: async (page) => {
    await goTo(page, 'security')
    await page.locator('#main .panel .button').nth(1).click()
    await page.locator('dialog [name=passphrase]').waitFor()
  },
  message: async (page) => {
    await focusFirst(page)
    await page.keyboard.press('Delete')
    await page.locator('.toast').waitFor()
    return async () => page.keyboard.press('Control+z')
  },
  offline: async (page) => {
    await page.context().setOffline(true)
    await page.locator('#connection').waitFor()
    return async () => {
      await page.context().setOffline(false)
      await upToDate(page)
    }
  },
  'second-device': async (page) => {
    const button = page.locator('.beside-button')
    await button.click()
    await page.frameLocator('#beside iframe').locator('[name=secret]').waitFor()
    return async () => {
      // A narrow screen shows only one of the two devices.
      const first = page.locator('.device-tabs button').first()
      if (await first.isVisible()) await first.click()
      await button.click()
    }
  },
}

/** Draws both sides of a pairing. The guest is a third browser, which is not signed in yet. */
async function pair(host: Studio, guest: Studio): Promise<void> {
  await own(0)(host.page)
  await host.page.locator('.pairing-code').waitFor()
  // Draws first, although the code is valid for two minutes only: that is enough for all sizes.
  await host.draw('pairing-code')
  const link = await host.page.locator('.pairing .bar > .field input').inputValue()
  // The link opens a new page, as after scanning the code with a camera.
  await guest.page.goto('about:blank')
  await guest.page.goto(link)
  await guest.draw('pairing-arrived')
  await goToVault(guest.page)
  for (const { page } of [host, guest]) await page.locator('.pairing-pictures').waitFor()
  await host.draw('pairing-compare')
  await guest.draw('pairing-compare')
  await guest.page.locator('.form .button.primary').click()
  await host.page.locator('dialog .button.primary').click()
  await upToDate(guest.page)
  await host.draw('pairing-done')
}

/** A page with all pictures, by size. */
function pageOf(drawn: readonly string[]): string {
  const sizes = Object.entries(Object.groupBy(drawn, (name) => basename(name).split('-', 2).join(', ')))
  const figure = (name: string) =>
    `<figure><a href="${name}"><img src="${name}" loading="lazy"></a><figcaption>${basename(name, '.png')}</figcaption></figure>`
  const sections = sizes.map(
    ([size, names = []]) => `<h2>${size}</h2><section>${names.map(figure).join('\n')}</section>`,
  )
  return `<!doctype html><meta charset="utf-8"><title>All views</title>
<style>section { display: flex; flex-wrap: wrap; gap: 16px; align-items: start } figure { margin: 0 }
img { width: 340px; border: 1px solid #888 } figcaption { font: 12px monospace }</style>
${sections.join('\n')}`
}
