import type { Page } from 'playwright-core'
import t from 'tap'
import { deep, isDeep } from '../support/depth.ts'
import { accessibilityFaults, faultsIn, type Look } from './docs-page.ts'
import {
  addBookmark,
  demoOrigin,
  enter,
  identityOf,
  keepsPage,
  keptForOffline,
  link,
  live,
  makeVault,
  openChromium,
  openContext,
  passphrase,
  placesOf,
  retitle,
  screenshot,
  show,
  signIn,
  withoutNetwork,
} from './fixture.ts'

const allLooks: Look[] = [
  ['light', 390],
  ['dark', 390],
  ['light', 1440],
  ['dark', 1440],
]
const looks = isDeep ? allLooks : allLooks.slice(1, 2)

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('the vault needs a strong passphrase, and its unlock screen reports what does not open it', async (t) => {
    const origin = await demoOrigin()
    const context = await openContext(
      t,
      browser,
      { ...keepsPage, viewport: { width: 1440, height: 900 } },
      /status of 429/,
    )
    const page = await context.newPage()
    const loaded: string[] = []
    const calls: string[] = []
    context.on('request', (request) => {
      const { pathname } = new URL(request.url())
      loaded.push(pathname)
      calls.push(`${request.method()} ${pathname}`)
    })
    /** How often the page makes this call while a button is clicked again and again until it is gone. */
    const callsOfMany = async (call: string, button: string, until: () => Promise<unknown>) => {
      const from = calls.length
      await page.getByRole('button', { name: button, exact: true }).evaluate((button: HTMLElement) => {
        const click = () => (button.isConnected ? button.click() : clearInterval(timer))
        const timer = setInterval(click, 1)
      })
      await until()
      return calls.slice(from).filter((one) => one === call).length
    }

    await t.test('a new passphrase is rated while it is typed, and refused if it is easy to guess', async (t) => {
      await signIn(page, origin, 'Grace')
      const first = loaded.slice(0, loaded.indexOf('/api/v1/auth/login'))
      t.notOk(first.includes('/demo/strength.js'), 'the page loads without the dictionaries')
      const field = page.getByLabel('New passphrase')
      const judged = async (text: string, words: RegExp) => {
        await field.fill(text)
        await page.locator('.strength p[aria-hidden]', { hasText: words }).waitFor()
      }
      await judged('password1', /^Too easy to guess\. This is a commonly used password\./)
      await page.getByRole('status').getByText('Passphrase strength: Too easy to guess').waitFor()
      await page.getByLabel('Repeat the passphrase').fill('password1')
      await page.getByRole('button', { name: 'Create my vault' }).click()
      await page.getByRole('alert').getByText('This is too easy to guess').waitFor()
      await page.locator('[name=passphrase]:focus[aria-invalid=true]').waitFor()
      t.equal(await field.inputValue(), 'password1', 'the passphrase can be corrected')
      t.same(await faultsIn(page, 'passphrase-refused', looks), [])
      await judged('grace-2026', /personal or page related/)
      t.equal(await field.getAttribute('aria-invalid'), 'false')
      await judged('Correct horse battery staple', /^Too easy to guess/)
      await judged('Kj#9fLqz', /^Weak\. Add /)
      if (isDeep) t.same(await faultsIn(page, 'passphrase-weak', looks), [])
      await judged(passphrase, /^Good\.\s*$/)
      await judged(`${passphrase} walrus`, /^Strong\.\s*$/)
      if (isDeep) t.same(await faultsIn(page, 'passphrase-strong', looks), [])
      t.same(await kept(page), [], 'the dictionaries are not kept for offline')
    })

    await t.test('printing the recovery code prints only the code', async (t) => {
      for (const label of ['New passphrase', 'Repeat the passphrase']) await page.getByLabel(label).fill(passphrase)
      const shown = page.locator('#recovery-code')
      const made = await callsOfMany('GET /api/v1/auth/session', 'Create my vault', () => shown.waitFor())
      t.equal(made, 1, 'the code is made once')
      const code = (await shown.textContent()) ?? ''
      await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
      const printed = await page.evaluate(() => document.body.innerText)
      t.equal(printed.replace(/\s/g, '').split(code).length, 2, 'the print has the code in three lines')
      t.match(printed, /^Recovery code\n/)
      for (const fact of ['Grace', origin, `${new Date().getFullYear()}`]) t.match(printed, fact)
      t.notMatch(printed, /Copy|Documentation|signed in/)
      await screenshot(page, 'printed-code')
      await page.emulateMedia({ media: 'screen' })
      t.notMatch(await page.evaluate(() => document.body.innerText), /passports/)
      const stored = await callsOfMany('PUT /api/v1/account/keyring', 'I have saved it', () => live(page))
      t.equal(stored, 1, 'the keyring is stored once')
      await page.locator('.printed').waitFor({ state: 'detached' })
    })

    await t.test('a backup shows its contents before it is restored, which can be undone', async (t) => {
      await addBookmark(page, 'Nanoseconds')
      await addBookmark(page, 'Flow-Matic')
      await show(page, 'settings')
      await page.getByText('There are no backups on the service.').waitFor()
      await page.getByRole('button', { name: 'Create a backup' }).dblclick()
      const backups = page.getByRole('list', { name: 'Backups on the service' }).getByRole('listitem')
      await backups.getByText('Ready: 2 bookmarks and folders').waitFor()
      t.equal(calls.filter((call) => call === 'POST /api/v1/exports').length, 1, 'a double click creates one backup')
      if (isDeep) t.same(await faultsIn(page, 'backups', looks), [])

      await show(page, 'folder')
      await page.getByRole('button', { name: 'Delete Flow-Matic' }).click()
      await retitle(page, 'Nanoseconds', 'Microseconds')
      await show(page, 'settings')
      await backups.getByRole('button', { name: 'Open' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.locator('h3:focus', { hasText: '2 bookmarks and 0 folders' }).waitFor()
      t.same(await dialog.locator('dt').allTextContents(), ['1 missing', '1 different', '0 the same'])
      t.same(await dialog.locator('.backup-name').allTextContents(), ['Nanoseconds', 'Flow-Matic'])
      t.same(await faultsIn(page, 'backup-open', looks), [])
      await dialog.getByRole('button', { name: 'Add 1 missing, reset 1 different' }).click()
      await page.getByText('From the backup: 1 added, 1 reset').waitFor()
      await show(page, 'folder')
      await link(page, 'Flow-Matic').waitFor()
      await link(page, 'Nanoseconds').waitFor()
      await page.locator('.toast', { hasText: 'From the backup' }).getByRole('button', { name: 'Undo' }).click()
      await link(page, 'Microseconds').waitFor()
      await link(page, 'Flow-Matic').waitFor({ state: 'detached' })
    })

    await deep(t, 'an invalid backup is reported, and a full list of backups gets room by deleting one', async (t) => {
      await show(page, 'settings')
      const file = { name: 'bookmarks.dat', mimeType: 'application/octet-stream', buffer: Buffer.from('<DL>') }
      await page.setInputFiles('input[accept=".dat"]', file)
      const dialog = page.getByRole('dialog', { name: 'bookmarks.dat' })
      await dialog.getByRole('alert').getByText('This is not a backup.').waitFor()
      await dialog.getByRole('button', { name: 'Close' }).last().click()
      const backups = page.getByRole('region', { name: 'Backups' })
      await page.route('**/api/v1/exports', (route) =>
        route.request().method() === 'POST'
          ? route.fulfill({
              status: 429,
              headers: { 'x-error-code': 'TooManyExportsKept' },
              json: { error: 'Too many exports kept' },
            })
          : route.fallback(),
      )
      await backups.getByRole('button', { name: 'Create a backup' }).click()
      await backups.getByRole('alert').getByText('Delete one below, then try again.').waitFor()
      if (isDeep) t.same(await faultsIn(page, 'backups-full', looks), [])
      await backups.getByRole('button', { name: 'Delete: Backup of' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete the backup' }).click()
      await page.getByText('There are no backups on the service.').waitFor()
      await backups.getByRole('alert').waitFor({ state: 'detached' })
    })

    await t.test('a wrong passphrase is reported at its field, and can be corrected', async (t) => {
      await lock(page)
      const secret = page.getByLabel('Passphrase or recovery code')
      const account = page.locator('form input[autocomplete=username]')
      t.equal(await account.inputValue(), 'Grace', 'a password manager can distinguish accounts')
      t.same(await accessibilityFaults(page, 'form'), [])
      const refused = async (text: string, why: string) => {
        await secret.fill(text)
        await page.getByRole('button', { name: 'Open', exact: true }).click()
        await page.getByRole('alert').getByText(why).waitFor()
        await page.locator('[name=secret]:focus').waitFor()
        t.equal(await secret.inputValue(), text)
        const described = await secret.getAttribute('aria-describedby')
        const [, error = ''] = described?.split(' ') ?? []
        return [await secret.getAttribute('aria-invalid'), await page.locator(`[id="${error}"]`).textContent()]
      }
      t.match(await refused('correct horse bat', 'Wrong passphrase.'), ['true', /^Wrong passphrase\. .*Caps Lock/])
      if (isDeep) t.same(await faultsIn(page, 'passphrase-wrong', looks), [])
      t.match(await refused('00N-5GQ-00N-5GQ-00N-5GQ-00N-5GQ-0', 'typing mistake'), ['true', /it has 25 characters/])
      await context.route('**/api/v1/account/keyring', (route) =>
        route.fulfill({
          status: 429,
          headers: { 'x-error-code': 'TooManyRequests' },
          json: { error: 'Too many requests' },
        }),
      )
      await secret.fill(passphrase)
      await page.getByRole('button', { name: 'Open', exact: true }).click()
      await page.getByRole('alert').getByText('Too many requests. Wait a minute, then try again.').waitFor()
      t.equal(await secret.inputValue(), passphrase)
      await context.unroute('**/api/v1/account/keyring')
      await secret.fill(passphrase)
      t.equal(await callsOfMany('GET /api/v1/account/keyring', 'Open', () => live(page)), 1, 'the vault is opened once')
    })

    await t.test('signing out at the unlock screen deletes the bookmarks of a person without passphrase', async (t) => {
      await show(page, 'folder')
      await withoutNetwork(page, async () => {
        await addBookmark(page, 'Not sent')
        await page.route('**/api/v1/sync/**', (route) => route.abort())
      })
      await lock(page)
      await page.getByText('Your bookmarks are still stored in this browser, unencrypted').waitFor()
      await page.getByRole('button', { name: 'Sign out' }).click()
      const dialog = page.getByRole('dialog', { name: 'Sign out and lose edits?' })
      await dialog.getByText('One edit has not been sent yet.').waitFor()
      if (isDeep) t.same(await faultsIn(page, 'locked-sign-out', looks), [])
      await dialog.getByRole('button', { name: 'Sign out and lose them' }).click()
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      const left = await page.evaluate(async () => (await indexedDB.databases()).map(({ name }) => name))
      t.same(left, ['encrypted-bookmark-sync-keys'], 'only the empty store of keys is left')
    })

    // sign-in-again.test.ts deletes an account, too.
    await deep(t, 'a person who also lost the recovery code can delete the account at the unlock screen', async (t) => {
      await page.unroute('**/api/v1/sync/**')
      await enter(page, origin, 'Grace')
      await page.getByText('I have lost both').click()
      t.equal(await page.getByText('Your bookmarks are still stored').count(), 0, 'the bookmarks were deleted')
      const grace = await identityOf(page)
      t.same(await faultsIn(page, 'lost-both', looks), [])
      await page.getByRole('button', { name: 'Delete my account…' }).click()
      await page.getByText('which may be one that you still have').waitFor()
      await page.getByLabel('Type “delete” to confirm').fill('delete')
      const isDeleted = () => page.getByText('Your account is deleted.').waitFor()
      t.equal(await callsOfMany('DELETE /api/v1/account', 'Delete everything', isDeleted), 1)
      t.same(await placesOf(page, grace), [], 'no data of her is left')
    })

    await deep(t, 'without the dictionaries, a passphrase is rated by its length only', async (t) => {
      const context = await openContext(t, browser)
      await context.route('**/demo/strength.js', (route) => route.abort())
      const page = await context.newPage()
      await signIn(page, origin, 'Grace, offline')
      await makeVault(page)
    })
  })
}

async function lock(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Grace, This browser' }).click()
  await page.getByRole('menuitem', { name: 'Lock' }).click()
  await page.getByRole('heading', { name: 'Open your bookmarks' }).waitFor()
}

/** The files for rating passphrases that the service worker has kept. */
async function kept(page: Page): Promise<string[]> {
  await keptForOffline(page)
  return page.evaluate(async () => {
    const requests = await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys()))
    return requests.flat().flatMap(({ url }) => (url.includes('strength') ? url : []))
  })
}
