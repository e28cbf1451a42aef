import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { writeBookmarkJson } from '../../src/client/bookmark-file/formats/export.ts'
import { bookmark } from '../client/sync/device.ts'
import { deep, depth, isDeep } from '../support/depth.ts'
import { accessibilityFaults, overflow } from './docs-page.ts'
import {
  demoOrigin,
  enterVault,
  importFile,
  live,
  openChromium,
  openContext,
  openVault,
  screenshot,
  show,
} from './fixture.ts'

const file = `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<DL><p>
  <DT><H3>Reading</H3>
  <DL><p>
    <DT><A HREF="https://www.rfc-editor.org/rfc/rfc9106" ADD_DATE="1600000000" TAGS="crypto,rfc">Argon2 (RFC 9106)</A>
    <DT><A HREF="https://sqlite.org/wal.html" ADD_DATE="1700000000" TAGS="databases">Write-ahead logging</A>
  </DL><p>
  <DT><H3>Kitchen</H3>
  <DL><p></DL><p>
  <DT><A HREF="https://en.wikipedia.org/" ADD_DATE="1650000000">Wikipedia</A>
  <DT><A HREF="https://archive.org/" ADD_DATE="1640000000">Internet Archive</A>
  <DT><A HREF="http://www.en.wikipedia.org" ADD_DATE="1710000000">Wikipedia again</A>
  <DT><A HREF="../relative.html" ADD_DATE="1720000000" ICON="data:image/png;base64,${'A'.repeat(200_000)}">Relative</A>
</DL><p>`

const wide = { viewport: { width: 1440, height: 900 } }
const narrow = { viewport: { width: 390, height: 844 }, hasTouch: true, colorScheme: 'dark' as const }
const looks = isDeep ? [wide, narrow] : [wide]

/** The number of bookmarks for the test of long lists. */
const many = depth(500, 50_000)

function manyBookmarks(): string {
  const lines = Array.from({ length: many }, (_, at) => `<DT><A HREF="https://example.org/${at}">Number ${at}</A>`)
  return `<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n${lines.join('\n')}\n</DL><p>`
}

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  for (const look of looks) {
    const { width } = look.viewport
    t.test(`managing bookmarks, ${width} pixels wide`, async (t) => {
      const page = await (await openContext(t, browser, look)).newPage()
      const code = await enterVault(page, await demoOrigin(), `Manager ${width}`)
      await importFile(page, { name: 'bookmarks.html', mimeType: 'text/html', buffer: Buffer.from(file) })
      await page.getByText('1 was too large with its icon').waitFor()
      await show(page, 'folder')
      await titles(page, ['Reading', 'Kitchen', 'Wikipedia', 'Internet Archive', 'Wikipedia again', 'Relative'])

      t.test('an entered address gets a scheme, code is refused, and an imported relative address stays', async (t) => {
        await page.keyboard.press('n')
        const dialog = page.getByRole('dialog', { name: 'New bookmark' })
        const address = dialog.getByLabel('Address')
        await address.fill('java\tscript:alert(1)')
        await dialog.getByRole('button', { name: 'Save' }).click()
        await dialog.getByText(/run code/).waitFor()
        t.equal(await address.getAttribute('aria-invalid'), 'true')
        for (const nowhere of ['not an address', '   ', 'http://']) {
          await address.fill(nowhere)
          await dialog.getByRole('button', { name: 'Save' }).click()
          await dialog.getByText('That is not a web address. Try example.com.').waitFor()
        }
        await address.fill('sqlite.org/src')
        await dialog.getByLabel('Folder').fill('kit')
        await dialog.getByRole('option', { name: 'Kitchen' }).click()
        const tags = dialog.getByRole('combobox', { name: 'Tags' })
        await tags.fill('däta')
        await tags.press('ArrowDown')
        await tags.press('Enter')
        await tags.fill('own,')
        await dialog.getByRole('button', { name: 'Remove tag own' }).waitFor()
        await dialog.getByLabel('Description').fill('Its sources')
        await screenshot(page, `editor-${width}`)
        await dialog.getByRole('button', { name: 'Save' }).click()
        await page.getByText('“sqlite.org” added').waitFor()
        await page.getByRole('main').getByRole('link', { name: 'Kitchen' }).click()
        const link = page.getByRole('main').getByRole('link', { name: 'sqlite.org' })
        t.equal(await link.getAttribute('href'), 'https://sqlite.org/src')
        t.match(await row(page, 'sqlite.org').textContent(), /Its sources.*databases.*own/)
        await show(page, 'folder')
        await row(page, 'Relative').waitFor()
        await focus(page, 'Relative')
        await page.keyboard.press('e')
        await page.getByRole('dialog').getByLabel('Title').fill('Still relative')
        await page.keyboard.press('Enter')
        await page.getByText('“Still relative” saved').waitFor()
        t.equal(await row(page, 'Still relative').locator('.row-title').getAttribute('title'), '../relative.html')
      })

      t.test('every edit can be undone: a rename, a move, a deletion with contents', async () => {
        await undo(page, '“Still relative” saved')
        await row(page, 'Relative').waitFor()
        await focus(page, 'Reading')
        await page.keyboard.press('Delete')
        await titles(page, ['Kitchen', 'Wikipedia', 'Internet Archive', 'Wikipedia again', 'Relative'])
        await page.waitForFunction(() => document.activeElement?.textContent === 'Kitchen')
        await undo(page, '3 items deleted')
        await titles(page, ['Reading', 'Kitchen', 'Wikipedia', 'Internet Archive', 'Wikipedia again', 'Relative'])
        await page.getByRole('main').getByRole('link', { name: 'Reading' }).click()
        await titles(page, ['Argon2 (RFC 9106)', 'Write-ahead logging'])
        await show(page, 'folder')
      })

      t.test('several bookmarks are selected, moved, tagged and deleted together', async (t) => {
        await select(page, 'Wikipedia')
        await page.getByLabel('Select Wikipedia again').click({ modifiers: ['Shift'] })
        await page.getByText('3 selected').waitFor()
        await screenshot(page, `selected-${width}`)
        await page.getByRole('button', { name: 'Tag', exact: true }).click()
        await page.getByRole('combobox', { name: 'Tags' }).fill('mine')
        await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
        await page.getByText('3 bookmarks tagged').waitFor()
        await page.keyboard.press('Escape')
        await focus(page, 'Kitchen')
        await page.keyboard.press('t')
        await page.getByText('Folders have no tags').waitFor()
        t.equal(await page.getByRole('dialog').count(), 0)
        await select(page, 'Wikipedia')
        await page.getByLabel('Select Wikipedia again').click({ modifiers: ['Shift'] })
        await page.getByRole('button', { name: 'Move', exact: true }).click()
        await page.getByRole('combobox', { name: 'Folder' }).fill('kítch')
        await page.keyboard.press('Enter')
        await titles(page, ['Reading', 'Kitchen', 'Relative'])
        await page.waitForFunction(() => document.activeElement?.textContent === 'Relative')
        await undo(page, '3 bookmarks moved to “Kitchen”')
        await titles(page, ['Reading', 'Kitchen', 'Wikipedia', 'Internet Archive', 'Wikipedia again', 'Relative'])
        await show(page, 'tag/mine')
        await titles(page, ['Wikipedia', 'Internet Archive', 'Wikipedia again'])
        await focus(page, 'Wikipedia')
        await page.keyboard.press('Control+a')
        await page.getByRole('button', { name: 'Delete', exact: true }).click()
        await page.getByText('No bookmark has this tag').waitFor()
        await undo(page, '3 bookmarks deleted')
        await titles(page, ['Wikipedia', 'Internet Archive', 'Wikipedia again'])
        t.equal(await page.locator('.row.selected').count(), 0)
        await show(page, 'folder')
      })

      t.test('a bookmark is added, found and opened by keyboard alone', async (t) => {
        await page.keyboard.press('n')
        await page.getByRole('dialog').waitFor()
        await page.keyboard.type('example.org/')
        await page.keyboard.press('Tab')
        await page.keyboard.type('By keyboard')
        await page.keyboard.press('Enter')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        await row(page, 'By keyboard').waitFor()
        await page.keyboard.press('/')
        await page.keyboard.type('KEYBOARD exampl by')
        // Replaced, because tests must not open other sites.
        await page.evaluate(() => {
          window.open = (...opened) => {
            sessionStorage.setItem('opened', opened.join(' '))
            return null
          }
        })
        // People press Enter before the result is there.
        await page.keyboard.press('Enter')
        await page.waitForFunction(() => sessionStorage.getItem('opened'))
        t.equal(await page.evaluate(() => sessionStorage.getItem('opened')), 'https://example.org/ _blank noreferrer')
        await page.keyboard.press('Control+z')
        await row(page, 'By keyboard').waitFor({ state: 'detached' })
      })

      t.test('a pasted address is saved at once, with suggested tags; an existing one is reported', async (t) => {
        const paste = (text: string) =>
          page.evaluate((text) => {
            const clipboardData = new DataTransfer()
            clipboardData.setData('text/plain', text)
            document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
          }, text)
        await paste('no address')
        await paste('https://sqlite.org/json1.html')
        const dialog = page.getByRole('dialog', { name: 'Edit sqlite.org' })
        await dialog.getByRole('button', { name: 'Add tag databases' }).click()
        t.equal(
          await page.locator('.row-title[title="https://sqlite.org/json1.html"]').count(),
          1,
          'suggested tags appear before another save',
        )
        await screenshot(page, `capture-${width}`)
        await dialog.getByLabel('Title').fill('JSON')
        await page.keyboard.press('Enter')
        await row(page, 'JSON').filter({ hasText: 'databases' }).waitFor()
        await paste('http://www.sqlite.org/json1.html#')
        await page.getByText('You have this already: “JSON”').waitFor()
        await page.getByRole('dialog', { name: 'Edit JSON' }).waitFor()
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        await undo(page, '“JSON” saved')
        await page.keyboard.press('Control+z')
        await row(page, 'sqlite.org').waitFor({ state: 'detached' })
      })

      t.test('bookmarks are dragged with the pointer and moved with the keyboard', async () => {
        await drag(page, 'Relative', row(page, 'Wikipedia'), 0.1, width < 500)
        await titles(page, ['Reading', 'Kitchen', 'Relative', 'Wikipedia', 'Internet Archive', 'Wikipedia again'])
        await undo(page, '“Relative” moved')
        await titles(page, ['Reading', 'Kitchen', 'Wikipedia', 'Internet Archive', 'Wikipedia again', 'Relative'])
        // A folder in the sidebar is also a target, if the sidebar is visible.
        const folder = width < 500 ? row(page, 'Kitchen') : page.locator('.folder-line', { hasText: 'Kitchen' })
        await drag(page, 'Relative', folder, 0.5, width < 500)
        await titles(page, ['Reading', 'Kitchen', 'Wikipedia', 'Internet Archive', 'Wikipedia again'])
        await undo(page, '“Relative” moved to “Kitchen”')
        await focus(page, 'Wikipedia')
        await page.keyboard.press('Alt+ArrowDown')
        await titles(page, ['Reading', 'Kitchen', 'Internet Archive', 'Wikipedia', 'Wikipedia again', 'Relative'])
        await page.waitForFunction(() => document.activeElement?.textContent === 'Wikipedia')
        await page.keyboard.press('Alt+ArrowUp')
        await titles(page, ['Reading', 'Kitchen', 'Wikipedia', 'Internet Archive', 'Wikipedia again', 'Relative'])
      })

      t.test('bookmarks are found by words, tag, site and folder, sorted, and checked for duplicates', async (t) => {
        const found: Record<string, string[]> = {}
        for (const query of ['9106 argon', '#crypt', 'archive.org', 'reading logging']) {
          await page.getByRole('searchbox').fill(query)
          await page.getByText(`1 found for “${query}”`).waitFor()
          found[query] = await page
            .locator('.row')
            .evaluateAll((rows) =>
              rows.map((row) => [...row.querySelectorAll('mark')].map(({ textContent }) => textContent).join(' ')),
            )
        }
        t.same(found, {
          '9106 argon': ['Argon 9106'],
          '#crypt': ['crypt'],
          'archive.org': ['archive.org'],
          'reading logging': ['logging Reading'],
        })
        await screenshot(page, `search-${width}`)
        await page.getByRole('searchbox').fill('')
        await titles(page, ['Reading', 'Kitchen', 'Wikipedia', 'Internet Archive', 'Wikipedia again', 'Relative'])
        await page.getByRole('button', { name: 'Sort: My order' }).click()
        await page.getByRole('menuitemradio', { name: 'Newest first' }).click()
        await titles(page, ['Reading', 'Kitchen', 'Relative', 'Wikipedia again', 'Wikipedia', 'Internet Archive'])
        await page.getByRole('button', { name: 'Show as cards' }).click()
        await focus(page, 'Wikipedia again')
        await page.keyboard.press(width < 500 ? 'ArrowDown' : 'ArrowRight')
        await page.waitForFunction(() => document.activeElement?.textContent === 'Wikipedia')
        await screenshot(page, `cards-${width}`)
        t.same(await accessibilityFaults(page, 'html'), [])
        await page.getByRole('button', { name: 'Show as a list' }).click()
        await show(page, 'duplicates')
        await titles(page, ['Wikipedia', 'Wikipedia again'])
        await page.getByRole('button', { name: /delete 1/ }).click()
        await page.getByText('No duplicates').waitFor()
        await undo(page, '“Wikipedia again” deleted')
      })

      t.test('the bookmarklet opens a filled form; every view is accessible and fits the screen', async (t) => {
        await show(page, 'settings')
        const bookmarklet = page.getByRole('link', { name: 'Add this page' })
        t.match(await bookmarklet.getAttribute('href'), /^javascript:void\(open\(.*#\/add\//)
        await show(page, `add/${encodeURIComponent(JSON.stringify(['A page', 'https://example.org/a']))}`)
        const dialog = page.getByRole('dialog', { name: 'New bookmark' })
        t.equal(await dialog.getByLabel('Address').inputValue(), 'https://example.org/a')
        t.equal(await dialog.getByLabel('Title').inputValue(), 'A page')
        if (isDeep) t.same(await accessibilityFaults(page, 'html'), [])
        await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'detached' })
        const faults: Record<string, unknown> = {}
        for (const view of isDeep
          ? ['folder', 'all', 'settings', 'shortcuts', 'conflicts', 'tag/mine']
          : ['settings']) {
          await show(page, view)
          await page.locator('.main h1').waitFor()
          await screenshot(page, `${view.replace('/', '-')}-${width}`)
          const found = await accessibilityFaults(page, 'html')
          if (found.length > 0 || (await overflow(page)) > 0) faults[view] = [found, await overflow(page)]
        }
        t.same(faults, {})
        await live(page)
      })

      deep(t, 'single-key shortcuts can be turned off, also after a reload', async (t) => {
        const turn = () => page.getByRole('switch', { name: 'Single keys work everywhere' }).click()
        const search = page.getByRole('searchbox')
        const shortcut = page.locator('.search kbd')
        await show(page, 'shortcuts')
        await turn()
        t.same(await accessibilityFaults(page, 'html'), [])
        await page.reload()
        await page.getByRole('heading', { name: 'Shortcuts' }).waitFor()
        t.equal(await shortcut.count(), 0, 'the search field does not show its key')
        for (const key of ['/', 'n', 'f', '?']) await page.keyboard.press(key)
        t.equal(await page.getByRole('dialog').count(), 0)
        t.notOk(await search.evaluate((input) => input === document.activeElement))
        await turn()
        await page.locator('.main').focus()
        await page.keyboard.press('/')
        await page.getByRole('dialog', { name: 'Search or run a command' }).waitFor()
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
      })

      t.test('the command bar finds, filters, edits and opens views by keyboard alone', async (t) => {
        await show(page, 'folder')
        await row(page, 'Wikipedia').waitFor()
        const bar = page.getByRole('dialog', { name: 'Search or run a command' })
        const choices = bar.getByRole('option')
        const open = async () => {
          await page.keyboard.press('Control+k')
          await bar.waitFor()
        }
        await open()
        await choices.nth(6).waitFor()
        t.equal(await choices.count(), 7, 'all results are listed, because there are at most eight')
        t.same(await accessibilityFaults(page, 'html'), [])
        await page.keyboard.type('#CRYPTO ')
        await bar.getByRole('button', { name: 'Remove #crypto' }).waitFor()
        await page.keyboard.type('in:read')
        await bar.getByRole('option', { name: 'Reading', exact: true }).waitFor()
        await page.keyboard.press('Enter')
        await bar.getByRole('button', { name: 'Remove in Reading' }).waitFor()
        await screenshot(page, `command-bar-${width}`)
        await page.waitForFunction(() => document.querySelectorAll('[role=option]').length === 1)
        t.match(await choices.textContent(), /Argon2/)
        await page.keyboard.press('Control+Enter')
        const editor = page.getByRole('dialog', { name: 'Edit Argon2 (RFC 9106)' })
        await editor.waitFor()
        await page.keyboard.press('Escape')
        await editor.waitFor({ state: 'detached' })
        await open()
        await page.keyboard.type('www.sqlite.org/src/')
        await choices.filter({ hasText: 'You have this already. sqlite.org in Kitchen' }).waitFor()
        await page.keyboard.press('ArrowDown')
        await page.keyboard.press('Enter')
        t.equal(await page.getByRole('dialog').getByLabel('Address').inputValue(), 'https://www.sqlite.org/src/')
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        await open()
        await page.keyboard.type('>short')
        await page.keyboard.press('Enter')
        await page.getByRole('heading', { name: 'Shortcuts' }).waitFor()
        t.equal(await overflow(page), 0)
      })

      t.test('touch targets are 44 pixels high', async (t) => {
        const devtools = await page.context().newCDPSession(page)
        const { installabilityErrors } = await devtools.send('Page.getInstallabilityErrors')
        t.same(
          installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== 'in-incognito'),
          [],
          'the page can be installed as an app',
        )
        const { errors, url } = await devtools.send('Page.getAppManifest')
        t.match([errors, url], [[], /app\.webmanifest$/])
        await devtools.send('Emulation.setTouchEmulationEnabled', { enabled: true, maxTouchPoints: 1 })
        await page.setViewportSize({ width: 390, height: 844 })
        await show(page, 'folder')
        await row(page, 'Wikipedia').waitFor()
        await page.getByRole('button', { name: 'Open the menu' }).click()
        const small = await page
          .locator('button:visible, .link:visible, .row-check')
          .evaluateAll((all) =>
            all.filter((one) => one.getBoundingClientRect().height < 44).map((one) => one.outerHTML.slice(0, 80)),
          )
        t.same(small, [])
        t.equal(await overflow(page), 0)
        await page.keyboard.press('Escape')
        await page.locator('#sidebar').waitFor({ state: 'hidden' })
        t.equal(await page.evaluate(() => document.activeElement?.getAttribute('aria-label')), 'Open the menu')
        if (look === wide) await devtools.send('Emulation.setTouchEmulationEnabled', { enabled: false })
        await page.setViewportSize(look.viewport)
        await devtools.detach()
      })

      deep(t, 'the page is readable in the dark at 360 pixels', async (t) => {
        await page.setViewportSize({ width: 360, height: 700 })
        await page.emulateMedia({ colorScheme: 'dark' })
        await show(page, 'folder')
        await row(page, 'Wikipedia').waitFor()
        t.same(await accessibilityFaults(page, 'html'), [])
        t.equal(await overflow(page), 0, 'the page fits the window')
        t.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(22, 24, 31)')
        await page.getByRole('button', { name: 'Open the menu' }).click()
        await page.locator('#sidebar').getByRole('link', { name: 'Kitchen' }).click()
        await row(page, 'sqlite.org').waitFor()
        await page.locator('#sidebar').waitFor({ state: 'hidden' })
        await page.emulateMedia({ colorScheme: 'light' })
        await page.setViewportSize(look.viewport)
      })

      t.test(`of ${many} bookmarks only those on the screen are rendered, and an edit renders one row`, async (t) => {
        await importFile(page, { name: 'many.html', mimeType: 'text/html', buffer: Buffer.from(manyBookmarks()) })
        await page.getByText(`${many.toLocaleString('en')} bookmarks and folders imported`).waitFor()
        await live(page)
        await show(page, 'all')
        await page.getByText(`${(many + 7).toLocaleString('en')} items`).waitFor()
        t.ok((await page.locator('.row').count()) < 60, 'few rows are rendered')
        await page.locator('.main').evaluate((main) => main.scrollTo(0, main.scrollHeight))
        await row(page, `Number ${many - 1}`).waitFor()
        t.ok((await page.locator('.row').count()) < 60, 'few rows are rendered at the end')
        await focus(page, `Number ${many - 1}`)
        await page.keyboard.press('e')
        await page.getByRole('dialog').getByLabel('Title').fill('Edited among many')
        const drawn = await page.evaluateHandle(() => {
          const ids = new Set<string>()
          const observer = new MutationObserver((changes) => {
            for (const { target } of changes) {
              const item = (target instanceof Element ? target : target.parentElement)?.closest<HTMLElement>('.main li')
              if (item) ids.add(item.textContent ?? '')
            }
          })
          observer.observe(document.querySelector('.main') as Element, {
            ...{ subtree: true, childList: true, characterData: true, attributes: true },
          })
          return ids
        })
        await page.keyboard.press('Enter')
        await row(page, 'Edited among many').waitFor()
        await live(page)
        const texts = await drawn.evaluate((ids) => [...ids])
        t.equal(texts.length, 1, `drawn again: ${texts.join(' | ')}`)
        t.match(texts[0], /Edited among many/)
        await show(page, 'folder/not-here')
        await page.getByRole('heading', { name: 'Folder not found' }).waitFor()
        t.equal(await page.getByRole('button', { name: 'Add bookmark' }).count(), 0)
        await page.goBack()
        await row(page, 'Edited among many').waitFor()
      })

      deep(t, 'blank and endless titles, and bookmarks without an address, can be shown and edited', async (t) => {
        const links = { ['Long '.repeat(500)]: '', '\u200b': 'https://blank.example/', One: '', Two: '' }
        const written = Object.entries(links).map(([title, url], index) => bookmark(`odd-${index}`, title, { url }))
        const buffer = Buffer.from(writeBookmarkJson(written))
        await importFile(page, { name: 'odd.json', mimeType: 'application/json', buffer })
        await show(page, 'search/blank.example')
        await row(page, 'https://blank.example/').waitFor()
        await show(page, 'duplicates')
        await titles(page, ['Wikipedia', 'Wikipedia again'])
        await show(page, 'search/one')
        await page.getByRole('main').getByRole('button', { name: 'Edit One', exact: true }).click()
        await page.getByRole('dialog').getByLabel('Title').fill('One without an address')
        await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
        await row(page, 'One without an address').waitFor()
        await show(page, 'search/long')
        await page
          .getByRole('main')
          .getByRole('button', { name: /^Delete Long/ })
          .click()
        const toast = page.locator('.toast', { hasText: 'deleted' })
        t.ok(((await toast.boundingBox())?.height ?? 0) < 200, 'the message does not cover the page')
        await show(page, 'folder')
      })

      t.test('saving a form that was closed meanwhile does not close the next form', async (t) => {
        await page.locator('.main').focus()
        await page.keyboard.press('n')
        const dialog = page.getByRole('dialog', { name: 'New bookmark' })
        await dialog.getByLabel('Address').fill('slow.example')
        await page.evaluate(async () => {
          document.querySelector<HTMLFormElement>('dialog form')?.requestSubmit()
          document.querySelector<HTMLElement>('dialog [aria-label=Close]')?.click()
          // The key comes in a later turn of the event loop, when the dialog no longer takes keys.
          await new Promise((resolve) => setTimeout(resolve))
          document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'n', bubbles: true }))
        })
        await page.getByText('“slow.example” added').waitFor()
        t.equal(await dialog.getByLabel('Address').inputValue(), '')
        await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'detached' })
      })

      t.test('a second device in the page edits while switched offline, and sends the edits later', async () => {
        await show(page, 'folder')
        await page.getByRole('button', { name: 'Try a second device here' }).click()
        const beside = page.frameLocator('#beside iframe')
        await openVault(beside, code)
        await screenshot(page, `beside-${width}`)
        await beside.getByRole('switch', { name: 'Network' }).click()
        await beside.locator('#status[data-state=offline]').waitFor()
        await beside.getByRole('main').getByRole('link', { name: 'Reading' }).click()
        const title = beside.locator('.row-title', { hasText: 'Write-ahead logging' })
        await title.focus()
        await title.press('e')
        await beside.getByRole('dialog').getByLabel('Title').fill('Seen there')
        await beside.getByRole('dialog').getByLabel('Title').press('Enter')
        await beside.locator('#status[data-waiting="1"]').waitFor()
        await beside.getByRole('switch', { name: 'Network' }).click()
        await live(beside)
        // A narrow screen shows only one of the two devices.
        const tab = page.getByRole('button', { name: 'This browser', exact: true })
        if (await tab.isVisible()) await tab.click()
        await page.getByRole('main').getByRole('link', { name: 'Reading' }).click()
        await row(page, 'Seen there').waitFor()
        await show(page, 'folder')
      })
    })
  }
}

function row(page: Page, title: string): Locator {
  return page.locator('.row', { has: page.locator('.row-title', { hasText: new RegExp(`^${title}$`) }) })
}

/** Waits until the list shows these titles in this order. */
async function titles(page: Page, expected: string[]): Promise<void> {
  await page.waitForFunction((expected) => {
    const shown = [...document.querySelectorAll('.main .row-title')].map(({ textContent }) => textContent)
    return shown.join('\n') === expected
  }, expected.join('\n'))
}

async function focus(page: Page, title: string): Promise<void> {
  await row(page, title).locator('.row-title').focus()
}

async function select(page: Page, title: string): Promise<void> {
  await focus(page, title)
  await page.keyboard.press('x')
}

async function undo(page: Page, message: string): Promise<void> {
  const toast = page.locator('.toast', { hasText: message, hasNotText: 'Undone' })
  await toast.getByRole('button', { name: 'Undo' }).click()
  await toast.waitFor({ state: 'detached' })
}

/** @param part how far down the row of the target the pointer ends, from 0 to 1 */
async function drag(page: Page, title: string, target: Locator, part: number, isTouch: boolean): Promise<void> {
  const from = await row(page, title).locator('.letter').boundingBox()
  const to = await target.boundingBox()
  if (!from || !to) throw new Error('A row is not on the screen')
  const [x, y] = [from.x + 10, from.y + 10]
  const end = { x: to.x + 60, y: to.y + to.height * part }
  if (!isTouch) {
    await page.mouse.move(x, y)
    await page.mouse.down()
    await page.mouse.move(x + 10, y, { steps: 2 })
    await page.mouse.move(end.x, end.y, { steps: 4 })
    await page.mouse.up()
    return
  }
  const finger = await page.context().newCDPSession(page)
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', points: { x: number; y: number }[]) =>
    finger.send('Input.dispatchTouchEvent', { type, touchPoints: points })
  await touch('touchStart', [{ x, y }])
  await touch('touchMove', [{ x: x + 10, y }])
  await touch('touchMove', [end])
  await touch('touchMove', [{ x: end.x + 1, y: end.y }])
  await touch('touchEnd', [])
}
