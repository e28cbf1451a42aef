import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import t from 'tap'
import type { SyncStatus } from '../../src/client/index.ts'
import { describe, describeDeletes, describeRefused, describeUnsent } from '../../src/extension/app/describe.ts'
import type { BrowserSyncState } from '../../src/extension/index.ts'
import { i18nOf } from '../extension/texts.ts'

Object.assign(globalThis, { chrome: { i18n: i18nOf('en') } })

t.test('The worker of the example listens to the events that start it as soon as it runs', async (t) => {
  const listened: string[] = []
  /** An extension API that never responds. */
  const api = (path: string[]): unknown =>
    new Proxy(() => {}, {
      get: (_target, name) => api([...path, String(name)]),
      apply() {
        if (path.at(-1) === 'addListener') listened.push(path.slice(0, -1).join('.'))
        return path.at(-1) === 'getURL' ? '' : new Promise(() => {})
      },
    })
  new Function('chrome', await bundled())(api([]))
  t.same(listened.toSorted(), [
    ...['alarms.onAlarm', 'alarms.onAlarm'],
    ...['onChanged', 'onChildrenReordered', 'onCreated', 'onImportBegan', 'onImportEnded', 'onMoved', 'onRemoved'].map(
      (event) => `bookmarks.${event}`,
    ),
    ...['history.onVisitRemoved', 'history.onVisited'],
    ...['onInputChanged', 'onInputEntered', 'onInputStarted'].map((event) => `omnibox.${event}`),
    ...['permissions.onAdded', 'permissions.onRemoved'],
    ...['onInstalled', 'onMessage', 'onStartup', 'onSuspend'].map((event) => `runtime.${event}`),
    ...['onCreated', 'onRemoved', 'onUpdated'].map((event) => `tabGroups.${event}`),
    ...['onAttached', 'onCreated', 'onMoved', 'onRemoved', 'onReplaced', 'onUpdated'].map((event) => `tabs.${event}`),
  ])
})

t.test('The popup of the example counts bookmarks, and names the first three', async (t) => {
  t.equal(describeDeletes(['a'], 'browser'), 'Deleted in this browser (1): a')
  t.equal(describeDeletes(['a', 'b', 'c', 'd'], 'devices'), 'Deleted on another device (4): a, b, c, …')
  t.equal(
    describeUnsent(2, 'refused'),
    'Some bookmarks do not reach the server (2): too large, or a firewall stops them',
  )
  t.equal(describeUnsent(1, 'quota'), 'The server does not accept some bookmarks (1): your storage is full')
})

t.test('The popup never says “In step” while something waits to be sent, nor “Offline” before it tried', async (t) => {
  const headline = (sync: Partial<SyncStatus>, browser: BrowserSyncState = 'in-step') =>
    describe({
      ...{ setup: 'ready', isPaused: false, refused: [], conflicts: [], leftOut: [], roots: [] },
      ...{ browser: { state: browser }, sync: { state: 'online', lastSync: 1, waiting: 0, ...sync } },
    }).headline
  t.equal(headline({}), 'In step')
  for (const state of ['online', 'polling'] as const)
    t.equal(headline({ state, waiting: 61 }), 'Not everything is sent yet')
  t.equal(headline({ waiting: 4, quarantined: 4 }), 'In step', 'refused edits are shown below')
  t.equal(headline({ waiting: 5, quarantined: 4 }), 'Not everything is sent yet')
  t.equal(headline({ state: 'offline', lastSync: 0 }, 'waiting'), 'Connecting')
  t.equal(headline({ state: 'offline', reason: 'network' }), 'Offline')
  t.equal(headline({ state: 'offline', reason: 'service' }), 'Your server has a problem')
  t.equal(headline({ state: 'offline', reason: 'limited' }), 'Your server is busy')
  t.equal(headline({ state: 'offline', reason: 'outdated' }), 'This extension is out of date')
})

t.test('The popup of the example counts all bookmarks of the first sync, and the sent ones', async (t) => {
  const { headline, progress } = describe({
    ...{ setup: 'ready', isPaused: false, refused: [], conflicts: [], leftOut: [], roots: [] },
    browser: { state: 'comparing', progress: { done: 1500, total: 5000 } },
    sync: { state: 'syncing', progress: { done: 500, total: 1000 }, lastSync: 1, waiting: 700 },
  })
  t.same([headline.replace(/\D+/g, ' ').trim(), progress], ['800 5 000', { done: 800, total: 5000 }])
})

t.test("A browser's error with an address of 70,000 letters does not push the buttons out of the popup", async (t) => {
  const title = '🦊'.repeat(20_000)
  const message = `Invalid bookmark: ${'a'.repeat(70_000)}`
  const text = describeRefused({ id: 'x', title, by: 'browser', message })
  t.match(text, /^This browser does not accept “(🦊){120}…”: Invalid bookmark: a+…$/u)
  t.ok(text.length < 500)
  t.ok(describeDeletes(Array(4).fill(title), 'browser').length < 1000)
})

async function bundled(): Promise<string> {
  const entry = fileURLToPath(new URL('../../src/extension/app/worker.ts', import.meta.url))
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: 'iife', write: false })
  return outputFiles[0]?.text ?? ''
}
