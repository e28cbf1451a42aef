import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import type { Page } from 'playwright-core'
import t from 'tap'
import { deriveInFull } from '../../scripts/test/argon2id.ts'
import { openBrowser } from '../support/browser.ts'
import { deep } from '../support/depth.ts'
import { keyringOf } from '../support/keyrings.ts'
import { relyingParty, startMock } from '../support/relying-party.ts'
import { callsTo, folder, startService } from '../support/service.ts'
import { faultsIn } from './docs-page.ts'
import {
  answerProvider,
  demo,
  enterVault,
  live,
  makeVault,
  openChromium,
  openContext,
  openVault,
  passphrase,
  show,
} from './fixture.ts'

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('irreversible actions lead through a new sign-in and back, without losing anything', async (t) => {
    deriveInFull(t)
    const { origin, dataDir } = await demo()
    const page = await (await openContext(t, browser, {}, /status of 403/)).newPage()
    let code = await enterVault(page, origin, 'Mary')
    const dialog = page.getByRole('dialog')
    let current = passphrase

    /** Makes the sign-in an hour old. */
    const growOld = () => {
      const database = new Sqlite(join(dataDir, 'bookmarks.db'), { timeout: 10_000 })
      database.exec('update logins set created_at = created_at - 3600000')
      database.close()
    }
    const signInAgain = async () => {
      const again = dialog.getByRole('button', { name: 'Sign in again' })
      await again.waitFor()
      t.equal(await dialog.getByRole('textbox').count(), 0, 'the dialog asks before anything is typed')
      await again.click()
      await answerProvider(page, 'Mary')
      await page.waitForURL(`${origin}/**`)
    }
    /** Confirms the shown recovery code and returns it. It opens the vault faster than the passphrase. */
    const onPaper = async () => {
      const shown = await dialog.locator('#recovery-code').textContent()
      await dialog.getByRole('button', { name: 'I have saved it' }).click()
      return shown ?? ''
    }
    const choose = async (next: string) => {
      await dialog.getByLabel('New passphrase').fill(next)
      await dialog.getByLabel('Repeat the passphrase').fill(next)
    }

    // All such actions lead through one dialog. Quick runs change the keys and delete the account.
    await deep(t, 'changing the passphrase first asks for a new sign-in', async () => {
      growOld()
      await show(page, 'security')
      await page.getByRole('button', { name: 'Change the passphrase' }).click()
      await signInAgain()
      await dialog.getByLabel('Passphrase or recovery code').fill(current)
      current = 'another correct horse'
      await choose(current)
      await dialog.getByRole('button', { name: 'Change it' }).click()
      await page.getByText('The passphrase was changed').waitFor()
      await page.waitForURL(`${origin}/#/security`)
      await live(page)
    })

    await deep(t, 'a sign-in that becomes too old during a dialog leads to a new one', async () => {
      await page.getByRole('button', { name: 'New recovery code' }).click()
      await dialog.getByLabel('Passphrase or recovery code').fill(code)
      await dialog.getByRole('button', { name: 'Continue' }).click()
      await dialog.locator('#recovery-code').waitFor()
      growOld()
      await dialog.getByRole('button', { name: 'I have saved it' }).click()
      await dialog.getByText('keep the previous ones until you are done').waitFor()
      await signInAgain()
      await dialog.getByLabel('Passphrase or recovery code').fill(code)
      await dialog.getByRole('button', { name: 'Continue' }).click()
      code = await onPaper()
      await page.getByText('The new recovery code is valid').waitFor()
    })

    await deep(t, 'a keyring that a faulty program replaced is repaired where the vault is open', async () => {
      await putJunk(page)
      await page.getByRole('button', { name: 'Change the passphrase' }).click()
      await dialog.getByLabel('Passphrase or recovery code').fill(code)
      await choose('does not matter now')
      await dialog.getByRole('button', { name: 'Change it' }).click()
      growOld()
      await dialog.getByRole('button', { name: 'Repair the vault…' }).click()
      await signInAgain()
      current = 'a repaired correct horse'
      await choose(current)
      await dialog.getByRole('button', { name: 'Continue' }).click()
      await dialog.getByRole('button', { name: 'I have saved it' }).click()
      await page.getByText('The vault is repaired').waitFor()
    })

    await deep(t, 'a repair is refused if another device has changed the keys', async () => {
      await putJunk(page, strangeKeys)
      await putJunk(page)
      await show(page, 'security/repair')
      await choose('does not matter now')
      await dialog.getByRole('button', { name: 'Continue' }).click()
      await dialog.getByText('Repair the vault on the device where you changed them').waitFor()
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await show(page, 'security')
      await page.getByRole('button', { name: 'Earlier passphrases…' }).click()
      await dialog.getByText('this one opens less').first().waitFor()
      await dialog
        .getByRole('listitem')
        .filter({ hasText: 'this one opens less' })
        .first()
        .getByRole('button', { name: /^Restore version/ })
        .click()
      await page.getByText('of that time are valid again').waitFor()
    })

    await deep(t, 'an earlier passphrase can be restored at the unlock screen', async () => {
      await putJunk(page)
      await lock(page)
      growOld()
      await page.getByText('My passphrase used to work').click()
      await page.getByRole('button', { name: 'Earlier passphrases…' }).click()
      await signInAgain()
      await dialog
        .getByRole('button', { name: /^Restore version/ })
        .first()
        .click()
      await page.getByText('of that time are valid again').waitFor()
      await openVault(page, current)
    })

    await deep(t, 'after junk replaced the keyring, the page asks for another device, or makes new keys', async () => {
      await putJunk(page, strangeKeys)
      await page.evaluate(async (encrypted_data) => {
        const body = JSON.stringify({ id: 'strange', encrypted_data, data_hash: 'h' })
        await fetch('/api/v1/bookmarks', { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      }, strangeRecord)
      await page.getByRole('heading', { name: 'Open your bookmarks' }).waitFor()
      await page.evaluate(() => fetch('/api/v1/account/keyring/versions', { method: 'DELETE' }))
      await page.reload()
      growOld()
      await page.getByText('My passphrase used to work').click()
      await page.getByRole('button', { name: 'Repair the vault…' }).click()
      await signInAgain()
      current = 'a correct horse repaired again'
      await dialog.getByText('Repair the vault on the device where you changed them').waitFor()
      await choose(current)
      await dialog.getByRole('button', { name: 'Create new keys' }).click()
      await dialog.getByRole('button', { name: 'I have saved it' }).click()
      await live(page)
    })

    await deep(t, 'signing out everywhere else leads through a new sign-in, and back to the question', async (t) => {
      for (const [name, meaning] of [
        ['Where you are signed in', 'Every other browser and program'],
        ['Lost a device?', 'The lost device gets nothing new'],
      ] as const) {
        const other = openBrowser(callsTo(origin))
        await other.signIn('Mary')
        growOld()
        await show(page, 'account')
        await page.getByRole('region', { name }).getByRole('button', { name: 'Sign out all others…' }).click()
        await signInAgain()
        await dialog.getByText(meaning).waitFor()
        await dialog.getByRole('button', { name: 'Sign out all others' }).click()
        await page.getByText('Signed out everywhere else').waitFor()
        t.equal((await other.call('GET', '/api/v1/auth/session')).status, 401)
      }
    })

    await t.test('changing the keys leads through a new sign-in, and erases earlier keyrings on a retry', async (t) => {
      growOld()
      await show(page, 'account')
      await page.getByRole('button', { name: 'Change the keys…' }).click()
      await signInAgain()
      await dialog.getByLabel('Passphrase or recovery code').fill(current)
      await choose(current)
      t.same(await faultsIn(page, 'change-keys'), [])
      await dialog.getByRole('button', { name: 'Continue' }).click()
      await page.route('**/keyring/versions', (route) => route.abort())
      await dialog.getByRole('button', { name: 'I have saved it' }).click()
      await page.getByText('The service did not answer').waitFor()
      await page.unroute('**/keyring/versions')
      await dialog.getByRole('button', { name: 'Continue' }).click()
      await page.getByText('The keys are changed.').waitFor()
      await show(page, 'security')
      await page.getByRole('button', { name: 'Earlier passphrases…' }).click()
      await dialog.getByText('There are none').waitFor()
      await dialog.getByRole('button', { name: 'Close' }).last().click()
    })

    await deep(t, 'emptying the trash leads through a new sign-in', async () => {
      await page.evaluate(async () => {
        const body = JSON.stringify({ id: 'junk', encrypted_data: 'x', data_hash: 'h' })
        const headers = { 'content-type': 'application/json' }
        await fetch('/api/v1/bookmarks', { method: 'POST', headers, body })
        await fetch('/api/v1/bookmarks/junk', { method: 'DELETE' })
      })
      growOld()
      await show(page, 'trash')
      await page.getByRole('button', { name: 'Empty the trash…' }).click()
      await signInAgain()
      await dialog.getByRole('button', { name: 'Erase everything' }).click()
      await page.getByText('1 erased for good').waitFor()
    })

    await t.test('deleting the account leads through a new sign-in', async (t) => {
      growOld()
      await show(page, 'account')
      await page.getByRole('button', { name: 'Delete my account…' }).click()
      await signInAgain()
      await dialog.getByLabel('Type “delete” to confirm').fill('delete')
      t.same(await faultsIn(page, 'delete-account'), [])
      await dialog.getByRole('button', { name: 'Delete everything' }).click()
      await page.getByText('Your account is deleted.').waitFor()
      t.same(await faultsIn(page, 'deleted'), [])
    })
  })

  t.test('a sign-in without a fresh authentication is renewed before anything is typed or printed', async (t) => {
    const mock = await startMock(t)
    let askedSecondsAgo = 3600
    mock.alter.idToken = (claims) => {
      claims.auth_time = Number(claims.iat) - askedSecondsAgo
    }
    const { clientId, clientSecret } = relyingParty
    const { origin } = await startService(t, await folder(t), {
      SERVE_APP: 'true',
      ...{ OIDC_ISSUER: mock.issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret },
    })
    const context = await openContext(t, browser)
    // The device's clock is three days ahead, which must not matter.
    await context.addInitScript(() => {
      const { now } = Date
      Date.now = () => now() + 3 * 86_400_000
    })
    const page = await context.newPage()
    await page.goto(origin)
    await page.getByRole('button', { name: 'Sign in' }).click()
    const firstCode = await makeVault(page)
    const dialog = page.getByRole('dialog')
    const again = dialog.getByRole('button', { name: 'Sign in again' })

    await show(page, 'security')
    await page.getByRole('button', { name: 'New recovery code' }).click()
    await again.waitFor()
    t.equal(await dialog.getByRole('textbox').count(), 0, 'no field to type into')
    // The provider authenticated 400 s ago, so that too little time is left to print a code.
    askedSecondsAgo = 400
    await again.click()
    await page.waitForURL(`${origin}/#/security/code`)
    await live(page)
    await again.waitFor()
    askedSecondsAgo = 0
    await again.click()
    await dialog.getByLabel('Passphrase or recovery code').fill(firstCode)
    await dialog.getByRole('button', { name: 'Continue' }).click()
    const code = await dialog.locator('#recovery-code').textContent()
    t.not(code, firstCode)
    await dialog.getByRole('button', { name: 'I have saved it' }).click()
    await page.getByText('The new recovery code is valid').waitFor()
  })
}

/** A keyring that claims that the keys were replaced by one that no device has. The record below names that key. */
const strangeId = Buffer.from('strange!')
const strangeKeys = JSON.stringify({
  ...JSON.parse(keyringOf('of a faulty program')),
  ...{ format: 'ebs/keyring/2', key_id: strangeId.toString('base64') },
  older: { kdf: 'hkdf-sha256', nonce: base64Of(24), wrapped_keys: base64Of(48) },
})
const strangeRecord = Buffer.concat([Buffer.of(2), strangeId, Buffer.alloc(64)]).toString('base64')

function base64Of(length: number): string {
  return Buffer.alloc(length).toString('base64')
}

async function putJunk(page: Page, text = keyringOf('of a faulty program')): Promise<void> {
  await page.evaluate(async (keyring) => {
    const path = '/api/v1/account/keyring'
    const { revision } = await (await fetch(path)).json()
    const body = JSON.stringify({ keyring, revision: revision + 1 })
    await fetch(path, { method: 'PUT', headers: { 'content-type': 'application/json' }, body })
  }, text)
}

async function lock(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Mary, This browser' }).click()
  await page.getByRole('menuitem', { name: 'Lock' }).click()
  await page.getByRole('heading', { name: 'Open your bookmarks' }).waitFor()
}
