import t from 'tap'
import { depth } from '../support/depth.ts'
import { importFile, link, openChromium, openPage, show } from './fixture.ts'

const keyMs = depth(40, 150)
const pressMs = 80

/** More folders than fit into the list, so that it scrolls. */
const names = ['Attic', 'Balcony', 'Cellar', 'Deck', 'Entrance', 'Fence', 'Garden', 'Hall', 'Island', 'Jetty']
const folders = names.map((name) => `<DT><H3>${name}</H3><DL><p></DL><p>`)
const file = `<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p>${folders.join('')}
  <DT><A HREF="https://example.org/spade" TAGS="tool">Spade</A>
  <DT><A HREF="https://example.org/rake" TAGS="autumn">Rake</A>
</DL><p>`

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('forms, by mouse and by keyboard', async (t) => {
    const page = await openPage(t, browser, 'Forms', { viewport: { width: 1200, height: 800 } })
    await importFile(page, { name: 'bookmarks.html', mimeType: 'text/html', buffer: Buffer.from(file) })
    await show(page, 'folder')
    await link(page, 'Spade').waitFor()
    const dialog = page.getByRole('dialog')
    const field = (name: string) => dialog.getByLabel(name, { exact: true })
    const option = (name: string) => dialog.getByRole('option', { name, exact: true })
    const button = (name: string) => dialog.getByRole('button', { name, exact: true })
    const gone = () => dialog.waitFor({ state: 'detached' })
    const toast = page.locator('.toast')
    const said = (text: string) => toast.filter({ hasText: text }).waitFor()
    const goOn = () => toast.getByRole('button', { name: 'Continue editing' }).click({ delay: pressMs })
    const type = (text: string) => page.keyboard.type(text, { delay: keyMs })
    const key = async (...keys: string[]) => {
      for (const one of keys) await page.keyboard.press(one, { delay: keyMs })
    }
    const open = async (title: string, shortcut: string) => {
      await link(page, title).press(shortcut)
      await dialog.waitFor()
    }

    await t.test('a folder picked without typing is shown, saved, and kept in the draft', async (t) => {
      const picks: Record<string, () => Promise<void>> = {
        Garden: () => option('Garden').click({ delay: pressMs }),
        // The first entry is the top level.
        Balcony: () => key('ArrowDown', 'ArrowDown', 'ArrowDown', 'Enter'),
      }
      for (const [name, pick] of Object.entries(picks)) {
        await key('n')
        await field('Address').waitFor()
        await type('pick.example')
        await field('Folder').click({ delay: pressMs })
        await pick()
        t.equal(await field('Folder').inputValue(), name)
        await button('Save').click({ delay: pressMs })
        await said(`“pick.example” added in “${name}”`)
        await gone()
        await key('Control+z')

        await open('Spade', 'e')
        await field('Folder').click({ delay: pressMs })
        await pick()
        t.equal(await field('Folder').inputValue(), name)
        await key('Escape')
        await gone()
        await goOn()
        t.equal(await field('Folder').inputValue(), name, 'the draft has the folder')
        await button('Save').click({ delay: pressMs })
        await said(`“Spade” saved in “${name}”`)
        await gone()
        await key('Control+z')
        await link(page, 'Spade').waitFor()
      }
    })

    await t.test('a form whose changes were reverted leaves no draft', async (t) => {
      await open('Spade', 'e')
      await field('Title').waitFor()
      await key('End')
      await type('x')
      await key('Backspace', 'Escape')
      await gone()
      t.equal(await toast.getByRole('button', { name: 'Continue editing' }).count(), 0)
    })

    await t.test('a removed tag, and one typed without Enter, are kept in the draft', async (t) => {
      const chips = () => dialog.getByRole('button', { name: /^Remove tag/ }).allTextContents()
      await open('Spade', 'e')
      await button('Remove tag tool').click({ delay: pressMs })
      await field('Tags').click({ delay: pressMs })
      await type('iron')
      await key('Escape', 'Escape')
      await gone()
      await goOn()
      t.same(await chips(), ['iron'])
      await key('Escape')
      await gone()
    })

    await t.test('the tags of several bookmarks are not lost either', async (t) => {
      await open('Spade', 't')
      await type('steel,woo')
      // The first Escape closes the list, the second one the dialog.
      await key('Escape', 'Escape')
      await gone()
      await goOn()
      t.same(await dialog.getByRole('button', { name: /^Remove tag/ }).allTextContents(), ['tool', 'steel', 'woo'])
      await button('Save').click({ delay: pressMs })
      await said('“Spade” tagged')
      await gone()
    })

    await t.test('Tab leads through a form even with an open list, and no key reaches the page behind', async (t) => {
      const focused = () =>
        page.evaluate(() => {
          const { activeElement } = document
          return activeElement?.closest('dialog')
            ? (activeElement.getAttribute('name') ?? activeElement.textContent)
            : 'PAGE'
        })
      await key('n')
      await field('Address').waitFor()
      await type('tabs.example')
      const stops: (string | null)[] = []
      for (const _ of Array(6)) {
        await key('Tab')
        stops.push(await focused())
      }
      t.same(stops, ['title', 'folder', 'tag', 'description', 'Cancel', 'Save'])
      // Even without a focused element, keys must not reach the page.
      await page.evaluate(() => (document.activeElement as HTMLElement).blur())
      await type('n/f?')
      await key('Control+k')
      t.equal(await field('Address').inputValue(), 'tabs.example')
      t.equal(await dialog.count(), 1)
      await key('Escape')
      await gone()
    })

    await t.test('a form that another one replaced can be continued', async (t) => {
      await key('n')
      await field('Address').waitFor()
      await type('example.org/rake')
      await field('Description').click({ delay: pressMs })
      await type('Not to be lost')
      await button('Open it').click({ delay: pressMs })
      await page.getByRole('dialog', { name: 'Edit Rake' }).waitFor()
      await key('Escape')
      await gone()
      await goOn()
      t.equal(await field('Description').inputValue(), 'Not to be lost')
      await key('Escape')
      await gone()
    })
  })
}
