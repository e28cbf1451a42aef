import type { Page } from 'playwright-core'
import t from 'tap'
import { depth, isDeep } from '../support/depth.ts'
import { importFile, link, openChromium, openPage, screenshot, show } from './fixture.ts'

const keyMs = depth(40, 150)
const pressMs = 80

const rows = Array.from(
  { length: 510 },
  (_, index) => `<DT><A HREF="https://row.example/${index}">Row ${index + 1}</A>`,
)
const file = `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<DL><p>
  <DT><H3>Meine Küche</H3>
  <DL><p><DT><A HREF="https://backen.example/" TAGS="recipe,Café">Erdbeer-Käsekuchen</A></DL><p>
  <DT><A HREF="https://soup.example/" TAGS="Recipe,recipe">Soup</A>
  <DT><A HREF="https://broth.example/" TAGS="Recipe">Broth</A>
  <DT><A HREF="https://nyt.example/" TAGS="to read">New York Times</A>
  <DT><A HREF="https://york.example/?utm_source=mail" TAGS="travel">York Minster: new hours</A>
  <DT><A HREF="https://www.york.example/#hours" TAGS="Travel,opening">Minster again</A>
  <DD>At ten on Sundays
  <DT><A HREF="https://new.mta.example/" TAGS="travel">Rock ’n’ Roll E‑mail</A>
  ${rows.join('')}
</DL><p>`

/** The number of hits of each query. */
const queries: Record<string, number> = {
  '"new york"': 1,
  '„new york“': 1,
  'york -minster': 1,
  '#recipe -soup': 2,
  'in:küche käse': 1,
  kaesekuchen: 1,
  käsekuhen: 1,
  "rock 'n' roll": 1,
  'e-mail': 1,
  'site:mta.example': 1,
  'www.new.mta.example': 1,
  'is:untagged': 510,
  row: 510,
}

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('searching, tags and duplicates', async (t) => {
    const page = await openPage(t, browser, 'Tidy')
    await importFile(page, { name: 'bookmarks.html', mimeType: 'text/html', buffer: Buffer.from(file) })
    await show(page, 'folder')
    const type = (text: string) => page.keyboard.type(text, { delay: keyMs })
    const box = page.getByRole('searchbox')
    const dialog = page.getByRole('dialog')
    const said = (text: string) => page.locator('.toast', { hasText: text }).waitFor()
    const press = (name: string, role: 'button' | 'menuitem' | 'menuitemradio' | 'option' = 'button') =>
      page.getByRole(role, { name, exact: true }).click({ delay: pressMs })
    const undo = () => page.locator('.toast').getByRole('button', { name: 'Undo' }).click({ delay: pressMs })
    const named = (query: string) => (/["„]/.test(query) ? query : `“${query}”`)
    const found = (query: string) => page.getByText(`${queries[query]} found for ${named(query)}`).waitFor()
    const focused = () => page.evaluate(() => document.activeElement?.id)
    const titles = () => page.getByRole('main').locator('.row-title').allTextContents()
    const heading = (name: string) => page.getByRole('main').getByRole('heading', { name, exact: true }).waitFor()

    t.test('the box at the top and the command bar find the same', async (t) => {
      // test/client/sync/search.test.ts tests all queries without a page.
      for (const query of Object.keys(queries).filter((_, index) => isDeep || index % 4 === 0)) {
        await box.click({ delay: pressMs })
        await page.keyboard.press('Control+a')
        await type(query)
        await found(query)
        await show(page, 'folder')
        await page.keyboard.press('Control+k')
        await dialog.waitFor()
        await type(query)
        await press(`Show all that is found for ${named(query)}`, 'option')
        await dialog.waitFor({ state: 'detached' })
        await found(query)
        t.equal(await box.inputValue(), query)
      }
    })

    t.test('all results can be sorted and selected, and their number is shown', async (t) => {
      await press('Sort: Best match first')
      await press('By title', 'menuitemradio')
      await page.getByText('Row 10', { exact: true }).waitFor()
      t.same((await titles()).slice(0, 4), ['Row 1', 'Row 10', 'Row 100', 'Row 101'])
      await box.click({ delay: pressMs })
      await type(' -1')
      await page.getByText('290 found').waitFor()
      t.same((await titles()).slice(0, 3), ['Row 203', 'Row 204', 'Row 205'], 'no address with a 1 is listed')
      await page.evaluate(() => Object.assign(window, { open: (opened: string) => Object.assign(window, { opened }) }))
      await page.keyboard.press('Enter')
      const opened = await page.waitForFunction(() => (window as { opened?: string }).opened)
      t.equal(await opened.jsonValue(), 'https://row.example/202', 'Enter opens the first result')
      await box.fill('row')
      await found('row')
      await link(page, 'Row 1').press('x')
      await press('Select all')
      await page.getByText('510 selected').waitFor()
      t.ok(await page.getByText('510 selected').isVisible())
      await page.keyboard.press('Escape')
    })

    t.test('a search that finds nothing says how to search', async () => {
      await box.fill('"nothing at all"')
      await page.getByText('narrow the search').waitFor()
      await screenshot(page, 'find-nothing')
    })

    t.test('a tag has one spelling, no matter how it is typed', async (t) => {
      await show(page, 'folder')
      await link(page, 'Soup').press('t')
      await dialog.waitFor()
      await type('  CAFE\u0301  ,#to   READ,')
      const chips = dialog.getByRole('button', { name: /^Remove tag/ })
      t.same(await chips.allTextContents(), ['Recipe', 'recipe', 'Café', 'to read'])
      await page.keyboard.press('Escape')
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    })

    t.test('a tag is renamed, merged and deleted in its own menu, each as one step', async (t) => {
      const choose = async (tag: string, item: string, menu = 'More for') => {
        await press(`${menu} #${tag}`)
        await press(item, 'menuitem')
      }
      await show(page, 'tag/travel')
      await heading('#travel')
      await choose('travel', 'Rename…')
      await dialog.getByLabel('New name').waitFor()
      await type(' ')
      await page.keyboard.press('Enter')
      await dialog.getByText('Enter a name.').waitFor()
      await type('#Trips,  abroad')
      await page.keyboard.press('Enter')
      await said('Tag “travel” renamed to “Trips abroad”')
      await heading('#Trips abroad')
      t.equal(await focused(), 'main')
      t.same(await titles(), ['York Minster: new hours', 'Rock ’n’ Roll E‑mail'])
      await undo()
      await heading('#travel')
      await page.keyboard.press('Control+y')
      await heading('#Trips abroad')
      await page.keyboard.press('Control+z')
      await heading('#travel')
      t.same(await titles(), ['York Minster: new hours', 'Rock ’n’ Roll E‑mail'])

      await choose('travel', 'Rename…', 'Options for')
      await dialog.getByLabel('New name').waitFor()
      await type('TRAVEL')
      await dialog.getByText('“Travel” exists already: both become one tag.').waitFor()
      await screenshot(page, 'tag-rename')
      await page.keyboard.press('Enter')
      await said('Tag “travel” merged into “Travel”')
      await heading('#Travel')
      t.equal((await titles()).length, 3)
      await page.keyboard.press('Control+z')
      await heading('#travel')
      t.equal((await titles()).length, 2)

      await show(page, 'tag/Recipe')
      await choose('Recipe', 'Merge into…')
      await dialog.getByLabel('Tag').waitFor()
      await type('no such')
      await page.keyboard.press('Enter')
      await dialog.getByText('There is no such tag.').waitFor()
      await page.keyboard.press('Control+a')
      await type('reci')
      await press('recipe', 'option')
      await press('Merge')
      await said('Tag “Recipe” merged into “recipe”')
      await heading('#recipe')
      t.same((await titles()).sort(), ['Broth', 'Erdbeer-Käsekuchen', 'Soup'])
      await undo()
      await heading('#Recipe')
      t.same(await tagsOf(page, 'Soup'), ['Recipe', 'recipe'])

      await choose('Recipe', 'Delete tag')
      await said('Tag “Recipe” removed from 2 bookmarks')
      await page.getByText('No bookmark has this tag').waitFor()
      t.equal(await focused(), 'main')
      await undo()
      await link(page, 'Broth').waitFor()
      t.same(await tagsOf(page, 'Soup'), ['Recipe', 'recipe'])
    })

    t.test(
      'addresses that differ in fragment or tracking are duplicates, and merging keeps each tag once',
      async (t) => {
        await show(page, 'duplicates')
        await link(page, 'Minster again').waitFor()
        t.same(await titles(), ['York Minster: new hours', 'Minster again'])
        await press('Merge into the oldest of each, delete 1')
        await page.getByText('No duplicates').waitFor()
        await show(page, 'all')
        await show(page, 'search/minster')
        await page.getByText('At ten on Sundays').waitFor()
        t.same(await tagsOf(page, 'York Minster: new hours'), ['travel', 'opening'])
        await undo()
        await show(page, 'duplicates')
        await link(page, 'Minster again').waitFor()
      },
    )

    t.test('several pasted addresses are saved at once', async (t) => {
      await show(page, 'folder')
      await paste(page, 'one.example/a\nhttps://two.example/\n  soup.example\nhttps://one.example/a#part')
      await said('2 bookmarks added; you had 2 already')
      await show(page, 'search/site:one.example -site:two.example')
      await link(page, 'one.example').waitFor()
      await show(page, 'search/site:two.example')
      await link(page, 'two.example').waitFor()
      await undo()
      await page.getByText('Nothing found').waitFor()
      await paste(page, 'soup.example broth.example')
      await said('You have all of these already')
      await paste(page, 'some words and soup.example')
      t.equal(await dialog.count(), 0)
    })
  })
}

async function tagsOf(page: Page, title: string): Promise<string[]> {
  return page.locator('.row', { hasText: title }).locator('.row-tags .tag').allTextContents()
}

async function paste(page: Page, text: string): Promise<void> {
  await page.evaluate((text) => {
    const clipboardData = new DataTransfer()
    clipboardData.setData('text/plain', text)
    document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
  }, text)
}
