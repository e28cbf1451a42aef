/** With `--deep`: the web page in the machine's own Firefox, by WebDriver BiDi. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { isDeep } from '../support/depth.ts'
import { overflow } from './docs-page.ts'
import { launchFirefox } from './firefox/launch.ts'
import {
  addBookmark,
  demoOrigin,
  keepsPage,
  link,
  live,
  makeVault,
  openContext,
  openVault,
  screenshot,
  signIn,
  withoutNetwork,
} from './fixture.ts'

const sizes = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
]

/** For a screenshot, Playwright adds a style to the page, which the page's policy blocks. */
const expected = process.env.SCREENSHOTS === undefined ? undefined : /blocked an inline style/

const browser = isDeep ? await launchFirefox() : undefined
if (!browser) t.plan(0, isDeep ? 'Firefox is not installed' : 'with --deep')
else {
  for (const viewport of sizes) {
    const { width } = viewport
    t.test(`two Firefoxes of one person, ${width} pixels wide`, async (t) => {
      const origin = await demoOrigin()
      const name = `Fox ${width}`
      const context = await openContext(t, browser, { ...keepsPage, viewport }, expected)
      const page = await context.newPage()
      await page.goto(origin)
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      await screenshot(page, `firefox-sign-in-${width}`)
      await signIn(page, origin, name)
      await makeVault(page)
      const second = await openContext(t, browser, { ...keepsPage, viewport }, expected)
      const other = await second.newPage()

      t.test('a bookmark is added and survives a reload; an edit is undone', async (t) => {
        await addBookmark(page, 'Argon2', 'rfc-editor.org/rfc/rfc9106')
        await addBookmark(page, 'Write-ahead logging', 'sqlite.org/wal.html')
        await live(page)
        await page.reload()
        await live(page)
        await link(page, 'Argon2').waitFor()
        await rename(page, 'Argon2', 'Argon2 renamed')
        await page.locator('.toast', { hasText: 'saved' }).getByRole('button', { name: 'Undo' }).click()
        await link(page, 'Argon2').waitFor()
        await live(page)
        await screenshot(page, `firefox-list-${width}`)
        t.equal(await overflow(page), 0, 'the page fits the window')
      })

      t.test('a second browser shows it live; after offline edits in both, one of them shows a conflict', async (t) => {
        await signIn(other, origin, name)
        await openVault(other)
        await link(other, 'Argon2').waitFor()
        await rename(page, 'Argon2', 'Argon2, live')
        await link(other, 'Argon2, live').waitFor()
        await withoutNetwork(other, async () => {
          await withoutNetwork(page, async () => {
            for (const [device, title] of [
              [page, 'Seen here'],
              [other, 'Seen there'],
            ] as const) {
              await device.locator('#status[data-state=offline]').waitFor()
              await rename(device, 'Argon2, live', title)
              await device.locator('#status[data-waiting="1"]').waitFor()
            }
          })
          await live(page)
        })
        await live(other)
        t.same(await asking([page, other]), [0, 1], 'one of the two browsers asks')
        await screenshot(page, `firefox-conflict-here-${width}`)
        await screenshot(other, `firefox-conflict-there-${width}`)
        await second.close()
      })

      t.test('the page reloads without a network, and later sends what was made meanwhile', async () => {
        await withoutNetwork(page, async () => {
          await page.reload()
          await page.locator('#status[data-state=offline]').waitFor()
          await link(page, 'Write-ahead logging').waitFor()
          await addBookmark(page, 'Made without a network', 'example.org')
          await page.locator('#status[data-waiting="1"]').waitFor()
          await screenshot(page, `firefox-offline-${width}`)
        })
        await live(page)
      })
    })
  }
}

async function rename(page: Page, from: string, to: string): Promise<void> {
  await link(page, from).focus()
  await page.keyboard.press('e')
  const title = page.getByRole('dialog').getByLabel('Title')
  await title.fill(to)
  await title.press('Enter')
  await link(page, to).waitFor()
}

/** The numbers of conflicts that the devices show, sorted, because their clocks decide which one loses. */
async function asking(devices: Page[]): Promise<number[]> {
  const notices = devices.map((device) => device.locator('.notice', { hasText: 'Decide' }))
  await Promise.race(notices.map((notice) => notice.waitFor({ state: 'attached' })))
  return (await Promise.all(notices.map((notice) => notice.count()))).sort()
}
