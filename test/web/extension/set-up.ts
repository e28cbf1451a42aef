import type { Page } from 'playwright-core'
import {
  type Client,
  createClient,
  createSync,
  memoryStore,
  openVault,
  rotateKeys,
  type Sync,
  unwrap,
} from '../../../src/client/index.ts'
import { openBrowser } from '../../support/browser.ts'
import type { Service } from '../../support/service.ts'
import { callsTo } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { passphrase } from '../fixture.ts'
import type { Installed } from './installed.ts'

declare const chrome: {
  action: { getBadgeText(details: object): Promise<string> }
  storage: { local: { get(): Promise<object> } }
}

/** Sets up on the first-run page. @param aboutCopies the answer to the question about copies, if it is asked */
export async function setUp(
  installed: Pick<Installed, 'page' | 'open'>,
  service: Service,
  name: string,
  aboutCopies?: string,
): Promise<void> {
  await beginSetUp(installed, service, name)
  await endSetUp(installed, aboutCopies)
}

/** Sets the extension up as far as the vault. */
export async function beginSetUp(
  installed: Pick<Installed, 'page' | 'open'>,
  { origin: server }: Service,
  name: string,
): Promise<void> {
  const { page } = installed
  await installed.open()
  await page.getByLabel('Address of your server').fill(server)
  await page.getByRole('button', { name: 'Continue' }).click()
  await signIn(installed, name)
}

/** Opens the vault, or creates it. */
export async function endSetUp({ page }: Pick<Installed, 'page'>, aboutCopies?: string): Promise<void> {
  await page.locator('form:is(#unlock, #create):not([hidden])').waitFor()
  const again = page.getByLabel('Repeat the passphrase')
  if (!(await again.isVisible())) return unlock(page, aboutCopies)
  const first = page.getByLabel('Passphrase', { exact: true })
  await first.fill('password1')
  await page.getByText('Passphrase strength: Too easy to guess. This is a commonly used').waitFor()
  await again.fill('password1')
  await page.getByRole('button', { name: 'Create the vault' }).click()
  await page.getByRole('alert').getByText('too easy to guess').waitFor()
  await first.fill(passphrase)
  await page.getByText('Passphrase strength: Good.', { exact: true }).waitFor()
  await again.fill(passphrase)
  await page.getByRole('button', { name: 'Create the vault' }).click()
  await page.getByRole('checkbox').check()
  await page.getByRole('button', { name: 'Start' }).click()
  await page.getByText('In step').waitFor()
}

/** Signs in again after the session has ended, and opens the existing vault. */
export async function signInAgain(installed: Installed, name: string): Promise<void> {
  await installed.open()
  await signIn(installed, name)
  await installed.page.getByText('In step').waitFor()
}

/** Opens the vault after the keys were replaced, through the badge and the popup that report it. */
export async function unlockAgain(installed: Installed): Promise<void> {
  await installed.inTab('popup', async (popup) => {
    const hasBadge = async () => (await popup.evaluate(() => chrome.action.getBadgeText({}))) !== ''
    await popup.getByText('Your keys were replaced on another device').waitFor()
    await until(hasBadge)
    const opened = popup.context().waitForEvent('page')
    await popup.getByRole('button', { name: 'Open the vault' }).click()
    const page = await opened
    await unlock(page)
    await page.close()
    await popup.getByText('In step').waitFor()
    await until(async () => !(await hasBadge()))
  })
}

/** Ends this device's session, as the user of another device does. */
export async function endSession(installed: Installed, { origin: server }: Service): Promise<void> {
  await installed.page.evaluate(
    (url) => fetch(url, { method: 'POST', credentials: 'include' }),
    `${server}/api/v1/auth/logout`,
  )
}

/** Presses “Sign out and forget” on the settings page. */
export async function forget(installed: Installed): Promise<void> {
  await installed.inTab('options', async (page) => {
    await page.getByRole('button', { name: 'Sign out and forget' }).click()
    await page.getByText('Not set up yet').waitFor()
  })
}

/** Checks that databases and local storage have only the keys' database, if any, and the time of the sign-out. */
export async function nothingIsLeft({ page }: Installed): Promise<void> {
  const left = await page.evaluate(async () => [
    ...(await indexedDB.databases()).map(({ name }) => name).filter((name) => name !== 'encrypted-bookmark-sync-keys'),
    ...Object.keys(await chrome.storage.local.get()).filter((name) => name !== 'signedOutAt'),
  ])
  if (left.length > 0) throw new Error(`Something is left: ${left}`)
}

export async function sessionStatus({ page }: Installed, { origin: server }: Service): Promise<number> {
  return page.evaluate(
    (url) => fetch(url, { credentials: 'include' }).then(({ status }) => status),
    `${server}/api/v1/auth/session`,
  )
}

export async function unlock(page: Page, aboutCopies?: string): Promise<void> {
  await page.getByLabel('Passphrase or recovery code').fill(passphrase)
  await page.getByRole('button', { name: 'Open the vault' }).click()
  if (aboutCopies) await page.getByRole('button', { name: aboutCopies }).click()
  await page.getByText('In step').waitFor()
}

/** Signs in on the first-run page. */
export async function signIn({ page }: Pick<Installed, 'page'>, name: string): Promise<void> {
  const opened = page.context().waitForEvent('page')
  await page.getByRole('button', { name: 'Sign in' }).click()
  const tab = await opened
  const field = tab.locator('input:not([type=hidden])').first()
  // A provider that knows the person does not ask again, and the extension closes the tab.
  await field.fill(name).then(
    () => tab.keyboard.press('Enter'),
    () => {},
  )
}

/** A device of the same person, in this process. */
export async function openDevice(service: Service, name: string): Promise<Sync> {
  return (await openAccount(service, name)).sync
}

/** A device in this process, with actions that its user would do on the service's page. */
export interface Account {
  sync: Sync
  /** Replaces the keys as after the loss of another device. The passphrase stays. */
  replaceKeys(): Promise<void>
}

export async function openAccount(service: Service, name: string): Promise<Account> {
  const { client, userId } = await signInElsewhere(service, name)
  const { keys } = await openVault(client, { userId, passphrase })
  const sync = createSync({ client, keys, userId, deviceId: 'elsewhere', store: memoryStore() })
  await sync.syncNow()
  // Replacing keys needs a sign-in of the last 10 minutes, and earlier scenarios may have taken longer.
  const signInAgain = async () => (await signInElsewhere(service, name)).client
  return {
    sync,
    async replaceKeys() {
      const { keys } = await (await rotateKeys(await signInAgain(), { userId, passphrase }, passphrase)).confirm()
      await sync.adoptKeys(keys)
    },
  }
}

async function signInElsewhere({ origin }: Service, name: string): Promise<{ client: Client; userId: string }> {
  const browser = openBrowser(callsTo(origin))
  await browser.signIn(name)
  const { service_session: session } = browser.cookies()
  const withCookie = (request: Request) => {
    request.headers.set('cookie', `service_session=${session}`)
    return fetch(request)
  }
  const client = createClient({ baseUrl: origin, deviceId: 'elsewhere', fetch: withCookie })
  const { user_id: userId } = unwrap(await client.GET('/api/v1/auth/session')).user
  return { client, userId }
}
