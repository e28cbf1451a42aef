import type { Page } from 'playwright-core'
import t from 'tap'
import { depth } from '../support/depth.ts'
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

const keyMs = depth(40, 150)
const pressMs = 80

const rows = Array.from({ length: 12 }, (_, at) => `<DT><A HREF="https://example.org/${at}">Row ${at + 1}</A>`)
const folders = ['Shelf', 'Box'].map((name) => `<DT><H3>${name}</H3><DL><p></DL><p>`)
const file = `<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p>${folders.join('')}${rows.join('')}</DL><p>`

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('two devices of a person are used at the same time', async (t) => {
    const origin = await demoOrigin()
    const [one, other] = await Promise.all(
      [1, 2].map(async () => (await openContext(t, browser, {}, /status of 404/)).newPage()),
    )
    if (!one || !other) return
    const code = await enterVault(one, origin, 'Devices')
    await importFile(one, { name: 'bookmarks.html', mimeType: 'text/html', buffer: Buffer.from(file) })
    await show(one, 'folder')
    await enter(other, origin, 'Devices')
    await openVault(other, code)
    await link(other, 'Row 12').waitFor()
    const dialog = (page: Page) => page.getByRole('dialog')
    const gone = (page: Page) => dialog(page).waitFor({ state: 'detached' })
    const said = (page: Page, text: string) => page.locator('.toast', { hasText: text }).waitFor()
    const type = (page: Page, text: string) => page.keyboard.type(text, { delay: keyMs })
    const press = (page: Page, name: string) =>
      page.getByRole('button', { name, exact: true }).click({ delay: pressMs })
    const remove = async (page: Page, title: string) => {
      await link(page, title).press('Delete')
      await link(page, title).waitFor({ state: 'detached' })
      await live(page)
    }
    const rename = async (page: Page, from: string, to: string) => {
      await link(page, from).press('e')
      await dialog(page).getByLabel('Title').waitFor()
      await type(page, to)
      await page.keyboard.press('Enter')
      await gone(page)
      await link(page, to).waitFor()
      await live(page)
    }
    const move = async (page: Page, title: string, folder: string) => {
      await link(page, title).press('m')
      await dialog(page).getByRole('option', { name: folder, exact: true }).click({ delay: pressMs })
      await gone(page)
      await live(page)
    }

    await t.test('the trash shows what the other device deletes, and only shown bookmarks are erased', async (t) => {
      const titles = () =>
        other.getByRole('list', { name: 'Deleted bookmarks' }).locator('.row-title').allTextContents()
      await remove(one, 'Row 1')
      await show(other, 'trash')
      await other.getByText('1 in the trash').waitFor()
      await remove(one, 'Row 2')
      await remove(one, 'Row 3')
      await other.getByText('3 in the trash').waitFor()
      await press(other, 'Empty the trash…')
      await dialog(other).getByText('The 3 items in it are deleted for good').waitFor()
      await remove(one, 'Row 4')
      await other.getByText('4 in the trash').waitFor()
      await press(other, 'Erase everything')
      await said(other, '3 erased for good')
      await gone(other)
      await other.getByText('1 in the trash').waitFor()
      t.same(await titles(), ['Row 4'])
      // A bookmark restored meanwhile is not erased, and no error is shown.
      await press(other, 'Empty the trash…')
      await dialog(other).getByText('The 1 item in it is deleted for good').waitFor()
      await one.keyboard.press('Control+z')
      await link(one, 'Row 4').waitFor()
      await live(one)
      await other.getByText('The trash is empty').waitFor()
      await press(other, 'Erase everything')
      await gone(other)
      await show(other, 'folder')
      await link(other, 'Row 4').waitFor()
    })

    await t.test('undo and redo report bookmarks that the other device has changed since', async (t) => {
      await rename(one, 'Row 5', 'Row five')
      await one.keyboard.press('Control+z')
      await said(one, 'Undone: “Row five” saved')
      await live(one)
      await link(other, 'Row 5').waitFor()
      await rename(other, 'Row 5', 'Row V')
      await link(one, 'Row V').waitFor()
      await one.keyboard.press('Control+y')
      await said(one, 'Not redone, because it was changed since: “Row five” saved')
      t.equal(await link(one, 'Row V').count(), 1)
      await one.keyboard.press('Control+y')
      await said(one, 'Nothing to redo')

      await remove(one, 'Row 6')
      await show(other, 'trash')
      await press(other, 'Restore Row 6')
      await live(other)
      await link(one, 'Row 6').waitFor()
      await one.keyboard.press('Control+z')
      await said(one, 'Not undone, because it was changed since: “Row 6” deleted')
      await show(other, 'folder')

      await link(one, 'Row 7').press('x')
      await link(one, 'Row 8').press('x')
      await move(one, 'Row 7', 'Shelf')
      await one.keyboard.press('Control+z')
      await said(one, 'Undone: 2 bookmarks moved to “Shelf”')
      await live(one)
      await link(other, 'Row 7').waitFor()
      await move(other, 'Row 7', 'Box')
      await link(one, 'Row 7').waitFor({ state: 'detached' })
      await one.keyboard.press('Control+y')
      await said(one, 'Redone, except what was changed since: 2 bookmarks moved to “Shelf”')
      await link(one, 'Row 8').waitFor({ state: 'detached' })
      await link(one, 'Box').click({ delay: pressMs })
      await link(one, 'Row 7').waitFor()
    })

    await t.test('the results of a search in the trash stay when the other device deletes more', async () => {
      await show(one, 'folder')
      await remove(one, 'Row 9')
      await show(other, 'trash')
      await other.getByLabel('Search in the trash').click({ delay: pressMs })
      await type(other, 'row')
      await other.getByText('1 found').waitFor()
      await remove(one, 'Row 10')
      await other.getByText('2 found').waitFor()
      await show(other, 'folder')
    })
  })
}
