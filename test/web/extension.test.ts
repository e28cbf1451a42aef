import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import type { Sync } from '../../src/client/index.ts'
import { isDeep } from '../support/depth.ts'
import { folder, type Service, startService } from '../support/service.ts'
import { startWithExtensions } from './extension/chromium.ts'
import { openDevice } from './extension/elsewhere.ts'
import type { Question, WorkerState } from './extension/messages.ts'
import type { ExtensionPlatform } from './extension/platform.ts'
import { type ExtensionKey, makeExtensionKey, writeExtension } from './extension/unpacked.ts'
import { developmentProvider, openChromium, passphrase } from './fixture.ts'

declare const chrome: ExtensionPlatform

/** Chromium stops an extension's worker that has had nothing to do for 30 s; the service pings every 20 s. */
const pastIdleMs = 45_000

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test(
    'an extension signs in, pushes, refreshes, and goes on where it was when its worker was stopped',
    async (t) => {
      const key = makeExtensionKey()
      const { service, chromium } = await install(t, { 'in-step': key })

      await chromium.watch(async (context) => {
        const page = await context.newPage()
        await page.goto(`${key.origin}/page.html`)
        await signIn(page, 'Ada')
        await put(page, 'pushed')
        t.equal(refreshesOf(service), 0)
        await context.addCookies([{ name: 'service_session', value: 'over', url: service.origin }])
        await put(page, 'pushed after a refresh')
        t.equal(refreshesOf(service), 1, 'one refresh')
        const elsewhere = await openDevice(service, 'Ada')
        t.same(titlesOf(elsewhere), ['pushed', 'pushed after a refresh'], 'another device has both')

        const { life } = await ask(page, { ask: 'state' })
        await stopWorkers(page)
        await chromium.workerStopped(key.origin)
        await elsewhere.put({ id: 'c', title: 'meanwhile', source: 'bookmarks' })
        await elsewhere.syncNow()
        const started = await untilShown(page, 'meanwhile')
        t.not(started.life, life, 'the browser started a worker anew')
        await elsewhere.put({ id: 'd', title: 'live', source: 'bookmarks' })
        await elsewhere.syncNow()
        const { sockets, titles } = await untilShown(page, 'live')
        t.same(titles.sort(), ['live', 'meanwhile', 'pushed', 'pushed after a refresh'])
        const messages = sockets.map((types) => types.filter((type) => type !== 'ping'))
        t.same(messages, [['connected', 'sync']], 'which has one socket, by which the change came')
      })
    },
  )

  // Nothing but waiting shows when Chromium stops a worker by itself.
  if (isDeep)
    t.test('an extension holds its socket for longer than a worker may idle', async (t) => {
      const [key, idleKey] = [makeExtensionKey(), makeExtensionKey()]
      const { service, chromium } = await install(t, { 'in-step': key, idle: idleKey })

      const before = await chromium.watch(async (context) => {
        const page = await context.newPage()
        await page.goto(`${key.origin}/page.html`)
        await signIn(page, 'Ada')
        await put(page, 'pushed')
        const states = await askBoth(context, key, idleKey)
        await page.close()
        return states
      })
      t.equal(before.idle.status, null)

      const elsewhere = await openDevice(service, 'Ada')
      await sleep(pastIdleMs)
      await chromium.workerStopped(idleKey.origin)
      await elsewhere.put({ id: 'c', title: 'from elsewhere', source: 'bookmarks' })
      await elsewhere.syncNow()

      const after = await chromium.watch(async (context) => {
        for (;;) {
          const states = await askBoth(context, key, idleKey)
          if (states.inStep.titles.includes('from elsewhere')) return states
        }
      })
      t.not(after.idle.life, before.idle.life, 'a worker without a socket was stopped meanwhile')
      t.equal(after.inStep.life, before.inStep.life, 'the worker with the socket was not')
      t.match(after.inStep.status, { state: 'online' })
      const [socket, ...others] = after.inStep.sockets
      t.same(others, [], 'it has had one socket')
      const [greeting, ...messages] = socket ?? []
      t.equal(greeting, 'connected')
      t.ok(messages.filter((type) => type === 'ping').length >= 2, 'which the service kept alive')
      t.equal(messages.filter((type) => type === 'sync').length, 1, 'and by which the change came')
    })
}

/** At the development provider, which leads back to the extension's page; there, a new passphrase. */
async function signIn(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(/\/sign-in\//)
  await page.locator('input:not([type=hidden])').first().fill(name)
  await page.keyboard.press('Enter')
  await page.getByLabel('Passphrase').fill(passphrase)
  await page.keyboard.press('Enter')
  await page.getByText('In step').waitFor()
}

/** Resolves once the worker is connected and has sent it. */
async function put(page: Page, title: string): Promise<void> {
  await ask(page, { ask: 'put', bookmark: { id: title.replaceAll(' ', '-'), title, source: 'bookmarks' } })
  await untilShown(page, title)
}

/** The worker's state once it is connected, has nothing to send, and has this bookmark. */
async function untilShown(page: Page, title: string): Promise<WorkerState> {
  for (;;) {
    const state = await ask(page, { ask: 'state' })
    const { status, titles } = state
    if (status?.state === 'online' && status.waiting === 0 && titles.includes(title)) return state
    await page.waitForTimeout(50)
  }
}

/** As when the browser needs the memory; the next message starts the worker again. */
async function stopWorkers(page: Page): Promise<void> {
  const debugging = await page.context().newCDPSession(page)
  await debugging.send('ServiceWorker.enable')
  await debugging.send('ServiceWorker.stopAllWorkers')
  await debugging.detach()
}

function ask(page: Page, question: Question): Promise<WorkerState> {
  return page.evaluate((question) => chrome.runtime.sendMessage(question), question)
}

async function askBoth(context: BrowserContext, key: ExtensionKey, idleKey: ExtensionKey) {
  const page = await context.newPage()
  await page.goto(`${key.origin}/page.html`)
  const inStep = await ask(page, { ask: 'state' })
  await page.goto(`${idleKey.origin}/page.html`)
  const idle = await ask(page, { ask: 'state' })
  await page.close()
  return { inStep, idle }
}

function titlesOf(sync: Sync): string[] {
  return [...sync.bookmarks().values()].map(({ title }) => title).sort()
}

/** Those that went well: before the sign-in there is nothing to refresh. */
function refreshesOf({ stdout }: Service): number {
  return stdout().split('"route":"/api/v1/auth/refresh","status":200').length - 1
}

/** A Chromium with these extensions, by the name of their folders, and the service that they use. */
async function install(t: Test, extensions: Record<string, ExtensionKey>) {
  const provider = await developmentProvider()
  const service = await startService(t, await folder(t), {
    ...provider,
    CORS_ORIGIN: `${Object.values(extensions).map(({ origin }) => origin)}`,
    LOG_LEVEL: 'info',
  })
  const origins = { service: service.origin, provider: `http://127.0.0.1:${provider.DEV_IDP_PORT}` }
  const unpacked = await folder(t)
  const folders: string[] = []
  for (const [name, key] of Object.entries(extensions)) {
    folders.push(await writeExtension(join(unpacked, name), key, origins))
  }
  return { service, chromium: await startWithExtensions(t, folders) }
}
