import type { Page } from 'playwright-core'
import t from 'tap'
import { deep } from '../support/depth.ts'
import {
  addBookmark,
  demoOrigin,
  enter,
  enterVault,
  identityOf,
  live,
  openChromium,
  openContext,
  openVault,
  placesOf,
} from './fixture.ts'

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('data that a person leaves in a shared browser', async (t) => {
    const origin = await demoOrigin()
    const context = await openContext(t, browser, {}, /WebSocket/)
    const page = await context.newPage()
    const code = await enterVault(page, origin, 'Lender')
    await addBookmark(page, 'Private matter')
    await live(page)
    const lender = await identityOf(page)
    const erase = page.getByRole('button', { name: 'Delete them from this browser' })
    const answer = page.getByRole('dialog').getByRole('button', { name: 'Delete them from this browser' })

    deep(t, 'a second device in the page can be closed alone, and cannot sign the person out', async (t) => {
      const second = page.frameLocator('#beside iframe')
      for (const isOpen of [false, true]) {
        await page.getByRole('button', { name: 'Try a second device here' }).click()
        await second.getByRole('heading', { name: 'Open your bookmarks' }).waitFor()
        if (isOpen) {
          await openVault(second, code)
          await second.getByRole('button', { name: /^Lender/ }).click()
          t.equal(await second.getByRole('menuitem', { name: 'Sign out' }).count(), 0)
          await second.getByRole('menuitem', { name: 'Close this device' }).click()
        } else {
          t.equal(await second.getByRole('button', { name: 'Sign out' }).count(), 0)
          t.equal(await second.getByRole('button', { name: 'Delete my account…' }).count(), 0)
          await second.getByRole('button', { name: 'Close this device' }).click()
        }
        await page.locator('#beside').waitFor({ state: 'detached' })
      }
      t.equal((await page.request.get(`${origin}/api/v1/auth/session`)).status(), 200)
      await live(page)
    })

    t.test('after an expired session, others see that bookmarks are stored, and can delete them', async (t) => {
      await endSession(page, origin)
      await page.getByText('Bookmarks are still stored in this browser').waitFor()
      await enterVault(page, origin, 'Borrower')
      await page.getByText('Bookmarks of somebody else are stored in this browser').waitFor()
      await addBookmark(page, 'Of the borrower')
      await erase.click()
      await answer.click()
      await page.locator('#stored').waitFor({ state: 'detached' })
      const own = await identityOf(page)
      t.same(await placesOf(page, lender), [])
      t.ok((await placesOf(page, own)).some((place) => place.startsWith('database')))
      await page.reload()
      await page.getByRole('link', { name: 'Of the borrower' }).waitFor()
      t.equal(await erase.count(), 0)

      await endSession(page, origin)
      const tab = await context.newPage()
      await tab.goto(origin)
      await tab.locator('#stored').waitFor()
      await erase.click()
      await answer.click()
      await page.locator('#stored').waitFor({ state: 'detached' })
      // The other tab gets the focus.
      await tab.evaluate(() => dispatchEvent(new Event('focus')))
      await tab.locator('#stored').waitFor({ state: 'detached' })
      await tab.close()
      t.same(await placesOf(page, own), [])
    })

    deep(t, 'the unlock screen also says that bookmarks of another person are stored', async () => {
      await enterVault(page, origin, 'Third')
      await endSession(page, origin)
      await enter(page, origin, 'Fourth')
      await page.getByText('Bookmarks of somebody else are stored in this browser').waitFor()
    })
  })
}

async function endSession(page: Page, origin: string): Promise<void> {
  await page.evaluate(() => fetch('/api/v1/auth/logout', { method: 'POST' }))
  await page.goto('about:blank')
  await page.goto(origin)
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
}
