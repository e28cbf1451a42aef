import t, { type Test } from 'tap'
import { ProviderUnavailableError } from '../../src/service/provider/provider.ts'
import { openBrowser } from '../support/browser.ts'
import { buildWithMock } from '../support/mock-service.ts'

const refresh = '/api/v1/auth/refresh'
const [minute, hour] = [60_000, 3_600_000]

/** A person's request, made at that time, that asks the provider and gets no response until it is released. */
async function askingAt(t: Test, time: number) {
  const service = await buildWithMock(t)
  const browser = openBrowser(service.call)
  await browser.signIn('Ada')
  const { provider } = service.context
  const { refresh: ask } = provider
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let asked = 0
  provider.refresh = async (...args) => {
    asked += 1
    if (asked > 1) return ask(...args)
    reached.resolve()
    await released.promise
    throw new ProviderUnavailableError('it never answered')
  }
  service.setClock(time)
  const first = browser.call('POST', refresh)
  await reached.promise
  return {
    ...service,
    browser,
    asked: () => asked,
    async release() {
      released.resolve()
      await first
    },
  }
}

t.test('An instance whose clock is an hour ahead does not ask while another one asks', async (t) => {
  const { browser, setClock, asked, release } = await askingAt(t, Date.now() + 2 * minute)
  setClock(Date.now() + hour)
  t.equal((await browser.call('POST', refresh)).status, 200, 'it issues a session token without asking')
  t.equal(asked(), 1)
  await release()
})

t.test('The lease of an instance that died with its clock an hour ahead holds off the others for 30 s', async (t) => {
  const before = Date.now()
  const { browser, context, setClock, asked, release } = await askingAt(t, before + hour)
  setClock(Date.now() + 2 * minute)
  const { db, now } = context.database
  const { asking_until } = await db.selectFrom('logins').select('asking_until').executeTakeFirstOrThrow()
  t.ok(asking_until >= before + 30_000 && asking_until <= Date.now() + 30_000, 'by the clock of the database')
  await browser.call('POST', refresh)
  t.equal(asked(), 1, 'not before')
  await db.updateTable('logins').set({ asking_until: now }).execute()
  t.equal((await browser.call('POST', refresh)).status, 200)
  t.equal(asked(), 2, 'then another asks')
  await release()
})
