import t, { type Test } from 'tap'
import {
  demoOrigin,
  enter,
  enterVault,
  importFile,
  link,
  live,
  openChromium,
  openContext,
  openVault,
  show,
} from './fixture.ts'

/** From a change on the screen to the press that was meant for what was there before. */
const reactionMs = 250

const news = Array.from({ length: 60 }, (_, at) => `<DT><A HREF="https://example.org/${at}">News ${at + 1}</A>`)
const file = `<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p>
  <DT><H3>Kitchen</H3>
  <DL><p><DT><A HREF="https://example.org/pan">Pan</A><DT><A HREF="https://example.org/pot">Pot</A></DL><p>
  <DT><A HREF="https://example.org/paper">Paper</A>
  <DT><A HREF="https://example.org/soup" TAGS="recipe,green">Soup</A>
  <DT><A HREF="https://example.org/stew" TAGS="recipe">Stew</A>
  ${news.join('')}
</DL><p>`

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('two devices of one person at the same time', async (t) => {
    const origin = await demoOrigin()
    const open = async (t: Test) => (await openContext(t, browser)).newPage()
    const [one, other] = [await open(t), await open(t)]
    const code = await enterVault(one, origin, 'Both')
    await importFile(one, { name: 'bookmarks.html', mimeType: 'text/html', buffer: Buffer.from(file) })
    await enter(other, origin, 'Both')
    await openVault(other, code)
    for (const page of [one, other]) await show(page, 'folder')

    t.test('a key that was meant for a row that is gone does nothing to another one', async (t) => {
      const removed = async (title: string) => {
        await link(other, title).press('Delete')
        await link(one, title).waitFor({ state: 'detached' })
        await one.waitForTimeout(reactionMs)
      }
      const focused = () =>
        one.evaluate(() => document.activeElement?.closest('li')?.querySelector('[data-main]')?.textContent)
      const shown = () => one.getByText(/^\d+ items$/).textContent()

      await link(one, 'Paper').focus()
      await removed('Paper')
      t.equal(await focused(), 'Soup', 'the focus is beside it')
      const before = await shown()
      for (const key of ['Enter', 'Delete']) await one.keyboard.press(key)
      await live(one)
      t.equal(await shown(), before)
      t.equal(await link(one, 'Kitchen').count(), 1)
      await one.keyboard.press('Delete')
      await link(one, 'Soup').waitFor({ state: 'detached' })
      await one.keyboard.press('Control+z')
      await link(one, 'Soup').waitFor()
      await other.keyboard.press('Control+z')
      await link(one, 'Paper').waitFor()

      for (const page of [one, other]) await show(page, 'all')
      for (const page of [one, other]) {
        await page.locator('#main').evaluate((main) => main.scrollTo(0, main.scrollHeight))
        await link(page, 'News 60').waitFor()
      }
      await link(one, 'News 59').focus()
      await removed('News 59')
      t.equal(await focused(), 'News 60', 'in sight')
      for (const key of ['m', 'Escape', 'ArrowUp']) await one.keyboard.press(key)
      t.equal(await one.getByRole('dialog').count(), 0)
      t.equal(await focused(), 'News 58', 'from there, the arrows go on')
      await link(one, 'News 60').focus()
      await removed('News 60')
      t.equal(await focused(), 'News 58', 'the one before the last')
      await one.keyboard.press('ArrowUp')
      t.equal(await focused(), 'News 58', 'first, a key only comes to it')
    })
  })
}
