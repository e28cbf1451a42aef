import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { importFile, live, openChromium, openPage, screenshot, show } from './fixture.ts'

const links = Array.from({ length: 100 }, (_, at) => `<DT><A HREF="https://example.org/${at}">Number ${at}</A>`)
const folders = Array.from({ length: 60 }, (_, at) => `<DT><H3>Folder ${at}</H3><DL></DL>`)
const names = Array.from({ length: 12 }, (_, at) => `tag-${at + 1}`).toString()
const file = `<!DOCTYPE NETSCAPE-Bookmark-file-1><DL>
<DT><H3>Outer</H3><DL><DT><H3>Inner</H3><DL><DT><A HREF="https://example.org/in">Inside</A></DL></DL>
<DT><A HREF="https://he.example/" TAGS="a-${'long-'.repeat(20)},${names}">${'שלום עולם '.repeat(30)}</A>
${links.join('\n')}
${folders.join('\n')}</DL>`

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('the page keeps its place with back and reload, by keyboard, and with larger text', async (t) => {
    const page = await openPage(t, browser, 'Places')
    await importFile(page, { name: 'bookmarks.html', mimeType: 'text/html', buffer: Buffer.from(file) })
    await live(page)

    await t.test('back restores the scroll position in a long list, also after a reload', async (t) => {
      const main = page.locator('#main')
      const top = () => main.evaluate((main) => main.scrollTop)
      await show(page, 'all')
      await page.getByRole('link', { name: 'Number 0', exact: true }).waitFor()
      await main.evaluate((main) => main.scrollTo(0, 2000))
      await page.getByRole('link', { name: 'Number 35', exact: true }).waitFor()
      await show(page, 'shortcuts')
      await page.getByRole('heading', { name: 'Shortcuts' }).waitFor()
      t.equal(await top(), 0)
      await page.goBack()
      await page.getByRole('link', { name: 'Number 35', exact: true }).waitFor()
      t.equal(await top(), 2000)
      await page.goForward()
      await page.reload()
      await live(page)
      await page.goBack()
      await page.getByRole('link', { name: 'Number 35', exact: true }).waitFor()
      t.equal(await top(), 2000)
    })

    await t.test('the sidebar opens down to the folder that is shown', async () => {
      await show(page, 'folder')
      for (const name of ['Outer', 'Inner']) await page.getByRole('main').getByRole('link', { name }).click()
      await page.locator('.folders [aria-current=page]', { hasText: 'Inner' }).waitFor()
    })

    await t.test('the sidebar scrolls to a folder opened elsewhere, but not to one clicked in it', async (t) => {
      await page.getByRole('searchbox').fill('folder 55')
      await page.getByRole('main').getByRole('link', { name: 'Folder 55' }).click()
      const current = page.locator('.folders [aria-current=page]', { hasText: 'Folder 55' })
      await current.waitFor()
      t.ok(await isWithin(current, '.sidebar'))
      const top = () => page.locator('.sidebar').evaluate((sidebar) => sidebar.scrollTop)
      const before = await top()
      await page.locator('.folders').getByRole('link', { name: 'Folder 50' }).click()
      await page.locator('.folders [aria-current=page]', { hasText: 'Folder 50' }).waitFor()
      t.equal(await top(), before)
    })

    await t.test('a printed list is complete, without the rest of the page', async (t) => {
      await show(page, 'all')
      await page.getByRole('link', { name: 'Number 0', exact: true }).waitFor()
      const rows = page.locator('.virtual[aria-label="All bookmarks"] > li')
      t.ok((await rows.count()) < 102)
      await page.evaluate(() => dispatchEvent(new Event('beforeprint')))
      await page.emulateMedia({ media: 'print' })
      t.equal(await rows.count(), 102)
      const cut = await rows.evaluateAll((rows) => {
        const edges = rows.map((row) => row.getBoundingClientRect())
        const isBelow = edges.some(({ bottom }, at) => bottom > (edges[at + 1]?.top ?? Infinity) + 1)
        const texts = rows.flatMap((row) => [...row.querySelectorAll('.row-title')])
        return isBelow || texts.some((title) => title.scrollWidth > title.clientWidth)
      })
      t.notOk(cut, 'no text is cut off or covered')
      t.notMatch(await page.evaluate(() => document.body.innerText), /Add bookmark|Duplicates/)
      await page.emulateMedia({ media: 'screen' })
      await page.evaluate(() => dispatchEvent(new Event('afterprint')))
      await page.waitForFunction(() => document.querySelectorAll('#main .virtual > li').length < 102)
    })

    await t.test('the search box shows its results, also after back', async (t) => {
      const box = page.getByRole('searchbox')
      await box.pressSequentially('inside')
      await page.getByText('1 found for “inside”').waitFor()
      await show(page, 'shortcuts')
      await page.getByRole('heading', { name: 'Shortcuts' }).waitFor()
      t.equal(await box.inputValue(), '')
      await page.goBack()
      await page.getByText('1 found for “inside”').waitFor()
      t.equal(await box.inputValue(), 'inside')
    })

    await t.test('a keyboard can skip the folders, leave a menu with Tab, and stay where a link leads', async (t) => {
      await show(page, 'folder')
      await page.reload()
      await live(page)
      await page.keyboard.press('Tab')
      await page.locator('.skip-link:focus').waitFor()
      await page.keyboard.press('Enter')
      await page.locator('#main:focus').waitFor()
      const more = page.getByRole('button', { name: 'More for Outer' })
      await more.press('Enter')
      await page.getByRole('menuitem', { name: 'Edit…' }).and(page.locator(':focus')).waitFor()
      await page.keyboard.press('Tab')
      await page.getByRole('menu').waitFor({ state: 'detached' })
      t.match(await focused(page), /^Select /)
      await page.setViewportSize({ width: 390, height: 844 })
      await page.getByRole('button', { name: 'Open the menu' }).press('Enter')
      await page.getByRole('navigation').getByRole('link', { name: 'Shortcuts' }).press('Enter')
      await page.getByRole('heading', { name: 'Shortcuts' }).waitFor()
      await page.locator('#main:focus').waitFor()
    })

    await t.test('the suggestion selected with the arrow keys is visible', async (t) => {
      await page.setViewportSize({ width: 1200, height: 800 })
      await page.keyboard.press('n')
      const tags = page.getByRole('combobox', { name: 'Tags' })
      await tags.focus()
      for (let presses = 0; presses < 10; presses++) await tags.press('ArrowDown')
      const marked = page.locator('[role=option][aria-selected=true]')
      t.match(await marked.textContent(), /^tag-/)
      t.ok(await isWithin(marked, '[role=listbox]'))
      await page.keyboard.press('Escape')
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    })

    await t.test('with doubled text size, nothing overlaps or overflows', async (t) => {
      const session = await page.context().newCDPSession(page)
      await session.send('Page.setFontSizes', { fontSizes: { standard: 32, fixed: 26 } })
      for (const [width, layout] of [
        [390, 'Show as cards'],
        [1440, 'Show as a list'],
      ] as const) {
        await page.setViewportSize({ width, height: 900 })
        for (const view of ['shortcuts', 'account', 'settings', 'folder']) {
          await show(page, view)
          await page.locator('.main h1').waitFor()
          t.same(await overlaps(page), [], `${view}, ${width} pixels wide`)
          await screenshot(page, `large-${view}-${width}`)
        }
        await page.getByRole('button', { name: layout }).click()
        t.same(await overlaps(page), [], `${layout}, ${width} pixels wide`)
      }
    })

    await t.test('a right-to-left title is cut off at its own end', async (t) => {
      await page.setViewportSize({ width: 1200, height: 800 })
      const title = page.locator('.row-title', { hasText: 'שלום' })
      t.equal(await title.evaluate((title) => getComputedStyle(title).direction), 'rtl')
    })
  })
}

/** True if the whole element is visible within its container. */
function isWithin(element: Locator, around: string): Promise<boolean> {
  return element.evaluate((element, around) => {
    const [own, outer] = [element.getBoundingClientRect(), element.closest(around)?.getBoundingClientRect()]
    return outer !== undefined && own.top >= outer.top && own.bottom <= outer.bottom
  }, around)
}

function focused(page: Page): Promise<string> {
  return page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '')
}

/** Rows whose contents are higher than the row, and parts of the page whose contents are wider than the part. */
async function overlaps(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const tall = [...document.querySelectorAll('.virtual > li')].filter(
      (row) => (row.querySelector('.row-text, .link')?.clientHeight ?? 0) > row.clientHeight,
    )
    const wide = [document.documentElement, document.querySelector('#main')].filter(
      (part) => part && part.scrollWidth > part.clientWidth,
    )
    return [
      ...tall.map(({ textContent }) => `too high: ${textContent}`),
      ...wide.map((part) => `too wide: ${part?.id}`),
    ]
  })
}
