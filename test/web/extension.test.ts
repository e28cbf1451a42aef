/** The client package in a browser extension: the example, in Chromium. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { deriveInFull } from '../../scripts/test/argon2id.ts'
import { buildForTests } from '../../scripts/test/build.ts'
import type { Sync } from '../../src/client/index.ts'
import { deep } from '../support/depth.ts'
import { folder, type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { bar, Installed, origin } from './extension/installed.ts'
import { beginSetUp, endSetUp, openDevice } from './extension/set-up.ts'
import { developmentProvider, openChromium, passphrase, signInWithoutPage } from './fixture.ts'

/** Chromium stops an extension's worker that has had nothing to do for 30 s; the service pings every 20 s. */
const pastIdleMs = 45_000

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  await buildForTests('extension')

  t.test('an extension in Chromium', async (t) => {
    deriveInFull(t)
    const service = await startService(t, await folder(t), { ...(await developmentProvider()), LOG_LEVEL: 'info' })
    const installed = await Installed.start(t)

    await t.test('a set-up ends if another user takes over its session, and creates no vault for them', async (t) => {
      const { page } = installed
      await beginSetUp(installed, service, 'Ann')
      await page.getByLabel('Passphrase', { exact: true }).fill(passphrase)
      await page.getByLabel('Repeat the passphrase').fill(passphrase)
      await page.getByRole('button', { name: 'Create the vault' }).click()
      await page.getByRole('checkbox').check()
      await signInWithoutPage(page.context(), service.origin, 'Bob')
      await page.getByRole('alert').getByText('The step was not completed').waitFor()
      await page.getByText(/You are signed in as bob/i).waitFor()
      t.equal(await page.locator('#recovery code').textContent(), '', 'no recovery code is shown')
      const session = await page.context().request.get(`${service.origin}/api/v1/auth/session`)
      t.match(await session.json(), { user: { name: 'Bob' }, has_keyring: false })
    })

    await endSetUp(installed)
    const elsewhere = await openDevice(service, 'Bob')
    await t.test('the extension signs in, pushes, refreshes, and goes on after its worker was stopped', async (t) => {
      await add(installed, 'pushed')
      await has(elsewhere, 'pushed')
      const before = refreshesOf(service)
      await installed.page.context().addCookies([{ name: 'service_session', value: 'over', url: service.origin }])
      await add(installed, 'pushed after a refresh')
      await has(elsewhere, 'pushed', 'pushed after a refresh')
      t.equal(refreshesOf(service), before + 1, 'one refresh was enough to send both')

      const { life } = await installed.worker()
      await installed.stopWorker()
      await put(elsewhere, 'meanwhile')
      // Wait until the browser has started a new worker. A worker that is just stopping does not answer.
      await until(() =>
        installed.worker().then(
          (restarted) => restarted.life !== life,
          () => false,
        ),
      )
      await shows(installed, 'meanwhile')
      await put(elsewhere, 'live')
      await shows(installed, 'live', 'meanwhile', 'pushed', 'pushed after a refresh')
      const { sockets } = await installed.worker()
      const messages = sockets.map((types) => types.filter((type) => type !== 'ping'))
      // There is one more message if the socket was open before the worker had pulled the earlier change.
      const [[greeting, ...changes] = [], ...others] = messages
      t.same([greeting, others], ['connected', []], 'the new worker has one socket')
      t.match(changes.join(), /^sync(,sync)?$/, 'the change came over the socket')
    })

    // The test must wait to see when Chromium stops a worker.
    await deep(t, 'a worker keeps its socket for longer than a worker may be idle', async (t) => {
      const idle = await Installed.start(t)
      await installed.stopWorker()
      const [before, idleBefore] = [await installed.worker(), await idle.worker()]
      await installed.unwatched(() =>
        idle.unwatched(async () => {
          await sleep(pastIdleMs)
          await until(async () => (await idle.chromium.workers(origin)) === 0)
          await put(elsewhere, 'from elsewhere')
        }),
      )
      await shows(installed, 'from elsewhere')

      t.not((await idle.worker()).life, idleBefore.life, 'a worker without a socket was stopped meanwhile')
      const { life, sockets } = await installed.worker()
      t.equal(life, before.life, 'the worker with the socket was not')
      t.match((await installed.ask({ ask: 'state' })).state?.sync, { state: 'online' })
      const [[greeting, ...messages] = [], ...others] = sockets
      t.same(others, [], 'the worker had one socket')
      t.equal(greeting, 'connected')
      t.ok(messages.filter((type) => type === 'ping').length >= 2, "the service's pings kept it alive")
      t.equal(messages.filter((type) => type === 'sync').length, 1, 'the change came over it')
    })
  })
}

async function add(installed: Installed, title: string): Promise<void> {
  await installed.call('create', { parentId: bar, title, url: 'https://example.org/' })
}

async function put(elsewhere: Sync, title: string): Promise<void> {
  await elsewhere.put({ id: title.replaceAll(' ', '-'), title, url: 'https://example.org/', source: 'bookmarks' })
  await elsewhere.syncNow()
}

/** Waits until the device has these bookmarks. */
async function has(elsewhere: Sync, ...titles: string[]): Promise<void> {
  await until(async () => {
    await elsewhere.syncNow()
    const known = [...elsewhere.bookmarks().values()].map(({ title }) => title)
    return titles.every((title) => known.includes(title))
  })
}

/** Waits until the browser has these bookmarks. */
async function shows(installed: Installed, ...titles: string[]): Promise<void> {
  await until(async () => {
    const known = (await installed.roots()).flatMap(({ children = [] }) => children.map(({ title }) => title))
    return titles.every((title) => known.includes(title))
  })
}

/** The number of successful refreshes that the service has logged. */
function refreshesOf({ stdout }: Service): number {
  return stdout().split('"route":"/api/v1/auth/refresh","status":200').length - 1
}
