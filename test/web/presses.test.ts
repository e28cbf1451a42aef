import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { deep, isDeep } from '../support/depth.ts'
import { demoOrigin, enterVault, importFile, link, live, openChromium, openContext, show } from './fixture.ts'
import { holdTime, inPage } from './presses/held.ts'
import { Sweep } from './presses/sweep.ts'

/** The effects that a press, a double press or a held key may have. All other controls must change no bookmark. */
const effects = [
  [/^Delete$/, { gone: 1 }],
  [/^Delete Shelf$/, { gone: 5 }],
  [/^Delete ./, { gone: 1 }],
  [/^Restore Shelf$/, { back: 5 }],
  [/^Restore 2 selected$/, { back: 2 }],
  [/^Restore/, { back: 1 }],
  [/^Erase for good$/, { erased: 1 }],
  [/^Erase everything$/, { erased: 100 }],
  [/^Make a folder of it$/, { back: 5 }],
  [/^Undo$/, { back: 5, gone: 5, moved: 1 }],
  [/^Redo$/, { back: 1, gone: 5, moved: 1 }],
  [/^Merge into the oldest of each, delete 2$/, { gone: 2 }],
  [/^Alt\+Arrow/, { moved: 1 }],
] as const

/** The views to start from. In deep runs, the first one leads to all others that have a link. */
const views = isDeep ? ['all', 'tag/kept', 'search/row', 'add'] : ['all', 'trash']
const keys = ['Delete', 'Alt+ArrowDown', ...(isDeep ? ['Backspace', 'x', 'e', 'm', 't', 'n', 'f', '/'] : [])]

function fileOf(origin: string, rows: number): string {
  const links = Array.from({ length: rows }, (_, index) => {
    return `<DT><A HREF="${origin}/x/${index}" TAGS="kept">Row ${index + 1}</A>`
  })
  const twins = ['', '', ' TAGS="newer"', ''].map((tags, index) => {
    return `<DT><A HREF="${origin}/x/${index % 2 === 0 ? 'one' : 'two'}"${tags}>Twin</A>`
  })
  return `<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p><DT><H3>Shelf</H3><DL><p>${twins.join('')}</DL><p>${links.join('')}</DL><p>`
}

/** A person's page with bookmarks, of which two are in the trash. */
async function openFilled(t: Test, browser: Browser, name: string, rows: number, isReal = false): Promise<Page> {
  const context = await openContext(t, browser)
  await context.addInitScript(holdTime, isReal)
  // Links to other pages do nothing.
  await context.route(/\/(x|docs)\/|\.txt$/, (route) => route.fulfill({ status: 204 }))
  const origin = await demoOrigin()
  const page = await context.newPage()
  await enterVault(page, origin, name)
  context.on('page', (opened) => opened.close())
  const buffer = Buffer.from(fileOf(origin, rows))
  await importFile(page, { name: 'bookmarks.html', mimeType: 'text/html', buffer })
  await show(page, 'all')
  for (const title of ['Row 1', 'Row 2']) {
    await link(page, title).press('Delete')
    await link(page, title).waitFor({ state: 'detached' })
  }
  await live(page)
  // After the reload, earlier steps cannot be undone.
  await page.reload()
  await live(page)
  return page
}

/** Makes a tab group of a folder, in the view of tab groups. */
async function makeGroup(page: Page, folder: string): Promise<void> {
  await show(page, 'groups')
  const press = async (name: string) => {
    const button = page.getByRole('button', { name, exact: true })
    await button.waitFor()
    await inPage(page, 'pass')
    await button.click()
  }
  await press('From a folder…')
  await page.getByRole('dialog').getByRole('combobox').fill(folder)
  await press('Create the group')
  await page.getByRole('button', { name: folder, exact: true }).waitFor()
  await live(page)
  await page.reload()
  await live(page)
}

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('a double press of a control and a held key do no more than a single press', async (t) => {
    const page = await openFilled(t, browser, 'Presses', 9)
    await makeGroup(page, 'Shelf')
    const sweep = new Sweep(page, await page.context().newCDPSession(page), effects)
    for (const view of views) await sweep.view(view)
    for (const view of isDeep ? ['folder', ...views] : ['all']) await sweep.holdKeys(view, keys)
    t.same(sweep.faults, [])
    t.ok(sweep.seen.size > (isDeep ? 90 : 12), `${sweep.seen.size} kinds of controls`)
  })

  t.test('deletes cannot happen by mistake', async (t) => {
    const page = await openFilled(t, browser, 'Many', 110)
    const all = Object.keys(await inPage(page, 'stored')).length
    const gone = async () =>
      all - Object.values(await inPage(page, 'stored')).filter((place) => place !== 'trash').length
    const before = await gone()
    const press = async (name: string) => {
      const button = page.getByRole('button', { name, exact: true })
      await button.waitFor()
      await live(page)
      await inPage(page, 'pass')
      await button.click()
    }

    t.test('more than a hundred are deleted only when the question is answered', async (t) => {
      await link(page, 'Row 3').press('Control+a')
      await press('Delete')
      const question = page.getByRole('dialog', { name: 'Delete 112 bookmarks?' })
      await question.waitFor()
      t.equal(await gone(), before)
      await page.keyboard.press('Escape')
      await question.waitFor({ state: 'detached' })
      t.equal(await gone(), before)
      await press('Delete')
      await question.waitFor()
      await inPage(page, 'pass')
      await question.getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByText('112 bookmarks deleted').waitFor()
      await press('Undo')
      await link(page, 'Row 3').waitFor()
      t.equal(await gone(), before)
    })

    t.test('deletes within a few seconds share one message and one Undo', async (t) => {
      for (const title of ['Row 4', 'Row 5', 'Row 6']) await link(page, title).press('Delete')
      await page.locator('.toast', { hasText: '3 bookmarks deleted' }).waitFor()
      t.equal(await page.locator('.toast').count(), 1)
      await press('Undo')
      await link(page, 'Row 6').waitFor()
      t.equal(await gone(), before)
    })

    t.test('merging duplicates keeps data that only the newer ones have', async (t) => {
      await show(page, 'duplicates')
      await press('Merge into the oldest of each, delete 2')
      await page.getByText('2 bookmarks deleted').waitFor()
      t.equal(await gone(), before + 2)
      const tagged = page.getByRole('list', { name: 'Bookmarks tagged newer' }).locator('[data-main]')
      await show(page, 'tag/newer')
      await tagged.waitFor()
      await press('Undo')
      await show(page, 'duplicates')
      await page.getByText('Merge into the oldest of each, delete 2').waitFor()
      t.equal(await gone(), before)
      await show(page, 'all')
      await link(page, 'Row 4').waitFor()
    })

    t.test('a press right after a dialog closes does not hit the control below it', async (t) => {
      const bin = page.getByRole('button', { name: 'Delete Row 4', exact: true })
      const { x = 0, y = 0, width = 0, height = 0 } = (await bin.boundingBox()) ?? {}
      await link(page, 'Row 5').press('e')
      const cancel = page.getByRole('dialog').getByRole('button', { name: 'Cancel' })
      await cancel.evaluate((button, place) => Object.assign(button.style, place), {
        ...{ position: 'fixed', left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` },
      })
      await page.mouse.move(x + width / 2, y + height / 2)
      await inPage(page, 'pass')
      for (let times = 0; times < 2; times++) {
        await page.mouse.down()
        await page.mouse.up()
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        await inPage(page, 'frames', 2)
      }
      await inPage(page, 'frames', 12)
      t.equal(await gone(), before)
      await inPage(page, 'pass')
      await page.mouse.down()
      await page.mouse.up()
      await link(page, 'Row 4').waitFor({ state: 'detached' })
    })

    t.test('a press does not hit a control that has just moved under the pointer', async (t) => {
      const now = await gone()
      const bin = page.getByRole('button', { name: 'Delete Row 7', exact: true })
      const { x = 0, y = 0, width = 0, height = 0 } = (await bin.boundingBox()) ?? {}
      await page.mouse.move(0, 0)
      await live(page)
      await inPage(page, 'pass')
      await link(page, 'Row 5').press('Delete')
      await link(page, 'Row 5').waitFor({ state: 'detached' })
      await inPage(page, 'frames', 2)
      await page.mouse.move(x + width / 2, y + height / 2)
      const press = async () => {
        await page.mouse.down()
        await page.mouse.up()
        await inPage(page, 'frames', 12)
      }
      await press()
      t.equal(await gone(), now + 1)
      await inPage(page, 'pass')
      await press()
      await link(page, 'Row 8').waitFor({ state: 'detached' })
    })

    t.test('the next swipe does not hit the row that moved up after the first one', async (t) => {
      const now = await gone()
      const finger = await page.context().newCDPSession(page)
      const {
        x = 0,
        y = 0,
        height = 0,
      } = (await page.locator('.row', { has: page.getByRole('link', { name: 'Row 9', exact: true }) }).boundingBox()) ??
      {}
      const at = (by: number) => [{ x: x + 300 - by, y: y + height / 2 }]
      const swipe = async () => {
        await finger.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: at(0) })
        for (const by of [40, 80, 120]) {
          await finger.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: at(by) })
        }
        await finger.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
        await inPage(page, 'frames', 12)
      }
      await inPage(page, 'pass')
      await swipe()
      await link(page, 'Row 9').waitFor({ state: 'detached' })
      await swipe()
      t.equal(await gone(), now + 1)
      await inPage(page, 'pass')
      await swipe()
      await link(page, 'Row 10').waitFor({ state: 'detached' })
    })
  })

  deep(t, 'a double click deletes one row only', async (t) => {
    const page = await openFilled(t, browser, 'Quick', 30, true)
    let left = Object.keys(await inPage(page, 'stored')).length
    for (let gap = 80; gap <= 360; gap += 40) {
      for (const clickCount of [1, 2]) {
        const { x = 0, y = 0 } =
          (await page
            .getByRole('button', { name: /^Delete Row/ })
            .nth(2)
            .boundingBox()) ?? {}
        await page.mouse.move(x + 9, y + 9)
        await page.waitForTimeout(600)
        await page.mouse.down()
        await page.mouse.up()
        await page.waitForTimeout(gap)
        await page.mouse.down({ clickCount })
        await page.mouse.up({ clickCount })
        await page.waitForTimeout(400)
        const now = Object.values(await inPage(page, 'stored')).filter((place) => place !== 'trash').length
        if (left - now < 10) t.equal(left - now, 1, `${gap} ms, ${clickCount}`)
        left = now
      }
    }
  })
}
