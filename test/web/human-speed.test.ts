import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { deriveInFull } from '../../scripts/test/argon2id.ts'
import { deep, depth } from '../support/depth.ts'
import { importFile, link, live, openChromium, openPage, passphrase, screenshot, show } from './fixture.ts'

/** The time between two keys of a good typist. Filling a field at once would miss all that happens in between. */
const keyMs = depth(40, 150)
/** How long the mouse button stays down. If the page moves meanwhile, the click is lost. */
const pressMs = 80

const file = `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<DL><p>
  <DT><H3>Reading</H3>
  <DL><p>
    <DT><H3>Papers</H3>
    <DL><p><DT><A HREF="https://example.org/paper" TAGS="museum">Paper</A></DL><p>
  </DL><p>
  <DT><H3>Kitchen</H3>
  <DL><p></DL><p>
  <DT><A HREF="https://example.org/soup" TAGS="recipe">Soup</A>
</DL><p>`

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('the page works at the speed of a person', async (t) => {
    deriveInFull(t)
    // With animations, as most people have them, because moving controls may lose a click.
    const page = await openPage(t, browser, 'Human', { reducedMotion: 'no-preference' })

    await importFile(page, { name: 'bookmarks.html', mimeType: 'text/html', buffer: Buffer.from(file) })
    await show(page, 'folder')
    const type = (text: string) => page.keyboard.type(text, { delay: keyMs })
    const dialog = page.getByRole('dialog')
    const field = (name: string) => dialog.getByLabel(name, { exact: true })
    const button = (name: string) => dialog.getByRole('button', { name, exact: true })
    const gone = () => dialog.waitFor({ state: 'detached' })
    const said = (text: string) => page.locator('.toast', { hasText: text }).waitFor()

    t.test('the first press of Save counts, even while suggestions are shown', async (t) => {
      const ways: Record<string, () => Promise<void>> = {
        'a new tag, ended by Enter': async () => {
          await press(page, field('Tags'))
          await type('bulk')
          await page.keyboard.press('Enter')
        },
        'a part of a tag': async () => {
          await press(page, field('Tags'))
          await type('rec')
        },
        'a part of a folder': async () => {
          await press(page, field('Folder'))
          await type('kit')
        },
        'no tag yet': () => press(page, field('Tags')),
        'no folder yet': () => press(page, field('Folder')),
      }
      for (const [way, work] of Object.entries(ways).slice(0, depth(3, 5))) {
        await page.keyboard.press('n')
        await field('Address').waitFor()
        await type('a.example')
        await work()
        t.same(await pressed(page, button('Save')), [true, true], way)
        await gone()
        await said('“a.example” added')
        await page.keyboard.press('Control+z')
      }
      await focus(page, 'Soup')
      await page.keyboard.press('m')
      await field('Folder').waitFor()
      await type('kit')
      t.same(await pressed(page, button('Move')), [true, true], 'a part of a folder to move to')
      await gone()
      await said('“Soup” moved to “Kitchen”')
      await page.keyboard.press('Control+z')
    })

    t.test('a typed folder name selects that folder, or the form says that there is none', async (t) => {
      await page.keyboard.press('n')
      await field('Address').waitFor()
      await type('b.example')
      await press(page, field('Folder'))
      await type('papers')
      t.equal(await field('Folder').inputValue(), 'papers', 'typing replaces the previous folder')
      await press(page, field('Title'))
      t.equal(await field('Folder').inputValue(), 'Reading › Papers')
      await page.keyboard.press('Enter')
      await gone()
      await said('“b.example” added in “Papers”')

      await page.keyboard.press('n')
      await field('Address').waitFor()
      await type('c.example')
      await press(page, field('Folder'))
      await type('Holiday')
      await press(page, field('Title'))
      await page.keyboard.press('Enter')
      await dialog.getByText('There is no folder “Holiday”').waitFor()
      await press(page, dialog.getByRole('option', { name: 'Create the folder “Holiday”' }))
      await press(page, button('Save'))
      await gone()
      await said('“c.example” added in “Holiday”')
      await link(page, 'Holiday').waitFor()
      await page.keyboard.press('Control+z')
      await link(page, 'Holiday').waitFor({ state: 'detached' })

      // The name is typed as soon as the dialog opens.
      await focus(page, 'Soup')
      await page.keyboard.press('m')
      await field('Folder').waitFor()
      await type('papers')
      await page.keyboard.press('Enter')
      await gone()
      await said('“Soup” moved to “Papers”')
      await page.keyboard.press('Control+z')
      await said('Undone: “Soup” moved to “Papers”')
      // A press on a folder moves the bookmark there, without another button.
      await focus(page, 'Soup')
      await page.keyboard.press('m')
      await press(page, dialog.getByRole('option', { name: 'Kitchen' }))
      await gone()
      await said('“Soup” moved to “Kitchen”')
      await page.keyboard.press('Control+z')
      await link(page, 'Soup').waitFor()
    })

    t.test("typing into a new form's title replaces it", async () => {
      await focus(page, 'Soup')
      await page.keyboard.press('e')
      await field('Title').waitFor()
      await type('Broth')
      await page.keyboard.press('Enter')
      await gone()
      await link(page, 'Broth').waitFor()
      await page.keyboard.press('Control+z')
      await link(page, 'Soup').waitFor()
    })

    t.test('a new tag may be a part of an existing one', async (t) => {
      await focus(page, 'Soup')
      await page.keyboard.press('t')
      await field('Tags').waitFor()
      await type('rec')
      await page.keyboard.press('Enter')
      await type('us')
      await page.keyboard.press('Enter')
      await type('mus')
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      const chips = dialog.getByRole('button', { name: /^Remove tag/ })
      t.same(await chips.allTextContents(), ['recipe', 'rec', 'us', 'museum'])
      await type('RECIPE,#recipe,#Rec,')
      t.same(await chips.allTextContents(), ['recipe', 'rec', 'us', 'museum'], 'a tag has one spelling')
      await page.keyboard.press('Enter')
      await gone()
    })

    t.test('closing a form by mistake loses nothing, and a repeated address gets a warning', async (t) => {
      await page.keyboard.press('n')
      await field('Address').waitFor()
      await type('example.org/soup')
      await dialog.getByText('You have this already: “Soup”').waitFor()
      await press(page, field('Description'))
      await type('Not to be lost')
      await page.keyboard.press('Escape')
      await gone()
      await press(page, page.locator('.toast').getByRole('button', { name: 'Continue editing' }))
      await dialog.getByText('New bookmark').waitFor()
      t.equal(await field('Description').inputValue(), 'Not to be lost')
      t.equal(await field('Address').inputValue(), 'example.org/soup')
      await press(page, field('Address'))
      await page.keyboard.press('End')
      await type('/')
      await press(page, button('Open it'))
      await page.getByRole('dialog', { name: 'Edit Soup' }).waitFor()
      await page.keyboard.press('Escape')
      await gone()
    })

    t.test('shortcuts work with Caps Lock and other alphabets, and Backspace deletes on Macs', async (t) => {
      const keys = await page.context().newCDPSession(page)
      const control = async (key: string, code: string) => {
        await keys.send('Input.dispatchKeyEvent', { type: 'keyDown', key, code, modifiers: 2 })
        await page.waitForTimeout(pressMs)
        await keys.send('Input.dispatchKeyEvent', { type: 'keyUp', key, code })
      }
      for (const [key, code] of [
        ['Z', 'KeyZ'],
        ['я', 'KeyZ'],
      ] as const) {
        await link(page, 'Soup').press('Delete')
        await link(page, 'Soup').waitFor({ state: 'detached' })
        await control(key, code)
        await link(page, 'Soup').waitFor()
      }
      for (const key of ['K', 'л']) {
        await control(key, 'KeyK')
        await page.getByRole('dialog').waitFor()
        await page.keyboard.press('Escape')
        await gone()
      }
      await link(page, 'Soup').press('Backspace')
      await page.evaluate(() => Object.defineProperty(navigator, 'userAgent', { get: () => 'Mac OS X' }))
      t.equal(await link(page, 'Soup').count(), 1, 'on other systems Backspace does nothing')
      await link(page, 'Soup').press('Backspace')
      await link(page, 'Soup').waitFor({ state: 'detached' })
      await page.keyboard.press('Meta+z')
      await link(page, 'Soup').waitFor()
    })

    t.test('rows are selected as in a list of files', async (t) => {
      const rows = page.getByRole('main').locator('[data-main]')
      const selected = async () => page.locator('.row.selected').count()
      await rows.first().focus()
      for (const key of ['Down', 'Down', 'Up']) await page.keyboard.press(`Shift+Arrow${key}`)
      t.equal(await selected(), 2)
      t.ok(await page.getByText('2 selected').isVisible())
      await page.keyboard.press('Escape')
      await page
        .locator('.row-sub')
        .nth(1)
        .click({ modifiers: ['Control'] })
      t.equal(await selected(), 1)
      await page
        .locator('.row-sub')
        .last()
        .click({ modifiers: ['Shift'] })
      t.equal(await selected(), (await rows.count()) - 1)
      await page.getByRole('searchbox').fill('soup')
      await page.getByText('1 found for “soup”').waitFor()
      await link(page, 'Soup').press('x')
      t.ok(await page.getByText('1 selected').isVisible(), 'search results can be selected, too')
      await page.keyboard.press('Escape')
      await show(page, 'folder')
    })

    t.test('results of the search field can be opened by keyboard', async () => {
      const search = page.getByRole('searchbox')
      await press(page, search)
      await type('soup')
      await page.getByText('1 found for “soup”').waitFor()
      await page.keyboard.press('ArrowDown')
      await page.waitForFunction(() => document.activeElement?.textContent === 'Soup')
      await press(page, search)
      await page.keyboard.press('Control+a')
      await type('kitchen')
      await page.keyboard.press('Enter')
      await page.getByRole('main').getByRole('heading', { name: 'Kitchen', exact: true }).waitFor()
      await show(page, 'folder')
    })

    t.test("“Show all” in the command bar keeps the query's filters", async () => {
      await page.keyboard.press('Control+k')
      await type('#museum paper')
      await press(page, dialog.getByRole('option', { name: 'Show all that is found for “#museum paper”' }))
      await page.getByText('1 found for “#museum paper”').waitFor()
      await show(page, 'folder')
    })

    t.test('on a telephone, Add floats over every view, and a swipe deletes or tags', async (t) => {
      await page.setViewportSize({ width: 390, height: 844 })
      const add = page.getByRole('button', { name: 'Add bookmark' })
      for (const view of ['trash', 'tag/museum']) {
        await show(page, view)
        await page.locator('.main h1').waitFor()
        t.equal(await add.count(), 1, view)
        await press(page, add)
        await field('Address').waitFor()
        const tags = view === 'trash' ? [] : ['museum']
        t.same(await dialog.getByRole('button', { name: /^Remove tag/ }).allTextContents(), tags, view)
        await page.keyboard.press('Escape')
        await gone()
      }
      await show(page, 'folder')
      await swipe(link(page, 'Soup'), -60)
      await swipe(link(page, 'Soup'), -120)
      await link(page, 'Soup').waitFor({ state: 'detached' })
      await press(page, page.locator('.toast').getByRole('button', { name: 'Undo' }))
      await swipe(link(page, 'Soup'), 120)
      await page.getByRole('dialog', { name: 'Tags' }).waitFor()
      await page.keyboard.press('Escape')
      await page.keyboard.press('Escape')
      await gone()
      await page.setViewportSize({ width: 1200, height: 800 })
    })

    t.test("an unknown view's address shows that there is nothing", async (t) => {
      await show(page, 'nonsense')
      await page.getByRole('heading', { name: 'There is nothing at this address' }).waitFor()
      t.equal(await page.locator('h1').count(), 1)
      await show(page, 'folder')
    })

    t.test("the bookmarklet's window closes itself once the bookmark is saved", async () => {
      await show(page, 'settings')
      const code = await page.getByRole('link', { name: 'Add this page' }).getAttribute('href')
      const elsewhere = await page.context().newPage()
      const opened = page.context().waitForEvent('page')
      await elsewhere.evaluate(`document.title = 'Elsewhere'; ${decodeURI(code ?? '').replace(/^javascript:/, '')}`)
      const small = await opened
      await small.getByRole('dialog', { name: 'New bookmark' }).waitFor()
      // The address is filled in, so typing goes to the title.
      await small.locator('[name=title]:focus').waitFor()
      const closed = small.waitForEvent('close')
      await press(small, small.getByRole('button', { name: 'Save', exact: true }))
      await closed
      await elsewhere.close()
      await show(page, 'folder')
      await page.getByRole('main').getByText('Elsewhere', { exact: true }).waitFor()
    })

    t.test('unlocking long after the page has loaded does not show it as offline', async (t) => {
      // Shortens the page's timeouts (not with --deep), so that all of them pass while the person types.
      const shorten = depth(40, 1)
      await page.addInitScript((shorten) => {
        const { timeout } = AbortSignal
        AbortSignal.timeout = (ms) => timeout.call(AbortSignal, ms / shorten)
        const states: string[] = []
        Object.assign(window, { states })
        new MutationObserver(() => {
          const state = document.querySelector<HTMLElement>('#status')?.dataset.state
          if (state && states.at(-1) !== state) states.push(state)
        }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-state'] })
      }, shorten)
      await press(page, page.getByRole('button', { name: /^Human/ }))
      // Locked while the service is unreachable: the unlock screen appears as soon as it is back.
      const away = '**/api/v1/**'
      await page.route(away, (route) => route.abort())
      await press(page, page.getByRole('menuitem', { name: 'Lock' }))
      await page.getByRole('alert').getByText('The service did not answer').waitFor()
      await page.unroute(away)
      await page.evaluate(() => dispatchEvent(new Event('online')))
      await page.getByRole('heading', { name: 'Open your bookmarks' }).waitFor()
      await page.waitForTimeout(depth(0, 6000))
      await press(page, page.getByLabel('Passphrase', { exact: false }).first())
      await page.keyboard.type(passphrase, { delay: keyMs })
      await page.keyboard.press('Enter')
      await page.locator('#status').waitFor()
      await show(page, 'account')
      await page.getByRole('heading', { name: 'Where you are signed in' }).waitFor()
      await live(page)
      const states = await page.evaluate(() => (window as unknown as { states: string[] }).states)
      t.notOk(states.includes('offline'), states.join(', '))
      t.equal(await page.getByText(/timed out/).count(), 0)
    })
  })

  deep(t, 'the page works with a finger', async (t) => {
    const look = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
    const page = await openPage(t, browser, 'Finger', look)
    await importFile(page, { name: 'bookmarks.html', mimeType: 'text/html', buffer: Buffer.from(file) })
    await show(page, 'all')
    const row = page.locator('.row', { hasText: 'Soup' })
    await row.getByText('#recipe').waitFor()
    await page.getByRole('button', { name: 'Add bookmark' }).waitFor()
    await show(page, 'folder')
    await page.locator('.row', { hasText: 'Kitchen' }).locator('.letter').tap()
    await page.getByRole('main').getByRole('heading', { name: 'Kitchen', exact: true }).waitFor()
    t.equal(await page.locator('.selecting').count(), 0)
    await show(page, 'folder')
    const box = await row.locator('.row-title').boundingBox()
    if (!box) throw new Error('The row is not visible')
    const finger = await page.context().newCDPSession(page)
    const touchPoints = [{ x: box.x + 10, y: box.y + 10 }]
    await finger.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints })
    await page.getByText('1 selected').waitFor()
    await finger.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
    t.equal(await page.locator('.row.selected .row-title').textContent(), 'Soup')
    await page.getByRole('button', { name: 'Cancel' }).tap()
    await finger.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints })
    for (let x = 20; x <= 160; x += 20) {
      const touchPoints = [{ x: box.x + 10 + x, y: box.y + 10 }]
      await finger.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints })
    }
    await screenshot(page, 'swipe')
    await finger.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
    await page.getByRole('dialog', { name: 'Tags' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')

    // If the service does not answer, the dialog says so instead of “making the code”.
    await page.route('**/api/v1/**', (route) => route.abort())
    await page.getByRole('button', { name: /^Finger/ }).tap()
    await page.getByRole('menuitem', { name: 'Pair a phone' }).tap()
    await page.getByRole('dialog').getByText('The service has not answered yet').waitFor()
  })
}

/** Presses with the mouse, as slowly as a hand. */
async function press(page: Page, target: Locator): Promise<void> {
  await pressed(page, target)
}

/** Like `press`. Returns whether the mouse was over the target when its button went down, and when it came up. */
async function pressed(page: Page, target: Locator): Promise<[down: boolean, up: boolean]> {
  await target.scrollIntoViewIfNeeded()
  const box = await target.boundingBox()
  if (!box) throw new Error(`${target} is not visible`)
  const at = { x: box.x + box.width / 2, y: box.y + box.height / 2 }
  const isOver = () =>
    target.evaluate((element, { x, y }) => element.contains(document.elementFromPoint(x, y)), at).catch(() => false)
  await page.mouse.move(at.x, at.y)
  const down = await isOver()
  await page.mouse.down()
  await page.waitForTimeout(pressMs)
  const up = await isOver()
  await page.mouse.up()
  return [down, up]
}

/** Swipes like a finger, on a page with the layout for a mouse. */
async function swipe(target: Locator, length: number): Promise<void> {
  await target.evaluate((element, length) => {
    const { x, y } = element.getBoundingClientRect()
    const send = (type: string, by: number) => {
      const where = { clientX: x + by, clientY: y, pointerId: 7, pointerType: 'touch', bubbles: true }
      element.dispatchEvent(new PointerEvent(type, where))
    }
    send('pointerdown', 0)
    for (const part of [0.25, 0.5, 1]) send('pointermove', length * part)
    send('pointerup', length)
  }, length)
}

async function focus(page: Page, title: string): Promise<void> {
  await link(page, title).focus()
}
