import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { depth } from '../support/depth.ts'
import { live, openChromium, openPage, passphrase, show } from './fixture.ts'

/** A key of somebody who types well. A program fills a field in no time, and meets none of what happens between two keys. */
const keyMs = depth(40, 150)
/** From the button's going down to its coming up: a page that moves meanwhile loses the click. */
const pressMs = 80

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('at the speed of a person', async (t) => {
    const page = await openPage(t, browser, 'Human')

    t.test(
      'who types the passphrase long after the page has loaded is not told that the service is away',
      async (t) => {
        // All patience of the page with the service ends while the person types.
        const shorten = depth(40, 1)
        await page.addInitScript((shorten) => {
          const { timeout } = AbortSignal
          AbortSignal.timeout = (ms) => timeout.call(AbortSignal, ms / shorten)
          const states: string[] = []
          Object.assign(window, { states })
          new MutationObserver(() => {
            const state = document.querySelector<HTMLElement>('#status')?.dataset.state
            if (state && states.at(-1) !== state) states.push(state)
          }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-state'] })
        }, shorten)
        await press(page, page.getByRole('button', { name: /^Human/ }))
        await press(page, page.getByRole('menuitem', { name: 'Lock' }))
        await page.getByRole('heading', { name: 'Open your bookmarks' }).waitFor()
        await page.waitForTimeout(depth(0, 6000))
        await press(page, page.getByLabel('Passphrase', { exact: false }).first())
        await page.keyboard.type(passphrase, { delay: keyMs })
        await page.keyboard.press('Enter')
        await page.locator('#status').waitFor()
        await show(page, 'account')
        await page.getByRole('heading', { name: 'Where you are signed in' }).waitFor()
        await live(page)
        const states = await page.evaluate(() => (window as unknown as { states: string[] }).states)
        t.notOk(states.includes('offline'), states.join(', '))
        t.equal(await page.getByText(/timed out/).count(), 0)
      },
    )
  })
}

/** With the mouse, as slowly as a hand does it. */
async function press(page: Page, target: Locator): Promise<void> {
  await target.scrollIntoViewIfNeeded()
  const box = await target.boundingBox()
  if (!box) throw new Error(`${target} is not to be seen`)
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
  await page.mouse.down()
  await page.waitForTimeout(pressMs)
  await page.mouse.up()
}
