import type { Page } from 'playwright-core'
import t from 'tap'
import { depth } from '../support/depth.ts'
import { importFile, link, live, openChromium, openPage, placesOf, screenshot, show } from './fixture.ts'

const rows = Array.from({ length: 80 }, (_, at) => `<DT><A HREF="https://example.org/${at}">Row ${at + 1}</A>`)
const file = `<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p><DT><H3>Shelf</H3><DL><p></DL><p>${rows.join('')}</DL><p>`

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('undo and drafts', async (t) => {
    const page = await openPage(t, browser, 'Steps')
    await importFile(page, { name: 'bookmarks.html', mimeType: 'text/html', buffer: Buffer.from(file) })
    await show(page, 'folder')
    const dialog = page.getByRole('dialog')
    const field = (name: string) => dialog.getByLabel(name, { exact: true })
    const gone = () => dialog.waitFor({ state: 'detached' })
    const said = (text: string) => page.locator('.toast', { hasText: text }).waitFor()
    const toast = page.locator('.toast')
    const retitle = async (from: string, to: string) => {
      await link(page, from).press('e')
      await field('Title').fill(to)
      await page.keyboard.press('Enter')
      await gone()
      await link(page, to).waitFor()
    }

    await t.test('several steps are undone and redone, by keys and by buttons', async (t) => {
      await retitle('Row 1', 'Row one')
      await link(page, 'Row 2').press('Delete')
      await link(page, 'Row 2').waitFor({ state: 'detached' })
      await link(page, 'Row 3').press('Alt+ArrowDown')
      await said('“Row 3” moved')
      await page.keyboard.press('Control+z')
      await said('Undone: “Row 3” moved')
      await page.keyboard.press('Control+z')
      await link(page, 'Row 2').waitFor()
      await page.keyboard.press('Control+z')
      await link(page, 'Row 1').waitFor()
      await screenshot(page, 'undone')
      await page.keyboard.press('Control+Shift+z')
      await link(page, 'Row one').waitFor()
      await page.keyboard.press('Control+y')
      await link(page, 'Row 2').waitFor({ state: 'detached' })
      await said('Redone: “Row 2” deleted')
      await toast.getByRole('button', { name: 'Undo' }).click()
      await link(page, 'Row 2').waitFor()
      const [undo, redo] = await Promise.all(
        ['Undone: “Row 2” deleted', 'Redo'].map((text) => toast.getByText(text).boundingBox()),
      )
      t.ok(redo && undo && redo.x < undo.x, 'Redo is not at the place of Undo')
      await toast.getByRole('button', { name: 'Redo' }).click()
      await link(page, 'Row 2').waitFor({ state: 'detached' })
      await page.keyboard.press('Control+z')
      await page.keyboard.press('Control+z')
      await link(page, 'Row 1').waitFor()
      // After another edit, earlier steps cannot be redone.
      await retitle('Row 5', 'Row five')
      await page.keyboard.press('Control+y')
      await said('Nothing to redo')
      await link(page, 'Row 1').waitFor()
    })

    await t.test('choosing a folder in the form is undone without a conflict', async (t) => {
      await link(page, 'Row 7').press('e')
      await field('Folder').click()
      await page.keyboard.type('shel', { delay: 40 })
      await page.keyboard.press('Enter')
      await page.keyboard.press('Enter')
      await gone()
      await said('“Row 7” saved in “Shelf”')
      await page.keyboard.press('Control+z')
      await said('Undone: “Row 7” saved in “Shelf”')
      await link(page, 'Row 7').waitFor()
      await live(page)
      t.equal(await page.getByText('Two devices changed the same bookmark').count(), 0)
      await page.keyboard.press('Control+y')
      await said('Redone: “Row 7” saved in “Shelf”')
      await page.keyboard.press('Control+z')
      await link(page, 'Row 7').waitFor()
    })

    await t.test('the keys do not undo edits made long ago', async () => {
      await retitle('Row 6', 'Row six')
      await page.evaluate(() => {
        const now = performance.now.bind(performance)
        performance.now = () => now() + 900_000
      })
      await page.keyboard.press('Control+z')
      await said('Nothing to undo')
      await link(page, 'Row six').waitFor()
    })

    await t.test('a new bookmark can be shown in a long list', async (t) => {
      await page.locator('#main').evaluate((main) => main.scrollTo(0, 0))
      await link(page, 'Row 1').waitFor()
      await page.keyboard.press('n')
      await field('Address').fill('new.example')
      await page.keyboard.press('Enter')
      await gone()
      t.equal(await link(page, 'new.example').count(), 0)
      await toast.getByRole('button', { name: 'Show' }).click()
      await page.waitForFunction(() => document.activeElement?.textContent === 'new.example')
      t.ok(await link(page, 'new.example').isVisible())
      await show(page, 'trash')
      await page.getByRole('heading', { name: 'Trash', exact: true }).waitFor()
      await page.keyboard.press('n')
      await field('Address').fill('other.example')
      await page.keyboard.press('Enter')
      await gone()
      await toast.getByRole('button', { name: 'Show' }).click()
      await page.waitForFunction(() => document.activeElement?.textContent === 'other.example')
      await show(page, 'folder')
    })

    await t.test('a form survives reloads, and its stored draft is unreadable for others', async (t) => {
      await page.keyboard.press('n')
      await field('Address').fill('draft.example')
      await field('Description').fill('half a secret')
      for (let times = 0; times < depth(1, 2); times++) {
        await page.reload()
        await page.getByRole('dialog', { name: 'New bookmark' }).waitFor()
        t.equal(await field('Address').inputValue(), 'draft.example')
        t.equal(await field('Description').inputValue(), 'half a secret')
        t.same(await placesOf(page, ['half a secret', 'draft.example']), [])
      }
      // After saving there is no draft any more.
      await dialog.getByRole('button', { name: 'Save' }).click()
      await gone()
      await page.reload()
      await live(page)
      t.equal(await dialog.count(), 0)
      t.equal(await page.evaluate(() => Object.keys(sessionStorage).filter((key) => key.startsWith('draft')).length), 0)
    })

    await t.test('“back” leaves a form, and offers to continue it', async (t) => {
      await show(page, 'all')
      await page.getByRole('heading', { name: 'All bookmarks' }).waitFor()
      await page.keyboard.press('n')
      await field('Address').fill('back.example')
      await page.goBack()
      await gone()
      await toast.getByRole('button', { name: 'Continue editing' }).click()
      t.equal(await field('Address').inputValue(), 'back.example')
      await page.keyboard.press('Escape')
      await gone()
      await toast.getByRole('button', { name: 'Continue editing' }).click()
      t.equal(await field('Address').inputValue(), 'back.example', 'the draft can be continued a second time')
    })

    await t.test('a sign-out leaves no draft, also in other tabs', async (t) => {
      const drafts = (page: Page) =>
        page.evaluate(() => Object.keys(sessionStorage).filter((key) => key.startsWith('draft')))
      const tab = await page.context().newPage()
      await tab.goto(page.url())
      await live(tab)
      await tab.keyboard.press('n')
      await tab.getByRole('dialog').getByLabel('Address', { exact: true }).fill('tab.example')
      await tab.evaluate(() => dispatchEvent(new Event('pagehide')))
      t.equal((await drafts(tab)).length, 1)
      await page.reload()
      await dialog.waitFor()
      await page.keyboard.press('Escape')
      await gone()
      await page.keyboard.press('n')
      await field('Address').fill('left.example')
      await page.evaluate(() => dispatchEvent(new Event('pagehide')))
      t.equal((await drafts(page)).length, 1)
      await page.keyboard.press('Escape')
      await gone()
      await page.getByRole('button', { name: /^Steps/ }).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).click()
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      await tab.getByRole('button', { name: 'Sign in' }).waitFor()
      for (const one of [page, tab]) t.same(await drafts(one), [])
    })
  })
}
