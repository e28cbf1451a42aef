import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { importFile, link, live, openChromium, openPage, screenshot, show } from './fixture.ts'

const nested = (depth: number): string =>
  depth > 12 ? '' : `<DT><H3>Level ${depth}</H3><DL><p>${nested(depth + 1)}</DL><p>`
const many = Array.from({ length: 60 }, (_, at) => `<DT><H3>Shelf ${at + 1}</H3><DL><p></DL><p>`)
const file = `<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p>
  <DT><A HREF="https://example.org/leek" TAGS="green">Leek</A>
  <DT><H3>Kitchen</H3><DL><p><DT><H3>Soups</H3><DL><p></DL><p></DL><p>
  <DT><H3>Garden</H3><DL><p></DL><p>
  ${nested(1)}${many.join('')}
</DL><p>`

/** Longer than the time after which a closed folder opens under a drag. */
const hoverMs = 900

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('the sidebar works with many folders', async (t) => {
    const page = await openPage(t, browser, 'Sidebar')
    await importFile(page, { name: 'bookmarks.html', mimeType: 'text/html', buffer: Buffer.from(file) })
    await show(page, 'folder')
    await link(page, 'Kitchen').waitFor()
    const sidebar = page.locator('#sidebar')
    const line = (name: string) =>
      sidebar.locator('.folder-line', { has: page.locator('span', { hasText: new RegExp(`^${name}$`) }) })
    const heading = (name: string) => sidebar.getByRole('button', { name, exact: true })
    const names = () => sidebar.locator('.folder-line .link > span:first-of-type').allTextContents()
    const top = () => sidebar.evaluate((sidebar) => sidebar.scrollTop)

    await t.test('the views stay visible above many folders, and closed sections stay closed', async (t) => {
      for (const name of ['Trash', 'Import and backups', 'Help']) {
        const box = await sidebar.getByRole('link', { name }).boundingBox()
        t.ok(box && box.y + box.height < 800, name)
      }
      await screenshot(page, 'sidebar')
      for (const name of ['Settings', 'Folders', 'Tags']) await heading(name).click()
      await page.reload()
      await live(page)
      await heading('Folders').waitFor()
      t.equal(await line('Kitchen').count(), 0)
      t.equal(await sidebar.getByRole('link', { name: 'green' }).count(), 0)
      for (const name of ['Tags', 'Folders', 'Settings']) await heading(name).press('Enter')
      await line('Kitchen').waitFor()
      await sidebar.getByRole('link', { name: 'Import and backups' }).waitFor()
    })

    await t.test('each folder level is indented further', async (t) => {
      for (let level = 1; level < 12; level++)
        await line(`Level ${level}`).getByRole('button', { name: /^Open/ }).click()
      const lefts: number[] = []
      for (let level = 1; level <= 12; level++) {
        lefts.push((await line(`Level ${level}`).getByRole('link').boundingBox())?.x ?? 0)
      }
      t.ok(
        lefts.every((left, at) => at === 0 || left >= (lefts[at - 1] as number) + 2),
        lefts.join(),
      )
      await screenshot(page, 'sidebar-levels')
      await line('Level 1')
        .getByRole('button', { name: /^Close/ })
        .click()
    })

    await t.test('a folder is renamed and moved in the sidebar, by its menu or by keys', async () => {
      await line('Garden').hover()
      await line('Garden').getByRole('button', { name: 'Options for Garden' }).click()
      await page.getByRole('menuitem', { name: 'Rename…' }).click()
      await page.getByRole('dialog', { name: 'Edit Garden' }).waitFor()
      await page.keyboard.type('Balcony')
      await page.keyboard.press('Enter')
      await line('Balcony').waitFor()
      await line('Balcony').getByRole('link').press('F2')
      await page.getByRole('dialog', { name: 'Edit Balcony' }).waitFor()
      await page.keyboard.type('Garden')
      await page.keyboard.press('Enter')
      await line('Garden').getByRole('link').press('Alt+ArrowUp')
      await page.waitForFunction(() => document.activeElement?.textContent?.startsWith('Garden'))
      await firstAre(page, ['Garden', 'Kitchen'])
      await page.keyboard.press('Alt+ArrowDown')
      await firstAre(page, ['Kitchen', 'Garden'])
      await line('Garden').getByRole('link').press('m')
      await page.getByRole('dialog', { name: 'Move to…' }).getByRole('option', { name: 'Kitchen', exact: true }).click()
      await page.getByText('“Garden” moved to “Kitchen”').waitFor()
      await page.keyboard.press('Control+z')
      await firstAre(page, ['Kitchen', 'Garden'])
    })

    await t.test('folders can be dragged between and into others, and a closed one opens under a drag', async (t) => {
      await drag(page, line('Garden').getByRole('link'), line('Kitchen'), 0.1)
      await firstAre(page, ['Garden', 'Kitchen'])
      await drag(page, line('Garden').getByRole('link'), line('Kitchen'), 0.9)
      await firstAre(page, ['Kitchen', 'Garden'])
      await grab(page, line('Garden').getByRole('link'))
      await moveTo(page, line('Kitchen'), 0.5)
      await line('Soups').waitFor()
      await moveTo(page, line('Soups'), 0.5)
      await page.mouse.up()
      await page.getByText('“Garden” moved to “Soups”').waitFor()
      await page.keyboard.press('Control+z')
      await line('Garden').waitFor()
      // A folder cannot be moved into itself.
      await grab(page, line('Kitchen').getByRole('link'))
      await moveTo(page, line('Soups'), 0.5)
      t.ok(await page.locator('.drag-target').isHidden())
      await page.mouse.up()
      t.same((await names()).slice(0, 2), ['Kitchen', 'Soups'])
      await heading('Folders').click()
      await grab(page, link(page, 'Leek'))
      await moveTo(page, heading('Folders'), 0.5)
      await line('Garden').waitFor()
      await page.keyboard.press('Escape')
      await page.mouse.up()
    })

    await t.test('the sidebar scrolls during a drag, so that every folder can be reached', async (t) => {
      await grab(page, link(page, 'Leek'))
      const box = (await sidebar.boundingBox()) ?? { x: 0, y: 0, height: 0 }
      await page.mouse.move(box.x + 60, box.y + box.height - 10, { steps: 3 })
      await page.waitForFunction(() => {
        const sidebar = document.querySelector('#sidebar')
        return sidebar && sidebar.scrollTop + sidebar.clientHeight > sidebar.scrollHeight - 1
      })
      await moveTo(page, line('Shelf 60'), 0.5)
      t.ok((await top()) > 500)
      t.equal(await page.locator('#main').evaluate((main) => main.scrollTop), 0)
      await page.mouse.up()
      await page.getByText('“Leek” moved to “Shelf 60”').waitFor()
      await page.keyboard.press('Control+z')
    })

    await t.test('a finger drags a folder by its icon', async () => {
      await sidebar.evaluate((sidebar) => sidebar.scrollTo(0, 0))
      const { x = 0, y = 0, height = 0 } = (await line('Kitchen').boundingBox()) ?? {}
      await line('Garden')
        .locator('.link > .icon')
        .evaluate(
          (icon, end) => {
            const from = icon.getBoundingClientRect()
            const send = (type: string, clientX: number, clientY: number) =>
              icon.dispatchEvent(
                new PointerEvent(type, { clientX, clientY, pointerId: 7, pointerType: 'touch', bubbles: true }),
              )
            send('pointerdown', from.x, from.y)
            send('pointermove', from.x + 10, from.y)
            send('pointermove', end.x, end.y)
            send('pointerup', end.x, end.y)
          },
          { x: x + 60, y: y + height * 0.1 },
        )
      await firstAre(page, ['Garden', 'Kitchen'])
    })
  })
}

/** Waits until these are the first folders of the sidebar. */
async function firstAre(page: Page, names: string[]): Promise<void> {
  await page.waitForFunction((names) => {
    const shown = [...document.querySelectorAll('.folder-line .link > span:first-of-type')]
    return names.every((name, at) => shown[at]?.textContent === name)
  }, names)
}

async function drag(page: Page, from: Locator, to: Locator, part: number): Promise<void> {
  await grab(page, from)
  await moveTo(page, to, part, 0)
  await page.mouse.up()
}

async function grab(page: Page, from: Locator): Promise<void> {
  const { x = 0, y = 0, height = 0 } = (await from.boundingBox()) ?? {}
  await page.mouse.move(x + 10, y + height / 2)
  await page.mouse.down()
  await page.mouse.move(x + 20, y + height / 2, { steps: 2 })
}

/** Moves the pointer there, and stays until a closed folder would have opened. */
async function moveTo(page: Page, to: Locator, part: number, stayMs = hoverMs): Promise<void> {
  const { x = 0, y = 0, height = 0 } = (await to.boundingBox()) ?? {}
  await page.mouse.move(x + 60, y + height * part, { steps: 4 })
  await page.waitForTimeout(stayMs)
}
