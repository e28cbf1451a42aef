import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import type { Report } from '../../src/service/terminal/progress.ts'
import { buildExtension } from '../package/extension.ts'
import { launchChromium } from '../servers/chromium.ts'
import { openExtensionPage } from './extension-page.ts'
import {
  choosePassphrase,
  comeToDoor,
  confirmCode,
  goTo,
  importBookmarks,
  openVault,
  serve,
  upToDate,
} from './person.ts'
import { inStep } from './store.ts'

const folder = new URL('../../docs/assets/', import.meta.url)

const bookmarks = `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<DL><p>
  <DT><H3>Reading</H3>
  <DL><p>
    <DT><A HREF="https://www.rfc-editor.org/rfc/rfc9106" TAGS="crypto,rfc">Argon2 memory-hard function (RFC 9106)</A>
    <DT><A HREF="https://sqlite.org/wal.html" TAGS="databases">Write-ahead logging in SQLite</A>
    <DT><A HREF="https://www.inkandswitch.com/local-first/" TAGS="sync">Local-first software</A>
  </DL><p>
  <DT><H3>Kitchen</H3>
  <DL><p>
    <DT><A HREF="https://www.seriouseats.com/" TAGS="recipes">Serious Eats</A>
    <DT><A HREF="https://www.bbcgoodfood.com/" TAGS="recipes,weekdays">BBC Good Food</A>
  </DL><p>
  <DT><H3>Travel</H3>
  <DL><p>
    <DT><A HREF="https://www.seat61.com/" TAGS="trains">The Man in Seat Sixty-One</A>
    <DT><A HREF="https://www.openstreetmap.org/" TAGS="maps">OpenStreetMap</A>
  </DL><p>
  <DT><A HREF="https://en.wikipedia.org/" TAGS="reference">Wikipedia</A>
  <DT><A HREF="https://archive.org/" TAGS="reference">Internet Archive</A>
</DL><p>`

/** Draws the pictures of the README and of docs/using, and returns their folder. */
export async function drawPictures(report: Report): Promise<string> {
  await using opened = new AsyncDisposableStack()
  report('starting the service and Chromium', 0, 5)
  const origin = await serve(opened)
  const browser = await launchChromium()
  opened.defer(() => browser.close())
  const wide = { width: 1440, height: 780 }
  const page = await browser.newPage({ viewport: wide, reducedMotion: 'reduce' })
  const draw = (of: Page, name: string) => of.screenshot({ path: fileURLToPath(new URL(`${name}.png`, folder)) })

  report('signing in', 1, 5)
  await page.goto(origin)
  await comeToDoor(page)
  await choosePassphrase(page)
  await confirmCode(page)
  report('importing bookmarks', 2, 5)
  await importBookmarks(page, bookmarks)
  await page.setViewportSize({ width: 960, height: 480 })
  await draw(page, 'using-import')
  await goTo(page, 'folder')
  await page.setViewportSize({ width: 390, height: 640 })
  await draw(page, 'using-phone')
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
