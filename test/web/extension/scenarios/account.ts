import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { until } from '../../../support/until.ts'
import { exactly, inAnyOrder, link, scenario } from '../scenario.ts'
import {
  endSession,
  forget,
  nothingIsLeft,
  sessionStatus,
  setUp,
  signIn,
  signInAgain,
  unlock,
  unlockAgain,
} from '../set-up.ts'

export const account = [
  scenario('during a pause nothing is synced, and afterwards everything is', async ({ one, two }) => {
    await one.browser.press('Pause')
    await two.add('during the pause')
    await one.add('paused')
    await one.browser.reads('Paused')
    await one.browser.inTab('options', async (page) => {
      await page.getByText('Resume the sync to change').waitFor()
      if (await page.getByRole('heading', { name: 'Folders that stay out' }).isVisible())
        throw new Error('A folder seems to stay out')
    })
    if ((await one.titles()).length > 1) throw new Error('It is not paused')
    await one.browser.press('Resume')
    return inAnyOrder('during the pause', 'paused')
  }),
  scenario('a folder is excluded in one browser, and included again', async ({ one, two, folder, same }) => {
    await one.add('shared')
    await same(exactly('shared'))
    await one.browser.inTab('options', (page) => page.getByLabel(folder, { exact: true }).check())
    await until(async () => ((await one.browser.ask({ ask: 'state' })).state?.leftOut ?? []).length === 1)
    await one.add('only here')
    await two.add('only there')
    await two.retitle('shared', 'renamed')
    await one.browser.ask({ ask: 'sync-now' })
    if ((await one.titles()).join() !== 'shared,only here') throw new Error('It has not stayed out')
    if ((await two.titles()).join() !== 'renamed,only there') throw new Error('What stays out has come')
    await two.retitle('renamed', 'shared')
    await until(async () => (await two.browser.ask({ ask: 'state' })).state?.sync?.waiting === 0)
    await one.browser.inTab('options', (page) => page.getByLabel(folder, { exact: true }).uncheck())
    return inAnyOrder('shared', 'only here', 'only there')
  }),
  scenario('after a sign-out elsewhere, edits wait for the next sign-in', async ({ one, two, service }) => {
    await endSession(one.browser, service())
    await one.add('signed out')
    await two.add('meanwhile')
    await one.browser.reads('You are signed out')
    await signInAgain(one.browser, 'Ada')
    return inAnyOrder('signed out', 'meanwhile')
  }),
  scenario('keys replaced elsewhere: browsers ask, then send waiting edits', async ({ one, two, elsewhere }) => {
    await elsewhere.replaceKeys()
    await one.add('old keys')
    await unlockAgain(one.browser)
    await two.add('older keys')
    await unlockAgain(two.browser)
    return inAnyOrder('old keys', 'older keys')
  }),
  scenario('after a restore by the operator, lost changes are sent again', async ({ one, two, same, operator }) => {
    await one.add('old')
    await same(exactly('old'))
    const backup = await operator.backUp()
    await one.add('new')
    await two.retitle('old', 'changed')
    await same(exactly(`changed ${link('old')}`, 'new'))
    await operator.restore(backup)
    return exactly(`changed ${link('old')}`, 'new')
  }),
  scenario('if two pages start the worker at once, it has one sync', async ({ one }) => {
    const locks = await one.browser.startTimes(10)
    if (locks.pending !== 0) throw new Error(`${locks.pending} more syncs wait`)
    await one.addMany(['a', 'b', 'c'])
    return exactly('a', 'b', 'c')
  }),
  scenario('if another user signs in, the bookmarks are not sent to that account', async ({ one, service }) => {
    await endSession(one.browser, service())
    await one.browser.open()
    await signIn(one.browser, 'Bob')
    await one.browser.page.getByText('you have signed in as somebody else').waitFor()
    await one.add('waits')
    await one.browser.reads('You are signed out')
    await endSession(one.browser, service())
    await signInAgain(one.browser, 'Ada')
    return exactly('waits')
  }),
  scenario('a wrong account can be left before a vault is created', async ({ one, same, service }) => {
    await one.add('a')
    await same(exactly('a'))
    await forget(one.browser)
    const { page } = one.browser
    await one.browser.open()
    await page.getByLabel('Address of your server').fill(service().origin)
    await page.getByRole('button', { name: 'Continue' }).click()
    await signIn(one.browser, 'Cyd')
    await page.getByText('You are signed in as').filter({ hasText: /cyd/i }).waitFor()
    await page.reload()
    await page.getByText('Choose a passphrase').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await signIn(one.browser, 'Ada')
    await page.getByText('You are signed in as').filter({ hasText: /ada/i }).waitFor()
    await unlock(page)
    if (await page.getByText('You are signed in as').isVisible()) throw new Error('The account was only half left')
    return exactly('a')
  }),
  scenario('after a pause and a sign-out, nothing is left, and the session has ended', async (world) => {
    const { one, same, service } = world
    await one.add('a')
    await same(exactly('a'))
    await one.browser.press('Pause')
    await forget(one.browser)
    await nothingIsLeft(one.browser)
    if ((await sessionStatus(one.browser, service())) !== 401) throw new Error('The session goes on')
    await setUp(one.browser, service(), 'Ada')
    return exactly('a')
  }),
  scenario('a new set-up after a folder was renamed elsewhere merges possible copies', async (world) => {
    const { one, two, same, service } = world
    const titles = ['a', 'b', 'c']
    await one.addFolder('Recipes')
    await one.addMany(titles, { into: 'Recipes' })
    await same(exactly('Recipes/', ...titles.map((title) => `  ${title}`)))
    await forget(one.browser)
    await two.retitle('Recipes', 'Rezepte')
    await until(async () => (await two.browser.ask({ ask: 'state' })).state?.sync?.waiting === 0)
    await setUp(one.browser, service(), 'Ada', 'Make them one')
    return exactly('Rezepte/', ...titles.map((title) => `  ${title}`))
  }),
  scenario('after the server has moved, its address is changed, and waiting edits are sent', async (world) => {
    const { one, same, service, moved } = world
    await one.add('a')
    await same(exactly('a'))
    const enter = (address: string, work: (page: Page) => Promise<unknown>) =>
      one.browser.inTab('start', async (page) => {
        await page.goto(`${page.url()}#server`)
        await page.reload()
        await page.getByLabel('Address of your server').fill(address)
        await page.getByRole('button', { name: 'Continue' }).click()
        await work(page)
      })
    const isInStep = (page: Page) => page.getByText('In step').waitFor()
    await moved(async (origin) => {
      await one.add('waited')
      await one.browser.reads('Offline')
      await enter(origin, isInStep)
      const { state } = await one.browser.ask({ ask: 'state' })
      if (state?.sync?.waiting !== 0) throw new Error('It was not sent')
    })
    const { origin: home } = service()
    const pathTo = (origin: string) => (path: string) => [308, origin + path] as const
    const other = await answering(() => [404])
    await enter(other.origin, (page) => page.getByText('it is not a server for these bookmarks').waitFor())
    const away = await answering(pathTo('http://localhost:9'))
    // The extension has no permission for that host.
    await enter(away.origin, (page) => page.getByText('redirects to an address that').waitFor())
    // The old address redirects to the new one.
    const old = await answering(pathTo(home))
    await enter(old.origin, async (page) => {
      await page.getByText('redirects to 127.0.0.1').waitFor()
      await page.getByRole('button', { name: 'Continue' }).click()
      await isInStep(page)
    })
    for (const { close } of [other, away, old]) close()
    return exactly('a', 'waited')
  }),
  scenario(
    'signing out works without the service, and a wrong address can be corrected',
    async ({ one, same, service, withoutService }) => {
      await one.add('a')
      await same(exactly('a'))
      await withoutService(async () => {
        await one.browser.inTab('options', async (page) => {
          await page.getByRole('button', { name: 'Sign out and forget' }).click()
          await page.getByText('Everything is deleted here, but your server did not respond').waitFor()
          await page.getByText('Not set up yet').waitFor()
        })
        await nothingIsLeft(one.browser)
        const { page } = one.browser
        await one.browser.open()
        await page.getByLabel('Address of your server').fill('http://192.168.1.7:3000')
        await page.getByRole('button', { name: 'Continue' }).click()
        await page.getByText('The address must begin with https://').waitFor()
        await page.getByLabel('Address of your server').fill('two words')
        await page.getByRole('button', { name: 'Continue' }).click()
        await page.getByText('The address must begin with https://').waitFor()
        await page.getByLabel('Address of your server').fill('http://127.0.0.1:9')
        await page.getByRole('button', { name: 'Continue' }).click()
        await page.getByText('127.0.0.1:9 does not answer as it should').waitFor()
        await page.reload()
        await page.getByText('127.0.0.1:9 does not answer as it should').waitFor()
        if ((await page.getByLabel('Address of your server').inputValue()) !== 'http://127.0.0.1:9')
          throw new Error('The address is not there to be put right')
      })
      await endSession(one.browser, service())
      await setUp(one.browser, service(), 'Ada')
      return exactly('a')
    },
  ),
]

/** A server that is not the service: it answers each path with a status, and a redirect if there is one. */
async function answering(answer: (path: string) => readonly [status: number, location?: string]) {
  const server = createServer(({ url = '' }, response) => {
    const [status, location] = answer(url)
    response.writeHead(status, location === undefined ? {} : { location }).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() }
}
