/** Two people share a browser: a page opened by one must not act in the account of the other. */
import type { BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { deriveInFull } from '../../scripts/test/argon2id.ts'
import { openBrowser, type Browser as Person } from '../support/browser.ts'
import { deep, isDeep } from '../support/depth.ts'
import { keyringOf } from '../support/keyrings.ts'
import { callsTo } from '../support/service.ts'
import { until } from '../support/until.ts'
import {
  addBookmark,
  answerProvider,
  demoOrigin,
  enter,
  enterVault,
  live,
  openChromium,
  openContext,
  passphrase,
  show,
  signIn,
  signInWithoutPage,
  startVault,
} from './fixture.ts'

/** The browser logs refused requests, which are expected here. */
const refusals = /status of (401|403|409)/

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  const origin = await demoOrigin()
  let people = 0
  /** Ann's page in her browser, and Bob's account. */
  const meet = async (t: Test) => {
    const names = { ann: `Ann ${++people}`, bob: `Bob ${people}` }
    const bob = await furnished(origin, names.bob)
    const context = await openContext(t, browser, {}, refusals)
    return { ...names, account: bob, context, page: await context.newPage() }
  }

  t.test('each confirmation dialog closes once another user has signed in', async (t) => {
    const { ann, bob, account, context, page } = await meet(t)
    const code = await enterVault(page, origin, ann)
    await addBookmark(page, 'Kept')
    await addBookmark(page, 'Deleted')
    // The trash has only bookmarks that were sent to the service.
    await live(page)
    await page.getByRole('button', { name: 'More for Deleted' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await live(page)
    const before = await contentOf(account)
    const unnamed = unnamedOf(page)
    const dialog = page.getByRole('dialog')
    const press = (name: string) => dialog.getByRole('button', { name, exact: true }).click()
    const press1 = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
    const fill = async (values: Record<string, string>) => {
      for (const [label, value] of Object.entries(values)) await dialog.getByLabel(label).fill(value)
    }
    const chosen = { 'New passphrase': 'another horse battery', 'Repeat the passphrase': 'another horse battery' }
    const shown = () => dialog.locator('#recovery-code').waitFor()
    const ready = (name: string) => dialog.getByRole('button', { name, exact: true }).waitFor()

    /** All dialogs close the same way, so the quick run tries one with a recovery code and one opened from a menu. */
    const kinds = ['security/code', 'trash']
    /** By address, the steps in each dialog before the other person signs in. */
    const dialogs: Record<string, () => Promise<unknown>> = {
      'security/passphrase': () => fill({ 'Passphrase or recovery code': code, ...chosen }),
      'security/code': async () => {
        await fill({ 'Passphrase or recovery code': code })
        await press('Continue')
        await shown()
      },
      'security/keyrings': () => dialog.getByText('There are none').waitFor(),
      'security/repair': async () => {
        await fill(chosen)
        await press('Continue')
        await shown()
      },
      'account/keys': async () => {
        await fill({ 'Passphrase or recovery code': code, ...chosen })
        await press('Continue')
        await shown()
      },
      'account/others': () => ready('Sign out all others'),
      'account/delete': () => dialog.getByLabel('Type “delete” to confirm').fill('delete'),
      'trash/empty': () => ready('Erase everything'),
      trash: async () => {
        await press1('More for Deleted')
        await page.getByRole('menuitem', { name: 'Erase now…' }).click()
        await ready('Erase for good')
      },
      settings: async () => {
        await press1('Create a backup')
        await press1(/^Delete: /)
        await ready('Delete the backup')
      },
      'account#phone': async () => {
        await press1('Pair a phone…')
        await dialog.getByRole('img').waitFor()
      },
      'folder#move': async () => {
        await press1('More for Kept')
        await page.getByRole('menuitem', { name: 'Move to…' }).click()
        await dialog.waitFor()
      },
    }
    const played = Object.entries(dialogs).filter(([address]) => isDeep || kinds.includes(address))
    for (const [address, open] of played) {
      await show(page, address.split('#')[0] ?? '')
      await open()
      const hasCode = (await dialog.locator('#recovery-code').count()) > 0
      const sent = writesOf(page)
      // Offline, so that no call of the page runs between the end of her session and the start of his.
      await context.setOffline(true)
      await signInWithoutPage(context, origin, bob)
      await context.setOffline(false)
      await page.getByRole('heading', { name: 'Somebody else has signed in' }).waitFor()
      await page.getByText('The open dialog was closed').waitFor()
      if (hasCode) await page.getByText('The recovery code that was shown is not valid').waitFor()
      t.equal(await dialog.count(), 0, `${address}: the dialog is closed`)
      t.same(sent, [], 'the dialog has confirmed nothing')
      await signInWithoutPage(context, origin, ann)
      await page.goto(`${origin}/api/v1/auth/session`)
      await page.goto(origin)
      await live(page)
    }
    t.equal(await contentOf(account), before, "the other user's account is unchanged")
    t.same(unnamed, [], 'each call of the page named her as its user')
  })

  // client/another-session.test.ts does this without a page, as with all functions that write.
  deep(t, 'a change of keys does not reach another user’s account, and the page reports what was done', async (t) => {
    const { ann, bob, account, context, page } = await meet(t)
    const code = await enterVault(page, origin, ann)
    const before = await contentOf(account)
    const dialog = page.getByRole('dialog')
    const begin = async (secret: string) => {
      await show(page, 'account/keys')
      await dialog.getByLabel('Passphrase or recovery code').fill(secret)
      for (const label of ['New passphrase', 'Repeat the passphrase']) await dialog.getByLabel(label).fill(passphrase)
      await dialog.getByRole('button', { name: 'Continue' }).click()
      await dialog.locator('#recovery-code').waitFor()
    }
    await begin(code)
    // She confirms before the page has noticed that he signed in.
    await page.route('**/api/v1/account/keyring', async (route) => {
      await signInWithoutPage(context, origin, bob)
      await route.continue({ headers: { ...route.request().headers(), cookie: await cookiesOf(context, origin) } })
    })
    await dialog.getByRole('button', { name: 'I have saved it' }).click()
    await page.getByRole('heading', { name: 'Somebody else has signed in' }).waitFor()
    await page.getByText('The recovery code that was shown is not valid').waitFor()
    t.equal(await contentOf(account), before, "the other user's keyrings and export key are unchanged")
    await page.unroute('**/api/v1/account/keyring')

    await signInWithoutPage(context, origin, ann)
    await page.getByRole('button', { name: `Continue as ${bob}` }).click()
    await live(page)
    await begin(code)
    await page.route('**/keyring/versions', async (route) => {
      await signInWithoutPage(context, origin, bob)
      await route.continue({ headers: { ...route.request().headers(), cookie: await cookiesOf(context, origin) } })
    })
    await dialog.getByRole('button', { name: 'I have saved it' }).click()
    await page.getByRole('heading', { name: 'Somebody else has signed in' }).waitFor()
    await page.getByText('The new keys are in use').waitFor()
    t.equal(await contentOf(account), before, 'his earlier keyrings are not erased')
  })

  t.test('a vault being created is not created for another user who signs in', async (t) => {
    for (const learnsBy of ['its own call', ...(isDeep ? ['another tab'] : [])]) {
      const { ann, bob, account, context, page } = await meet(t)
      await account.call('DELETE', '/api/v1/account')
      await enter(page, origin, ann)
      await startVault(page)
      if (learnsBy === 'another tab') {
        const tab = await context.newPage()
        await tab.goto(origin)
        await tab.getByRole('button', { name: 'Sign out' }).click()
        await tab.getByRole('button', { name: 'Sign in' }).waitFor()
        await page.getByText('Your sign-in has ended').waitFor()
        await signIn(tab, origin, bob)
        await tab.getByLabel('New passphrase').waitFor()
      } else {
        await signInWithoutPage(context, origin, bob)
        await page.getByRole('button', { name: 'I have saved it' }).click()
        await page.getByText(`${bob} has signed in to this browser`).waitFor()
      }
      await page.getByText('The recovery code that was shown is not valid').waitFor()
      t.equal(await page.locator('#recovery-code').count(), 0)
      const session = await context.request.get(`${origin}/api/v1/auth/session`)
      t.match(await session.json(), { user: { name: bob }, has_keyring: false }, learnsBy)
    }
  })

  deep(t, 'a passphrase at the unlock screen opens nothing of another user, who can go on from there', async (t) => {
    deriveInFull(t)
    const { ann, bob, context, page } = await meet(t)
    await enterVault(page, origin, ann)
    await page.getByRole('button', { name: `${ann}, This browser` }).click()
    await page.getByRole('menuitem', { name: 'Lock' }).click()
    await page.getByLabel('Passphrase or recovery code').fill(passphrase)
    await signInWithoutPage(context, origin, bob)
    await page.getByRole('button', { name: 'Open', exact: true }).click()
    await page.getByText(`${bob} has signed in to this browser`).waitFor()
    await page.getByRole('button', { name: `Continue as ${bob}` }).click()
    await page.getByText(`You are signed in as ${bob}.`).waitFor()
    t.equal(await page.getByLabel('Passphrase or recovery code').inputValue(), '')
  })

  // undo-and-drafts.test.ts finds that a stored draft is unreadable, and gone after a sign-out.
  deep(t, "a form's draft comes back only for the person who typed it", async (t) => {
    const { ann, bob, context, page } = await meet(t)
    await enterVault(page, origin, ann)
    await page.getByRole('button', { name: 'Add bookmark' }).click()
    await page.getByRole('textbox', { name: 'Title' }).fill('Her secret plan')
    await page.getByRole('textbox', { name: 'Address' }).fill('https://plan.example/')
    await signInWithoutPage(context, origin, bob)
    await page.getByText('Your entries are kept in this tab').waitFor()
    const kept = await page.evaluate(() => JSON.stringify(sessionStorage) + JSON.stringify(localStorage))
    t.notMatch(kept, /secret plan|plan\.example/)
    await page.getByRole('button', { name: `Continue as ${bob}` }).click()
    await page.getByText(`You are signed in as ${bob}.`).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await answerProvider(page, `${bob}, new`)
    await startVault(page)
    await page.getByRole('button', { name: 'I have saved it' }).click()
    await live(page)
    t.equal(await page.getByRole('dialog').count(), 0, 'he does not see her draft')
    await signInWithoutPage(context, origin, ann)
    await page.getByRole('button', { name: `Continue as ${ann}` }).click()
    await live(page)
    const dialog = page.getByRole('dialog', { name: 'New bookmark' })
    t.equal(await dialog.getByLabel('Title').inputValue(), 'Her secret plan')
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('link', { name: 'Her secret plan' }).waitFor()
  })

  t.test('an offline sign-out that is sent later does not end another person’s session', async (t) => {
    const { ann, bob, context, page } = await meet(t)
    await enterVault(page, origin, ann)
    await page.route('**/api/v1/auth/logout', (route) => route.abort())
    await page.getByRole('button', { name: `${ann}, This browser` }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await page.unroute('**/api/v1/auth/logout')
    await signInWithoutPage(context, origin, bob)
    await page.reload()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await until(() => page.evaluate(() => localStorage.getItem('signed-in-user') === null))
    t.equal((await context.request.get(`${origin}/api/v1/auth/session`)).status(), 200)
  })

  // The last quick test shows that no view of the previous user is left.
  deep(t, 'signing in again as another user does not lead to the previous user’s view', async (t) => {
    const { ann, bob, page } = await meet(t)
    await enterVault(page, origin, ann)
    await show(page, 'search/her%20words')
    await page.evaluate(() => fetch('/api/v1/auth/logout', { method: 'POST' }))
    await page.getByText('Your sign-in has ended').waitFor()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await answerProvider(page, bob)
    await page.getByText('You are now signed in with a different account').waitFor()
    t.notMatch(page.url(), 'words')
  })

  deep(t, 'an offline sign-out ends the session before the next sign-in begins', async (t) => {
    const { ann, context, page } = await meet(t)
    const session = async () => (await context.request.get(`${origin}/api/v1/auth/session`)).status()
    const signOut = async (name: string) => {
      await enterVault(page, origin, name)
      await page.route('**/api/v1/auth/logout', (route) => route.abort())
      await page.getByRole('button', { name: `${name}, This browser` }).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).click()
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
    }
    await signOut(ann)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('The service did not answer').waitFor()
    t.equal(page.url(), `${origin}/`, 'the page does not go to the provider while the session lasts')
    await page.unroute('**/api/v1/auth/logout')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(/\/sign-in\//)
    t.equal(await session(), 401)
    await page.goBack()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()

    await signOut(`${ann} too`)
    await page.unroute('**/api/v1/auth/logout')
    t.equal(await session(), 200)
    await page.evaluate(() => dispatchEvent(new Event('online')))
    await until(() => page.evaluate(() => localStorage.getItem('signed-in-user') === null))
    t.equal(await session(), 401)
  })

  t.test('going back in a tab shows one person’s searches to nobody else', async (t) => {
    const back = async (page: Page) => {
      await page.goBack()
      await page.waitForFunction(() => !location.hash.includes('words'))
    }
    const meetSearching = async () => {
      const met = await meet(t)
      await enterVault(met.page, origin, met.ann)
      await met.page.getByRole('searchbox').fill('her words')
      await met.page.waitForURL(/her%20words/)
      return met
    }

    const swapped = await meetSearching()
    await show(swapped.page, 'trash')
    await swapped.page.goBack()
    t.match(swapped.page.url(), /her%20words/, 'she herself can go back to them')
    await swapped.page.goForward()
    await signInWithoutPage(swapped.context, origin, swapped.bob)
    await swapped.page.getByRole('button', { name: `Continue as ${swapped.bob}` }).click()
    await swapped.page.getByText(`You are signed in as ${swapped.bob}.`).waitFor()
    await back(swapped.page)
    // An earlier test covers this without a reload.
    if (!isDeep) return

    const reloaded = await meetSearching()
    await signInWithoutPage(reloaded.context, origin, reloaded.bob)
    await reloaded.page.getByRole('button', { name: `Continue as ${reloaded.bob}` }).waitFor()
    await reloaded.page.reload()
    await reloaded.page.getByText('You are now signed in with a different account').waitFor()
    t.notMatch(reloaded.page.url(), 'words')

    const out = await meetSearching()
    await live(out.page)
    await out.page.getByRole('button', { name: `${out.ann}, This browser` }).click()
    await out.page.getByRole('menuitem', { name: 'Sign out' }).click()
    await out.page.getByRole('button', { name: 'Sign in' }).waitFor()
    await back(out.page)
    await out.page.getByRole('button', { name: 'Sign in' }).waitFor()

    const ended = await meetSearching()
    await ended.page.evaluate(() => fetch('/api/v1/auth/logout', { method: 'POST' }))
    await ended.page.getByText('Your sign-in has ended').waitFor()
    await ended.page.reload()
    await ended.page.getByRole('button', { name: 'Sign in' }).click()
    await answerProvider(ended.page, ended.bob)
    await ended.page.getByText('You are now signed in with a different account').waitFor()
    t.notMatch(ended.page.url(), 'words')
  })

  deep(t, 'one person’s “Before I last went back” is not offered to another', async (t) => {
    const { ann, bob, context, page } = await meet(t)
    await enterVault(page, origin, ann)
    await show(page, 'go-back')
    await page.getByRole('button', { name: 'An hour ago' }).click()
    await page.getByRole('region', { name: 'What would change' }).waitFor()
    const note = () =>
      page.evaluate(() => {
        const { user_id } = JSON.parse(localStorage.getItem('signed-in-user') ?? '')
        localStorage.setItem('before-going-back', JSON.stringify([user_id, Date.now()]))
      })
    await note()
    await page.reload()
    await page.getByRole('button', { name: 'Before I last went back' }).waitFor()
    await signInWithoutPage(context, origin, `${bob}, new`)
    await enterVault(page, origin, `${bob}, new`)
    await show(page, 'go-back')
    await page.getByRole('button', { name: 'An hour ago' }).waitFor()
    t.equal(await page.getByRole('button', { name: 'Before I last went back' }).count(), 0)
  })

  deep(t, 'messages that name a bookmark are gone when the next person signs in', async (t) => {
    const { ann, bob, context, page } = await meet(t)
    await enterVault(page, origin, ann)
    await addBookmark(page, 'Secret plan')
    await page.getByRole('button', { name: 'More for Secret plan' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await live(page)
    await show(page, 'trash')
    await page.getByRole('button', { name: 'More for Secret plan' }).click()
    await page.getByRole('menuitem', { name: 'Erase now…' }).click()
    const deletion = await holdDeletion(page, '**/api/v1/trash/*')
    await page.getByRole('dialog').getByRole('button', { name: 'Erase for good' }).click()
    await deletion.done
    await signInWithoutPage(context, origin, bob)
    await page.getByRole('heading', { name: 'Somebody else has signed in' }).waitFor()
    deletion.answer()
    await page.getByText('1 erased for good').waitFor()
    t.equal(await page.getByText('Secret plan').count(), 0)
  })

  deep(t, "a late answer to an account's deletion is shown, and does not affect the next person", async (t) => {
    const { ann, bob, context, page } = await meet(t)
    await enterVault(page, origin, ann)
    await page.getByRole('button', { name: `${ann}, This browser` }).click()
    await page.getByRole('menuitem', { name: 'Lock' }).click()
    await page.getByText('I have lost both').click()
    await page.getByRole('button', { name: 'Delete my account…' }).click()
    const deletion = await holdDeletion(page, '**/api/v1/account')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Type “delete” to confirm').fill('delete')
    await dialog.getByRole('button', { name: 'Delete everything' }).click()
    await deletion.done
    const tab = await context.newPage()
    await signIn(tab, origin, bob)
    await tab.getByText(`You are signed in as ${bob}.`).waitFor()
    const stored = () => tab.evaluate(() => JSON.stringify(Object.entries(localStorage).sort()))
    const before = await stored()
    deletion.answer()
    await page.getByText('Your account is deleted').waitFor()
    await page.waitForTimeout(1000)
    t.equal(await page.getByText('Your account is deleted').count(), 1, 'the message stays')
    t.equal(await stored(), before)
    t.match(before, bob)
  })
}

/** Lets a DELETE reach the service, but holds its response until `answer` is called. */
async function holdDeletion(page: Page, url: string): Promise<{ done: Promise<void>; answer(): void }> {
  const [done, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await page.route(url, async (route) => {
    if (route.request().method() !== 'DELETE') return route.continue()
    const response = await route.fetch()
    done.resolve()
    await answered.promise
    await route.fulfill({ response })
  })
  return { done: done.promise, answer: answered.resolve }
}

/** A person whose account has what the dialogs could change, so that a change can be seen. */
async function furnished(origin: string, name: string): Promise<Person> {
  const person = openBrowser(callsTo(origin))
  await person.signIn(name)
  for (const revision of [1, 2]) {
    await person.call('PUT', '/api/v1/account/keyring', { body: { keyring: keyringOf(`${revision}`), revision } })
  }
  await person.call('PUT', '/api/v1/account/export-key', { body: { key: Buffer.alloc(32, 7).toString('base64') } })
  const content = { encrypted_data: 'data-of-bob', data_hash: 'hash-of-bob' }
  for (const id of ['live', 'gone']) await person.call('POST', '/api/v1/bookmarks', { body: { id, ...content } })
  await person.call('DELETE', '/api/v1/bookmarks/gone')
  return person
}

/** What another person's dialog could have changed in this account. Without a session, the responses are 401. */
async function contentOf({ call }: Person): Promise<string> {
  const paths = ['account/keyring', 'account/keyring/versions', 'account/export-key', 'bookmarks', 'trash', 'exports']
  const answers = await Promise.all(paths.map((path) => call('GET', `/api/v1/${path}`)))
  return answers.map(({ status, raw }) => `${status} ${raw}`).join('\n')
}

async function cookiesOf(context: BrowserContext, origin: string): Promise<string> {
  const cookies = await context.cookies(`${origin}/api/v1/auth/session`)
  return cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
}

/** Collects API requests of the page from now on that do not name its user, except those of a sign-in or session. */
function unnamedOf(page: Page): string[] {
  const unnamed: string[] = []
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (!pathname.startsWith('/api/') || /\/auth\/(login|session|refresh)$/.test(pathname)) return
    if (!request.headers()['x-user-id']) unnamed.push(`${request.method()} ${pathname}`)
  })
  return unnamed
}

/** Collects the page's requests from now on that change something, except for syncs, sign-ins and pairings. */
function writesOf(page: Page): string[] {
  const writes: string[] = []
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (request.method() !== 'GET' && !/\/(sync|auth|pairings)\//.test(pathname)) writes.push(pathname)
  })
  return writes
}
