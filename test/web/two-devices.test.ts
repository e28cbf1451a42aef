import type { Page } from 'playwright-core'
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

/** The time from a change on the screen to a press that was meant for the earlier content. */
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
  t.test('two devices of one person are used at the same time', async (t) => {
    const origin = await demoOrigin()
    const open = async (t: Test) => (await openContext(t, browser)).newPage()
    const [one, other] = [await open(t), await open(t)]
    const code = await enterVault(one, origin, 'Both')
    await importFile(one, { name: 'bookmarks.html', mimeType: 'text/html', buffer: Buffer.from(file) })
    await enter(other, origin, 'Both')
    await openVault(other, code)
    for (const page of [one, other]) await show(page, 'folder')

    t.test('a key meant for a row that just vanished does not affect another row', async (t) => {
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
      t.equal(await focused(), 'Soup', 'the focus is on the next row')
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
      t.equal(await focused(), 'News 58', 'the arrow keys continue from there')
      await link(one, 'News 60').focus()
      await removed('News 60')
      t.equal(await focused(), 'News 58', 'the focus is on the row before the last')
      await one.keyboard.press('ArrowUp')
      t.equal(await focused(), 'News 58', 'the first key only moves the focus')
    })

    t.test('Undo and Redo keep tags that the other device has added', async (t) => {
      for (const page of [one, other]) await show(page, 'folder')
      for (const page of [one, other]) {
        await page.locator('#main').evaluate((main) => main.scrollTo(0, 0))
        await link(page, 'Soup').waitFor()
      }
      const tags = (page: Page, title: string) =>
        page.locator('.row', { has: page.getByRole('link', { name: title, exact: true }) }).locator('.row-tags .tag')
      const tag = async (page: Page, title: string, typed: string) => {
        await link(page, title).press('t')
        await page.getByRole('dialog').getByLabel('Tags', { exact: true }).pressSequentially(typed, { delay: 40 })
        await page.keyboard.press('Enter')
        await page.keyboard.press('Enter')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        await tags(one, title).getByText(typed, { exact: true }).waitFor()
        await tags(other, title).getByText(typed, { exact: true }).waitFor()
      }
      const sorted = async (title: string) => (await tags(one, title).allTextContents()).sort().join()
      const said = (text: string) => one.locator('.toast', { hasText: text }).waitFor()

      await tag(one, 'Stew', 'mine')
      await tag(other, 'Stew', 'theirs')
      await link(one, 'Stew').press('Control+z')
      await said('Undone')
      t.equal(await sorted('Stew'), 'recipe,theirs')
      await one.keyboard.press('Control+y')
      await said('Redone')
      t.equal(await sorted('Stew'), 'mine,recipe,theirs')

      await show(one, 'tag/recipe')
      await one.getByRole('button', { name: 'More for #recipe' }).click()
      await one.getByRole('menuitem', { name: 'Rename…' }).click()
      await one.getByRole('dialog').getByRole('textbox').fill('meal')
      await one.keyboard.press('Enter')
      await one.getByRole('dialog').waitFor({ state: 'detached' })
      await tags(other, 'Soup').getByText('meal', { exact: true }).waitFor()
      await tag(other, 'Soup', 'fresh')
      await one.keyboard.press('Control+z')
      await tags(one, 'Soup').getByText('recipe', { exact: true }).waitFor()
      t.equal(await sorted('Soup'), 'fresh,green,recipe')
      t.equal(await sorted('Stew'), 'mine,recipe,theirs')
      await tag(other, 'Stew', 'late')
      await one.keyboard.press('Control+y')
      await tags(one, 'Soup').getByText('meal', { exact: true }).waitFor()
      t.equal(await sorted('Soup'), 'fresh,green,meal')
      t.equal(await sorted('Stew'), 'late,meal,mine,theirs')
    })
  })
}
