import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FrameLocator, Page } from 'playwright-core'
import type { Report } from '../../src/service/terminal/progress.ts'
import { launchChromium } from '../servers/chromium.ts'
import { spawnService } from '../servers/service.ts'

const file = fileURLToPath(new URL('../../docs/assets/page.png', import.meta.url))
const passphrase = 'tinsel walrus oboe fjord'

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

/** Returns the path of the picture. */
export async function drawPicture(report: Report): Promise<string> {
  await using opened = new AsyncDisposableStack()
  report('starting the service and Chromium', 0, 4)
  const folder = await mkdtemp(join(tmpdir(), 'ebs-picture-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const service = await spawnService(folder, { SERVE_APP: 'true' })
  opened.defer(() => service.stop())
  await service.ready()
  const browser = await launchChromium()
  opened.defer(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 1440, height: 780 } })

  report('signing in', 1, 4)
  await signIn(page, service.url.origin)
  await page.getByLabel('New passphrase').fill(passphrase)
  await page.getByLabel('The same once more').fill(passphrase)
  await page.getByRole('button', { name: 'Create my vault' }).click()
  await page.getByRole('button', { name: 'I have it on paper' }).click()
  await upToDate(page)
  report('importing bookmarks', 2, 4)
  const upload = { name: 'bookmarks.html', mimeType: 'text/html', buffer: Buffer.from(bookmarks) }
  await page.getByRole('link', { name: 'Import, export, vault' }).click()
  await page.setInputFiles('input[accept=".htm,.html"]', upload)
  await page.getByText('12 bookmarks and folders imported').waitFor()
  await page.getByRole('link', { name: 'Bookmarks', exact: true }).click()

  report('opening the second device', 3, 4)
  await page.getByRole('button', { name: 'Second device alongside' }).click()
  const beside = page.frameLocator('#beside iframe')
  await beside.getByLabel('Passphrase or code').fill(passphrase)
  await beside.getByRole('button', { name: 'Open', exact: true }).click()
  for (const device of [page, beside]) {
    await upToDate(device)
    await device.getByRole('main').getByRole('link', { name: 'Reading' }).click()
    await device.getByText('Local-first software').waitFor()
  }
  await page.screenshot({ path: file })
  return file
}

async function signIn(page: Page, origin: string): Promise<void> {
  await page.goto(origin)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(/\/sign-in\//)
  await page.locator('input:not([type=hidden])').first().fill('Ada')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${origin}/`)
}

/** Connected, and nothing waits to be sent. */
async function upToDate(device: Page | FrameLocator): Promise<void> {
  await device.locator('#status[data-state=online][data-waiting="0"]').waitFor()
}
