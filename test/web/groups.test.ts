import type { Page } from 'playwright-core'
import t from 'tap'
import { until } from '../support/until.ts'
import { faultsIn } from './docs-page.ts'
import {
  demoOrigin,
  enterVault,
  importFile,
  link,
  live,
  openChromium,
  openContext,
  openVault,
  show,
  signIn,
} from './fixture.ts'

const linksOf = (count: number) =>
  Array.from({ length: count }, (_, index) => `<DT><A HREF="https://many.example/${index}">Tab ${index}</A>`).join('')
const file = `<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p>
<DT><H3>Journey</H3><DL><p>
  <DT><A HREF="https://trains.example/">Trains</A>
  <DT><H3>Inside</H3><DL><p><DT><A HREF="chrome://settings/">Settings</A></DL><p>
  <DT><A HREF="https://hotels.example/">Hotels</A>
</DL><p>
<DT><H3>Many</H3><DL><p>${linksOf(16)}</DL><p>
<DT><H3>Bare</H3><DL><p></DL><p>
</DL><p>`

/** The lines of the view as people read them. */
async function lines(page: Page): Promise<string[]> {
  const rows = await page.getByRole('list', { name: 'Tab groups' }).locator('.row-text').allInnerTexts()
  return rows.map((row) => row.replaceAll('\n', ' | '))
}

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('Tab groups can be made of folders, opened, edited, and found on another device', async (t) => {
    const origin = await demoOrigin()
    const context = await openContext(t, browser)
    const laptop = await context.newPage()
    const code = await enterVault(laptop, origin, 'Grouper')
    await importFile(laptop, { name: 'bookmarks.html', mimeType: 'text/html', buffer: Buffer.from(file) })
    const press = (name: string | RegExp) => laptop.getByRole('button', { name, exact: true }).click()
    const choose = (name: string) => laptop.getByRole('menuitem', { name, exact: true }).click()
    const said = (text: string) => laptop.locator('.toast', { hasText: text }).waitFor()
    const dialog = laptop.getByRole('dialog')
    const makeOf = async (folder: string) => {
      await press('From a folder…')
      await dialog.getByRole('combobox', { name: 'Folder' }).fill(folder)
      // Some people double-click everything.
      await dialog.getByRole('button', { name: 'Create the group' }).dblclick()
    }
    await show(laptop, 'groups')
    await laptop.getByText('No tab groups yet').waitFor()
    await makeOf('Bare')
    await dialog.getByText('Choose a folder that has bookmarks.').waitFor()
    await laptop.keyboard.press('Escape')
    for (const folder of ['Journey', 'Many']) {
      await makeOf(folder)
      await said(`Tab group “${folder}” created`)
    }
    t.same(await lines(laptop), ['Journey | 3 tabs · Grey', 'Many | 16 tabs · Grey'])

    // Opened with the keyboard only.
    await laptop.getByRole('button', { name: 'Journey', exact: true }).focus()
    await laptop.keyboard.press('Enter')
    await link(laptop, 'Trains').waitFor()
    t.same(await lines(laptop), [
      'Journey | 3 tabs · Grey',
      'Trains | trains.example',
      'Settings | chrome://settings/ · opens only in the browser that saved it',
      'Hotels | hotels.example',
      'Many | 16 tabs · Grey',
    ])
    t.equal(await link(laptop, 'Settings').count(), 0, 'an address that opens only in its browser is not a link')

    await t.test('all tabs open, many only after a question, and the page reports blocked ones', async (t) => {
      await laptop.evaluate(() => {
        const opened: string[] = []
        const open = (url: string) => (opened.push(url) > 20 ? null : { opener: window })
        Object.assign(window, { opened, open })
      })
      const opened = () => laptop.evaluate(() => (window as unknown as { opened: string[] }).opened.length)
      await press('Open all tabs of Journey')
      t.equal(await opened(), 2)
      await press('Open all tabs of Many')
      await dialog.getByText('All tabs of “Many” load at once').waitFor()
      await laptop.keyboard.press('Escape')
      t.equal(await opened(), 2)
      await press('Open all tabs of Many')
      await dialog.getByRole('button', { name: 'Open 16 tabs' }).dblclick()
      await dialog.waitFor({ state: 'detached' })
      t.equal(await opened(), 18)
      await press('Open all tabs of Many')
      await dialog.getByRole('button', { name: 'Open 16 tabs' }).click()
      await laptop.getByRole('alert').getByText('The browser opened 2 of 16 tabs').waitFor()
    })

    await t.test('a group can be renamed, coloured and deleted, and each step undone', async (t) => {
      await press('Edit Journey')
      await dialog.getByRole('textbox', { name: 'Name' }).fill('Summer')
      await dialog.getByRole('combobox', { name: 'Colour' }).selectOption('Purple')
      await dialog.getByRole('button', { name: 'Save' }).dblclick()
      await said('“Summer” changed')
      const [summer] = await lines(laptop)
      t.equal(summer, 'Summer | 3 tabs · Purple')
      await press('Undo')
      await laptop.getByText('3 tabs · Grey').waitFor()
      await press('Redo')
      await laptop.getByText('3 tabs · Purple').waitFor()

      await press('Delete Trains')
      await laptop.getByText('2 tabs · Purple').waitFor()
      await laptop.getByRole('button', { name: 'Delete Summer', exact: true }).dblclick()
      await said('Tab group “Summer” deleted')
      t.same(await lines(laptop), ['Many | 16 tabs · Grey'], 'the second press deletes no other group')
      await press('Undo')
      await laptop.getByText('2 tabs · Purple').waitFor()
      await press('More for Summer')
      await choose('Make a folder of it')
      await said('Folder “Summer” created')
      await press('Show')
      await link(laptop, 'Hotels').waitFor()
    })

    await laptop.getByRole('searchbox', { name: 'Search your bookmarks' }).fill('hotels')
    await laptop.getByText('2 found for “hotels”').waitFor()
    await link(laptop, 'Tab groups 1').click()
    await laptop.getByText('2 tabs · Purple').waitFor()
    t.same(await lines(laptop), ['Summer | 2 tabs · Purple', 'Hotels | hotels.example'], 'the global search')
    await laptop.keyboard.press('Control+k')
    await dialog.getByRole('combobox').fill('summer')
    await dialog.getByRole('option', { name: 'Summer Tab groups' }).click()
    await dialog.waitFor({ state: 'detached' })

    await live(laptop)
    const phone = await (await openContext(t, browser, { viewport: { width: 320, height: 640 } })).newPage()
    await signIn(phone, origin, 'Grouper')
    await openVault(phone, code)
    await show(phone, 'groups')
    await phone.getByText('2 tabs · Purple').waitFor()
    t.same(await lines(phone), ['Summer | 2 tabs · Purple', 'Many | 16 tabs · Grey'])
    await phone.getByRole('searchbox', { name: 'Search in tab groups' }).fill('tab 15')
    await link(phone, 'Tab 15').waitFor()
    t.same(await lines(phone), ['Many | 16 tabs · Grey', 'Tab 15 | many.example'])
    t.same(await faultsIn(phone, 'groups', [['dark', 320]]), [])
    await phone.getByRole('button', { name: 'Delete Many', exact: true }).click()
    await phone.getByText('Nothing found').waitFor()
    await show(laptop, 'groups')
    await until(async () => (await lines(laptop)).length === 1)
    t.same(await lines(laptop), ['Summer | 2 tabs · Purple'])
  })
}
