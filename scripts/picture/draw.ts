import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import type { Report } from '../../src/service/terminal/progress.ts'
import { languages } from '../../src/web/words/language.ts'
import { buildExtension } from '../package/extension.ts'
import { launchChromium, pressAtOnce } from '../servers/chromium.ts'
import { serveOwn } from '../servers/service.ts'
import { openExtensionPage } from './extension-page.ts'
import { library } from './library.ts'
import { choosePassphrase, confirmCode, goTo, goToVault, importBookmarks, openVault, upToDate } from './person.ts'
import { addRecords } from './records.ts'
import { inStep } from './store.ts'

const folder = new URL('../../docs/assets/', import.meta.url)

/** Draws the pictures in the README and in docs/using. Returns their folder. */
export async function drawPictures(report: Report): Promise<string> {
  await using opened = new AsyncDisposableStack()
  report('starting the service and Chromium', 0, 5)
  const { origin } = (await serveOwn(opened, { SERVE_APP: 'true' })).url
  const browser = await launchChromium()
  opened.defer(() => browser.close())
  const wide = { width: 1440, height: 780 }
  const page = await browser.newPage({ viewport: wide, reducedMotion: 'reduce' })
  await pressAtOnce(page)
  const draw = (of: Page, name: string) => of.screenshot({ path: fileURLToPath(new URL(`${name}.png`, folder)) })

  report('signing in', 1, 5)
  await page.goto(origin)
  await goToVault(page)
  await choosePassphrase(page)
  await confirmCode(page)
  report('importing bookmarks', 2, 5)
  await importBookmarks(page, library)
  await page.setViewportSize({ width: 960, height: 480 })
  await draw(page, 'using-import')
  await page.locator('.toast').getByRole('button', { name: 'Dismiss' }).click()
  await goTo(page, 'folder')
  await page.setViewportSize({ width: 390, height: 640 })
  // Moves the pointer away from the rows, because a phone has none.
  await page.mouse.move(0, 0)
  await draw(page, 'using-phone')
  await addRecords(page, origin)
  await drawRecords(page, draw)
  await page.setViewportSize(wide)

  report('opening the second device', 3, 5)
  await page.click('.beside-button')
  const beside = page.frameLocator('#beside iframe')
  await openVault(beside)
  for (const device of [page, beside]) {
    await upToDate(device)
    await device.getByRole('main').getByRole('link', { name: 'Reading' }).click()
    await device.getByText('Local-first software').waitFor()
  }
  await draw(page, 'page')

  report('opening the extension', 4, 5)
  await buildExtension()
  const popup = await openExtensionPage(await browser.newContext(), 'popup', { state: inStep }, 'en')
  await popup.locator('html:not(.wordless) h1:not(:text("…"))').waitFor()
  await popup.locator('body').screenshot({ path: fileURLToPath(new URL('using-extension.png', folder)) })
  return fileURLToPath(folder)
}

type Draw = (of: Page, name: string) => Promise<unknown>

/** Draws the tab groups and the browsing history, in each language. */
async function drawRecords(page: Page, draw: Draw): Promise<void> {
  await goTo(page, 'visits')
  await page.locator('#main .button.primary').click()
  await page.setViewportSize({ width: 960, height: 640 })
  for (const language of [...languages].reverse()) {
    await page.evaluate((language) => localStorage.setItem('language', language), language)
    await page.reload()
    for (const [view, name] of [
      ['groups', 'tab-groups'],
      ['visits', 'browsing-history'],
    ] as const) {
      await goTo(page, view)
      await page.locator('#main .virtual .row').first().waitFor()
      if (view === 'groups') await page.locator('#main .row-title').first().click()
      await page.mouse.move(0, 0)
      await draw(page, `using-${name}${language === 'en' ? '' : `-${language}`}`)
    }
  }
  await goTo(page, 'folder')
}
