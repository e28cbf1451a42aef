/** The guide's app with all three types: in Chromium, on its IndexedDB, and in Node. */
import { build } from 'esbuild'
import type { Page } from 'playwright-core'
import t from 'tap'
import { createClient, createSync, historyId, memoryStore, openVault, type Sync } from '../../src/client/index.ts'
import { fetchWith } from '../client/connection.ts'
import { readSamples, withPackage } from '../client/package-samples.ts'
import { isDeep } from '../support/depth.ts'
import { until } from '../support/until.ts'
import { demoOrigin, enterVault, openChromium, openContext } from './fixture.ts'

interface App {
  open(userId: string, recoveryCode: string): Promise<void>
  addVisit(url: string, title: string): Promise<void>
  lines: string[]
}
declare const app: App

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('The guide’s app of three types syncs Chromium with Node', { skip: !isDeep && 'with --deep' }, async (t) => {
    const origin = await demoOrigin()
    // The policy of the service's pages would block the guide's code.
    const context = await openContext(t, browser, { bypassCSP: true })
    const page = await context.newPage()
    const recoveryCode = await enterVault(page, origin, 'Types')
    const jar = Object.fromEntries((await context.cookies()).map(({ name, value }) => [name, value]))
    const client = createClient({ baseUrl: origin, deviceId: 'node', fetch: (request) => fetchWith(jar, request) })
    const { data } = await client.GET('/api/v1/auth/session')
    const userId = data?.user?.user_id ?? ''
    const { keys } = await openVault(client, { userId, recoveryCode })
    const types = ['bookmark', 'group', 'history'] as const
    const node = createSync({ client, keys, userId, deviceId: 'node', store: memoryStore(), types })
    t.teardown(() => node.stop())
    await node.put({ id: 'b', title: 'One', url: 'https://one.example/', source: 'bookmarks' })
    await node.groups.put([
      { id: 'g', title: 'Work', source: 'groups', color: 'blue' },
      { id: 't', title: 'A tab', url: 'https://a.example/', source: 'groups', parentId: 'g' },
    ])
    await visit(node, historyId(keys, 'https://b.example/'))
    await node.syncNow()

    await openApp(page, origin)
    await page.evaluate(([user, code]) => app.open(user, code), [userId, recoveryCode] as const)
    await shows(page, ['bookmark One', 'blue group Work: 1 tabs', 'A page, visited 1 times'])
    await page.evaluate(() => app.addVisit('https://b.example/', 'A page'))
    await shows(page, ['A page, visited 2 times'])
    await until(async () => {
      await node.syncNow()
      return node.history.get(historyId(keys, 'https://b.example/'))?.visitCount === 2
    })
    await node.groups.update('g', { color: 'red' })
    await node.syncNow()
    await shows(page, ['bookmark One', 'red group Work: 1 tabs', 'A page, visited 2 times'])
  })
}

async function visit(sync: Sync, id: string): Promise<void> {
  const at = '2026-01-01T12:00:00.000Z'
  const visited = { dateAdded: at, dateVisited: at, visits: [at], visitCount: 1 }
  await sync.history.put({ id, title: 'A page', url: 'https://b.example/', source: 'history', ...visited })
}

async function shows(page: Page, wanted: string[]): Promise<void> {
  await page.waitForFunction((wanted) => wanted.every((line) => app.lines.includes(line)), wanted)
}

/** Runs the guide's sample in a page of the service's origin. */
async function openApp(page: Page, origin: string): Promise<void> {
  const sample = (await readSamples()).find(([file]) => file === 'types.ts')?.[1]
  const more = `
    import { createClient, openVault, indexedDbStore } from 'encrypted-bookmark-sync-client'
    export let lines: string[] = []
    let opened: { sync: Sync; keys: Keys }
    export async function open(userId: string, recoveryCode: string) {
      const deviceId = 'chromium'
      const client = createClient({ baseUrl: location.origin, deviceId })
      const { keys } = await openVault(client, { userId, recoveryCode })
      const sync = await openAll({ client, keys, userId, deviceId, store: indexedDbStore(userId + '-types') }, (now) => (lines = now))
      opened = { sync, keys }
    }
    const visit = (url: string, title: string) => addVisit(opened.sync, opened.keys, url, title)
    export { visit as addVisit }`
  const contents = `${sample?.replace('export async function addVisit', 'async function addVisit')}${more}`
  const { outputFiles } = await build({
    ...withPackage,
    stdin: { contents, loader: 'ts', resolveDir: import.meta.dirname },
    ...{ bundle: true, format: 'iife', globalName: 'app', write: false },
  })
  await page.goto(`${origin}/api/v1/health`)
  await page.addScriptTag({ content: outputFiles[0]?.text ?? '' })
}
