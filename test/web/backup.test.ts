import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import t from 'tap'
import { deriveInFull } from '../../scripts/test/argon2id.ts'
import { removedPage, wholeHistory } from '../../src/client/bookmark/removed-page.ts'
import { historyId } from '../../src/client/index.ts'
import { deep } from '../support/depth.ts'
import { folder, startService } from '../support/service.ts'
import { openElsewhere } from './elsewhere.ts'
import {
  demoOrigin,
  developmentProvider,
  enterVault,
  importFile,
  live,
  openChromium,
  openContext,
  passphrase,
  screenshot,
  show,
  shownTree,
} from './fixture.ts'

const file = fileURLToPath(new URL('../fixtures/bookmarks/firefox_nested.htm', import.meta.url))
const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('a saved backup opens after the account is gone, and on another server', async (t) => {
    deriveInFull(t)
    const origin = await demoOrigin()
    const context = await openContext(t, browser, {}, /status of 40[14]/)
    const page = await context.newPage()
    const code = await enterVault(page, origin, 'Iris')
    await importFile(page, file)
    await live(page)
    const tree = await shownTree(page, 30)
    const { sync: other } = await openElsewhere(t, origin, 'Iris', { recoveryCode: code })
    await other.groups.put([
      { id: 'g', title: 'Work', source: 'groups' },
      { id: 't', title: 'Tab', url: 'https://example.org/', source: 'groups', parentId: 'g' },
    ])
    const dateVisited = '2026-01-01T10:00:00.000Z'
    await other.history.put([
      { id: 'h', title: 'Page', url: 'https://example.org/', source: 'history', dateVisited, visits: [dateVisited] },
      removedPage('removed', Date.parse(dateVisited)),
    ])
    await other.syncNow()
    await show(page, 'settings')
    await page.getByLabel('Download with the browsing history').check()
    const backup = await downloadedBackup(page)

    await t.test('if the keyring could not open the file later, no file is saved, and the page helps', async (t) => {
      const whole = await storedKeyring(page)
      const junk = Buffer.alloc(48, 7).toString('base64')
      const faulty = { ...whole, recovery: { ...whole.recovery, wrapped_key: junk } }
      const replaced = { ...whole, format: 'ebs/keyring/2', key_id: 'n0a0t/rIPhE=', older: { ...whole.recovery } }
      replaced.older.wrapped_keys = whole.recovery.wrapped_key
      for (const [stored, told] of [
        ['x', 'so the file would not open later. Repair the vault under “Security”'],
        [JSON.stringify(faulty), 'so the file would not open later. Repair the vault under “Security”'],
        [JSON.stringify(replaced), 'Your keys were replaced meanwhile'],
      ] as const) {
        await serveKeyring(page, stored)
        await page.getByRole('button', { name: /^Download/ }).click()
        await page.getByRole('alert').filter({ hasText: told }).waitFor()
        await page.getByRole('alert').getByRole('button').first().click()
      }
      await serveKeyring(page, JSON.stringify({ ...whole, mac: undefined }))
      const download = page.waitForEvent('download')
      await page.getByRole('button', { name: /^Download/ }).click()
      t.match((await download).suggestedFilename(), /^bookmarks-\d{4}-\d\d-\d\d\.dat$/)
      await page.getByRole('alert').filter({ hasText: 'nothing shows that your passphrase opens it' }).waitFor()
      await page.unroute(keyringPath)
      await show(page, 'security')
      await page.getByRole('button', { name: 'Repair the vault…' }).waitFor()
    })

    await deep(t, 'a file saved by an earlier version opens, and the page offers to save a new one', async (t) => {
      const saved = await readFile(backup)
      const bare = saved.subarray(saved.indexOf('EBSX'))
      await openFile(page, { name: 'bare.dat', mimeType: 'application/octet-stream', buffer: bare })
      const dialog = page.getByRole('dialog')
      await dialog.getByText('opens only in this account, and only while it exists').waitFor()
      const download = page.waitForEvent('download')
      await dialog.getByRole('button', { name: 'Save a new backup' }).click()
      t.equal((await readFile(await (await download).path())).toString('latin1', 0, 4), 'EBSB')
      await page.getByText('The new backup is saved').waitFor()
      await dialog.getByRole('button', { name: 'Close' }).last().click()
      await openFile(page, backup)
      await dialog.getByText('There is nothing to put back').waitFor()
      t.equal(await dialog.getByText('opens only in this account').count(), 0)
      await dialog.getByRole('button', { name: 'Close' }).last().click()
    })

    await t.test('before the account is deleted, the page says which secret opens a backup file', async () => {
      await show(page, 'account')
      const section = page.locator('#account-delete')
      await section.getByText('One that an earlier version of this page saved does not: save a new one').waitFor()
      await section.getByRole('button', { name: 'Delete my account…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('was valid when you downloaded it: keep that for as long as the file').waitFor()
      await dialog.getByText('opens only while this account exists: save a new one first').waitFor()
      await dialog.getByRole('textbox').fill('delete')
      await dialog.getByRole('button', { name: 'Delete everything' }).click()
      await page.getByText('Your account is deleted').waitFor()
    })

    await t.test('the file opens in a new account of the same person with the old recovery code', async (t) => {
      const codeAfter = await enterVault(page, origin, 'Iris')
      await openFile(page, backup)
      await openTyped(page, code)
      const dialog = page.getByRole('dialog')
      await dialog.getByText('more in it: 1 tab group, 1 tab, 1 page of the history.').waitFor()
      for (const added of [3, 0]) {
        await dialog.getByRole('button', { name: 'Add what is missing of these' }).click()
        await page.getByText(`From the backup: ${added} added`).waitFor()
      }
      await putBack(page)
      const { sync: after, keys } = await openElsewhere(t, origin, 'Iris', { recoveryCode: codeAfter })
      t.same([after.groups.contents('g'), [...after.history.records().keys()]], [['t'], ['h']])
      t.strictSame(await shownTree(page, 30), tree)

      // The person erases the history, and restores it: that takes the erase back.
      const erased = removedPage(historyId(keys, wholeHistory), Date.now())
      await after.history.put(erased)
      await after.history.remove('h')
      await after.syncNow()
      await openFile(page, backup)
      await openTyped(page, code)
      await dialog.getByRole('button', { name: 'Add what is missing of these' }).click()
      await page.getByText('From the backup: 1 added').waitFor()
      await after.syncNow()
      t.ok(after.history.get('h'))
      t.equal(after.history.get(erased.id)?.dateModified, undefined)
      await dialog.getByRole('button', { name: 'Close' }).last().click()
    })

    await deep(t, 'the file opens on another server, in another vault, with the old passphrase', async (t) => {
      const other = await startService(t, await folder(t), { SERVE_APP: 'true', ...(await developmentProvider()) })
      const there = await (await openContext(t, browser)).newPage()
      const codeThere = await enterVault(there, other.origin, 'Iris')
      await openFile(there, backup)
      const dialog = there.getByRole('dialog')
      for (const wrong of ['not the passphrase', codeThere]) {
        await openTyped(there, wrong)
        await dialog.getByText('This does not open the backup').waitFor()
      }
      await screenshot(there, 'backup-of-another-vault')
      await openTyped(there, passphrase)
      await putBack(there)
      t.strictSame(await shownTree(there, 30), tree)
      const again = await downloadedBackup(there)
      await openFile(there, again)
      await dialog.getByText('There is nothing to put back').waitFor()
      await dialog.getByRole('button', { name: 'Close' }).last().click()

      await openFile(there, {
        name: 'cut.dat',
        mimeType: 'application/octet-stream',
        buffer: Buffer.from('EBSB\x01\x24'),
      })
      await dialog.getByText('The backup is damaged or cut off').waitFor()
    })
  })
}

const keyringPath = '**/api/v1/account/keyring'

async function storedKeyring(page: Page) {
  const response = await page.request.get(new URL('/api/v1/account/keyring', page.url()).href)
  return JSON.parse((await response.json()).keyring)
}

/** Makes the service respond with this keyring, as if it was faulty. */
async function serveKeyring(page: Page, keyring: string): Promise<void> {
  await page.unroute(keyringPath)
  await page.route(keyringPath, (route) => route.fulfill({ json: { keyring, revision: 1 } }))
}

/** Makes a backup and downloads it. Returns the file's path. */
async function downloadedBackup(page: Page): Promise<string> {
  await show(page, 'settings')
  await page.getByRole('button', { name: 'Create a backup' }).click()
  const backup = page.getByRole('list', { name: 'Backups on the service' }).getByRole('listitem')
  const download = page.waitForEvent('download')
  await backup.getByRole('button', { name: 'Download' }).click()
  return (await download).path()
}

async function openFile(page: Page, backup: Parameters<Page['setInputFiles']>[1]): Promise<void> {
  await show(page, 'settings')
  await page.setInputFiles('input[accept=".dat"]', backup)
}

async function openTyped(page: Page, secret: string): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Passphrase or recovery code').fill(secret)
  await dialog.getByRole('button', { name: 'Open', exact: true }).click()
}

async function putBack(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Add 31 missing' }).click()
  await page.getByText('From the backup: 31 added').waitFor()
  await live(page)
}
