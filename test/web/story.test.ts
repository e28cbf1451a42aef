import { fileURLToPath } from 'node:url'
import type { Page, Response } from 'playwright-core'
import t from 'tap'
import { loginFailures } from '../../generated/login-failures.ts'
import { isDeep } from '../support/depth.ts'
import { faultsIn, type Look } from './docs-page.ts'
import {
  addBookmark,
  answerProvider,
  demoOrigin,
  enter,
  enterVault,
  identityOf,
  importFile,
  keepsPage,
  keptForOffline,
  link,
  live,
  makeVault,
  openChromium,
  openContext,
  openPage,
  openVault,
  placesOf,
  retitle,
  screenshot,
  show,
  shownTree,
  signIn,
  startVault,
  withoutNetwork,
} from './fixture.ts'

const file = fileURLToPath(new URL('../fixtures/bookmarks/firefox_nested.htm', import.meta.url))
const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('two browsers of one person share a vault, an import, live changes and a conflict', async (t) => {
    const origin = await demoOrigin()
    const one = await openContext(t, browser, keepsPage)
    const other = await openContext(t, browser, keepsPage)
    const laptop = await one.newPage()
    const phone = await other.newPage()

    await signIn(laptop, origin, 'Ada')
    await laptop.locator('[name=passphrase]:focus').waitFor()
    await startVault(laptop)
    // The vault is created only when the recovery code is confirmed, so a reload before that starts again.
    await laptop.reload()
    await makeVault(laptop)
    await enter(phone, origin, 'Ada')
    // Playwright cannot intercept requests while a service worker takes over the page.
    await keptForOffline(phone)
    const arriving = phone.getByRole('heading', { name: 'Loading your bookmarks' }).waitFor()
    const cut = Promise.withResolvers<void>()
    await phone.route('**/api/v1/sync/pull', (route) => cut.promise.then(() => route.abort()))
    const opening = openVault(phone)
    await arriving
    cut.resolve()
    await phone.getByRole('heading', { name: 'Your bookmarks are not on this device yet' }).waitFor()
    await phone.unroute('**/api/v1/sync/pull')
    const again = phone.locator('#connection').getByRole('button', { name: 'Try again' })
    // The page may have retried on its own, and then the button is gone.
    again.click().catch(() => {})
    await opening
    await phone.getByRole('heading', { name: 'No bookmarks yet' }).waitFor()

    await importFile(laptop, file)
    await laptop.getByText('31 bookmarks and folders imported').waitFor()
    await live(laptop)
    const tree = await shownTree(laptop, 30)
    t.strictSame(await shownTree(phone, 30), tree, 'the other browser shows the same tree, live')
    await screenshot(laptop, 'tree')

    await withoutNetwork(phone, async () => {
      await withoutNetwork(laptop, async () => {
        await edit(laptop, 'Comics', 'Comics of the laptop')
        await edit(phone, 'Comics', 'Comics of the phone')
        for (const page of [laptop, phone]) await page.locator('#status[data-waiting="1"]').waitFor()
      })
      await live(laptop)
    })
    await live(phone)
    // The clocks of the devices decide which edit is newer.
    const loser = await Promise.race([laptop, phone].map(conflictShown))
    const [mine, theirs, winner] = loser === laptop ? ['laptop', 'phone', phone] : ['phone', 'laptop', laptop]
    const conflict = loser.locator('#conflicts li[data-id]')
    const others = await winner.locator('#conflicts li[data-id]').count()
    t.same([await conflict.count(), others], [1, 0], 'one conflict is shown')
    const cells = await conflict.locator('tbody tr > *').allTextContents()
    t.strictSame(cells, ['Title', `Comics of the ${mine}`, `Comics of the ${theirs}`])
    const heads = await conflict.locator('thead th').allTextContents()
    t.match(heads, ['Field', /^Not used, /, /^Used now, /])
    await screenshot(loser, 'conflict')
    t.equal(await loser.locator('.toast', { hasText: 'saved' }).count(), 0, 'no message says that the edit was saved')
    t.equal(await loser.locator('.notice').count(), 0, 'the conflict view has no notice about itself')
    const [cell] = await conflict.locator('td').all()
    await cell?.evaluate((cell) => cell.replaceChildren('x'.repeat(500)))
    const name = await conflict.locator('tbody th').boundingBox()
    t.ok(name && name.width > 100, 'long values leave room for the field names')
    await loser.reload()
    await show(loser, 'folder')
    await loser
      .getByRole('status')
      .getByText('Two devices changed the same bookmark. Choose which version to keep')
      .waitFor()
    await live(loser)
    t.strictSame(await shownTree(laptop, 30), await shownTree(phone, 30), 'both browsers show the same')
    await show(loser, 'conflicts')
    await conflict.getByRole('button', { name: `Keep “Comics of the ${theirs}”` }).click()
    const kept = loser.locator('.toast', { hasText: `“Comics of the ${theirs}” stays as it is` })
    await conflict.waitFor({ state: 'detached' })
    await kept.getByRole('button', { name: `Use “Comics of the ${mine}”` }).click()
    const title = `Comics of the ${mine}`
    for (const page of [laptop, phone]) await page.locator('.folder-line').getByText(title).waitFor()

    await withoutNetwork(laptop, async () => {
      await find(laptop, 'Heroic Programming')
      await laptop.getByRole('button', { name: 'Delete Heroic Programming', exact: true }).click()
      await laptop.locator('#status[data-waiting="1"]').waitFor()
      await edit(phone, 'Heroic Programming', 'Heroic Programming of the phone')
      await live(phone)
    })
    await conflictShown(laptop)
    const deletion = laptop.locator('#conflicts li', { hasText: 'Heroic Programming of the phone' })
    await deletion.getByRole('button', { name: 'Delete it' }).waitFor()
    await deletion.getByRole('button', { name: 'Keep it' }).click()
    await laptop.locator('.toast', { hasText: '“Heroic Programming of the phone” stays as it is' }).waitFor()
  })

  t.test('a reload keeps unsent edits; signing out in one tab stops the other and erases the data', async (t) => {
    const origin = await demoOrigin()
    const page = await openPage(t, browser, 'Bob', keepsPage)
    const context = page.context()
    await addBookmark(page, 'Kept')
    await live(page)

    await context.route('**/api/**', (route) => route.abort())
    await page.reload()
    await page.locator('#status[data-state=offline]').waitFor()
    await addBookmark(page, 'Made without a network')
    await page.reload()
    await page.locator('#status[data-waiting="1"]').waitFor()
    t.strictSame(await shownTree(page, 2), ['Kept', 'Made without a network'])
    // Ends the old page, which must not be counted. With a stopped clock, an answer is always recent to the page.
    await page.goto('about:blank')
    await page.addInitScript(() => {
      performance.now = () => 0
      AbortSignal.timeout = () => new AbortController().signal
    })
    await context.unroute('**/api/**')
    const asked = await callsOf(page, async () => {
      await page.goto(origin)
      await live(page)
    })
    // Counts only this document's requests: the one before may have asked as well when the network was back.
    const sessions = await page.evaluate(() =>
      performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/api/v1/auth/session')),
    )
    t.equal(sessions.length, 1, 'the page asks for the session once')
    t.ok(asked.includes('/api/v1/sync/pull: 0 changes'), "this device's own push is not pulled")

    const tab = await context.newPage()
    await tab.goto(origin)
    await tab.getByText('Made without a network').waitFor()
    await addBookmark(tab, 'From the other tab')
    await page.getByText('From the other tab').waitFor()
    await live(page)
    await page.evaluate(() => {
      const { user_id } = JSON.parse(localStorage.getItem('signed-in-user') ?? '')
      localStorage.setItem('before-going-back', JSON.stringify([user_id, 1]))
    })
    const bob = await identityOf(page)
    t.ok((await placesOf(page, bob)).length >= 2, 'his bookmarks and his name are stored')
    await page.getByRole('button', { name: 'Bob, This browser' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await tab.getByRole('button', { name: 'Sign in' }).waitFor()
    const left = await page.evaluate(async () => (await indexedDB.databases()).map(({ name = '' }) => name))
    t.same(
      left.filter((name) => /-sync-(?!keys$)/.test(name)),
      [],
      'nothing is left',
    )
    t.strictSame(await placesOf(page, bob), [], "nor any of Bob's data")
    const kept = () => [localStorage.getItem('before-going-back'), sessionStorage.getItem('scrolled')]
    t.same(await page.evaluate(kept), [null, null], 'no time or scroll position of his is left')
    await withoutNetwork(page, async () => {
      await page.reload()
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
    })
    await enterVault(page, origin, 'Cleo')
    t.strictSame(await shownTree(page, 0), [], 'another person sees no bookmark')
  })

  t.test('a phone that scans a code gets the bookmarks without a passphrase, once the pictures match', async (t) => {
    const origin = await demoOrigin()
    const laptop = await (await openContext(t, browser, {}, /status of 404/)).newPage()
    await enterVault(laptop, origin, 'Hedy')
    await addBookmark(laptop, 'Frequency hopping', 'https://example.org/hopping')
    const looks: Look[] = isDeep
      ? [
          ['light', 1440],
          ['dark', 1440],
          ['light', 390],
          ['dark', 390],
          ['light', 320],
        ]
      : [['dark', 320]]

    await t.test('the page shows each stored record next to its content', async (t) => {
      await live(laptop)
      await laptop.getByRole('button', { name: 'Hedy, This browser' }).click()
      await laptop.getByRole('menuitem', { name: 'What the server sees' }).click()
      const push = laptop
        .getByRole('dialog')
        .locator('details', { hasText: /POST \/api\/v1\/sync\/push.*, 1 bookmark/ })
        .first()
      await push.locator('summary').click()
      await push.getByText('Frequency hopping').waitFor()
      const bytes = (await push.locator('pre').textContent()) ?? ''
      const [created] = JSON.parse(bytes).changes
      t.match(created, { entity_type: 'bookmark', operation: 'create', encrypted_data: /^[\w+/=]{300,}$/ })
      t.notMatch(bytes, /hopping/)
      if (isDeep) t.same(await faultsIn(laptop, 'seen', looks), [])
      await laptop.keyboard.press('Escape')
    })
    const sent: string[] = []
    const mobile = await openContext(
      t,
      browser,
      { ...keepsPage, viewport: { width: 390, height: 800 } },
      /status of 404/,
    )
    mobile.on('request', (request) => {
      sent.push(JSON.stringify([request.url(), request.headers(), request.postData()]))
    })
    const phone = await mobile.newPage()
    const picturesOf = (page: Page) =>
      page.getByRole('list', { name: 'Three pictures' }).getByRole('listitem').allTextContents()
    const linkShown = () => laptop.getByLabel('Or open this link there').inputValue()
    const showCode = async () => {
      await laptop.getByRole('button', { name: 'Hedy, This browser' }).click()
      await laptop.getByRole('menuitem', { name: 'Pair a phone' }).click()
      await laptop.getByRole('img', { name: 'The code, for a camera' }).waitFor()
    }

    // A code is valid for two minutes, so checking how it looks uses a separate one.
    await showCode()
    await laptop
      .getByRole('timer')
      .getByText(/^[12]:\d\d left\.$/)
      .waitFor()
    t.same(await faultsIn(laptop, 'pairing-code', looks), [])
    const closed = await linkShown()
    await laptop.keyboard.press('Escape')

    await laptop.route('**/api/v1/account/pairings/*', (route, request) =>
      request.method() === 'GET'
        ? route.fulfill({ json: { step: 1, message: 'AAAA', expires_at: 0, reserved: false } })
        : route.fallback(),
    )
    await laptop.getByRole('button', { name: 'Hedy, This browser' }).click()
    await laptop.getByRole('menuitem', { name: 'Pair a phone' }).click()
    await laptop.getByRole('alert').getByText('were altered on the way').waitFor()
    await laptop.getByRole('button', { name: 'Sign out all others' }).waitFor()
    await laptop.unroute('**/api/v1/account/pairings/*')
    await laptop.getByRole('button', { name: 'Show another code' }).click()
    await laptop.getByRole('img', { name: 'The code, for a camera' }).waitFor()
    let messages = 0
    laptop.on('request', (request) => {
      if (request.method() === 'PUT' && request.url().includes('/pairings/')) messages++
    })
    const first = await linkShown()
    await phone.goto(closed)
    await phone.getByRole('alert').getByText('This code is no longer valid').waitFor()
    await phone.goto(first)
    await phone.getByText('Sign in with the same account as on your computer').waitFor()
    t.equal(phone.url(), `${origin}/`, 'the code is removed from the address')
    // Now the code stays valid while the person signs in.
    await laptop.getByRole('status').getByText('A phone has scanned the code. Sign in there').waitFor()
    await phone.getByRole('button', { name: 'Sign in' }).click()
    await answerProvider(phone, 'Hedy')
    await phone.getByText('Does your other device, where your bookmarks are open, show').waitFor()
    await laptop.getByText('Chrome on Linux has scanned the code.').waitFor()
    const [one, two] = [await picturesOf(laptop), await picturesOf(phone)]
    t.equal(one.length, 3)
    t.same(two, one)
    for (const page of isDeep ? [laptop, phone] : [phone]) t.same(await faultsIn(page, 'pairing-pictures', looks), [])

    // Each side answers before it receives the other's answer.
    await laptop.route('**/api/v1/account/pairings/*', (route, request) =>
      request.method() === 'GET' ? undefined : route.fallback(),
    )
    await phone.getByRole('button', { name: 'No, different or none' }).click()
    await phone.getByRole('alert').getByText('nothing was taken from it').waitFor()
    await laptop.getByRole('button', { name: 'No, different or none' }).click()
    await laptop.getByRole('alert').getByText('Nothing was given away.').waitFor()
    await laptop.unroute('**/api/v1/account/pairings/*')
    t.equal(messages, 1, 'only the public key was sent, and no vault keys')
    if (isDeep) t.same(await faultsIn(laptop, 'pairing-different', looks), [])
    await laptop.getByRole('button', { name: 'Show another code' }).click()
    await phone.getByRole('button', { name: 'Use the passphrase instead' }).click()
    await phone.getByRole('heading', { name: 'Open your bookmarks' }).waitFor()

    const second = await linkShown()
    t.not(second, first)
    // Like a link opened in the same tab, which does not reload the page.
    await phone.evaluate((address) => location.assign(address), second)
    await phone.getByText('Does your other device, where your bookmarks are open, show').waitFor()
    await laptop.getByText('Chrome on Linux has scanned the code.').waitFor()
    t.same(await picturesOf(phone), await picturesOf(laptop))
    await phone.reload()
    await phone.getByRole('alert').getByText('has to start over').waitFor()
    await laptop.getByRole('alert').getByText('the other device has stopped').waitFor()
    await laptop.getByRole('button', { name: 'Show another code' }).click()
    const third = await linkShown()
    await phone.evaluate((address) => location.assign(address), third)
    await phone.getByText('Does your other device, where your bookmarks are open, show').waitFor()
    const given = phone.waitForResponse(async (response) => {
      return (
        /GET.*\/pairings\//.test(`${response.request().method()} ${response.url()}`) && (await stepOf(response)) === 4
      )
    })
    await laptop.getByRole('button', { name: 'Yes, open my bookmarks there' }).click()
    await given
    await phone.getByText('Does your other device, where your bookmarks are open, show').waitFor()
    t.notOk(
      sent.some((request) => request.includes('/api/v1/bookmarks')),
      'the received keys are not used before a Yes on the phone',
    )
    await phone.getByRole('button', { name: 'Yes, the same' }).click()
    await live(phone)
    await link(phone, 'Frequency hopping').waitFor()
    await laptop.getByRole('status').getByText('Chrome on Linux can now open your bookmarks').waitFor()
    if (isDeep) t.same(await faultsIn(laptop, 'pairing-open', looks), [])
    await phone.reload()
    await live(phone)

    const codes = [first, second, third].map((shown) => shown.split('/').at(-2) ?? '')
    for (const page of [laptop, phone]) t.same(await placesOf(page, codes), [], 'no code is left in storage')
    t.ok(sent.length > 20)
    t.same(
      sent.filter((request) => codes.some((code) => request.includes(code))),
      [],
      'no code was sent',
    )
    await phone.goto(second)
    await phone.getByText('Your bookmarks are open here already.').waitFor()
    await laptop.getByRole('button', { name: 'That was not me…' }).click()
    await laptop.getByRole('heading', { name: 'Lost a device?' }).waitFor()
  })

  t.test('a failed sign-in shows its reason and a new sign-in; a signed-in person stays signed in', async (t) => {
    const origin = await demoOrigin()
    const page = await (await openContext(t, browser)).newPage()
    await page.goto(`${origin}/api/v1/auth/callback?code=x&state=/`)
    t.match(page.url(), /\/login\?error=/)
    await page.getByText('Login expired or was started in another browser.').waitFor()
    const advice = 'Ask the operator of this service, or sign in with another account.'
    for (const [error, text] of [
      [loginFailures.forbidden, `This account may not use this service. ${advice}`],
      [loginFailures.closed, `This service takes no new users. ${advice}`],
      // Anybody can make such a link, so its text must not be shown.
      ['Call 555-0100 to keep your bookmarks', 'Login failed. Sign in once more.'],
    ] as const) {
      await page.goto(`${origin}/login?error=${encodeURIComponent(error)}`)
      t.equal(await page.getByRole('alert').textContent(), text)
    }
    await page.getByRole('button', { name: 'Sign in' }).click()
    await answerProvider(page, 'Una')
    await makeVault(page)
    await page.evaluate(() => sessionStorage.setItem('came-from', JSON.stringify({ view: '#/account/delete' })))
    await page.goto(`${origin}/login?error=${encodeURIComponent(loginFailures.unasked)}`)
    await page.getByRole('alert').getByText('Your identity provider did not ask you to sign in.').waitFor()
    await live(page)
    t.equal(page.url(), `${origin}/`, 'the page does not lead back to the failed sign-in')
    t.equal(await page.getByRole('dialog').count(), 0)
  })
}

/** The step in a pairing's message. Undefined if the page was closed before the answer. */
async function stepOf(answer: Response): Promise<number | undefined> {
  return (await answer.json().catch(() => ({}))).step
}

async function conflictShown(page: Page): Promise<Page> {
  await show(page, 'conflicts')
  await page.locator('#conflicts li[data-id]').waitFor()
  return page
}

async function edit(page: Page, from: string, to: string): Promise<void> {
  await find(page, from)
  await retitle(page, from, to)
}

/** Shows the bookmark by searching for it. */
async function find(page: Page, title: string): Promise<void> {
  await page.getByRole('searchbox').fill(title)
  await link(page, title).waitFor()
}

/** The calls that the page makes during the work, with the number of pulled changes. */
async function callsOf(page: Page, work: () => Promise<void>): Promise<string[]> {
  const answers: Response[] = []
  const note = (answer: Response) => answers.push(answer)
  page.on('response', note)
  await work()
  page.off('response', note)
  const calls = answers.map(async (answer) => {
    const { pathname } = new URL(answer.url())
    if (!pathname.endsWith('/sync/pull')) return pathname
    // The body of a call by an earlier document is gone.
    const body = await answer.json().catch(() => undefined)
    return body ? `${pathname}: ${body.changes.length} changes` : pathname
  })
  return (await Promise.all(calls)).filter((call) => call.startsWith('/api/'))
}
