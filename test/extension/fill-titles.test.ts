/** The bookmarks whose titles the example extension fills in. Its requests to sites are tested in a browser. */
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { PlaintextBookmark } from '../../src/client/index.ts'
import type { Question } from '../../src/extension/app/platform.ts'
import { until } from '../support/until.ts'
import { addToChrome } from './chrome.ts'
import { type Device, settle, twoDevices } from './device.ts'
import { i18nOf } from './texts.ts'

/** The titles of the pages of sites, by address. */
let answers: Record<string, string> = {}
let asked: string[] = []
let isAllowed = true
let session = {}
/** Runs while a site is asked. */
let meanwhile = async () => {}
const chrome = {
  i18n: i18nOf('en'),
  permissions: { contains: async () => isAllowed },
  offscreen: { createDocument: async () => {}, closeDocument: async () => {} },
  storage: {
    session: { get: async () => session, set: async (values: object) => void Object.assign(session, values) },
  },
  runtime: {
    async sendMessage(question: Question & { ask: 'title' }) {
      asked.push(question.url)
      await meanwhile()
      return { title: answers[question.url] }
    },
  },
}
addToChrome(chrome)
const { fillTitles } = await import('../../src/extension/app/fill-titles.ts')

/** A clock whose pauses end immediately. */
const clock = { now: () => Date.now(), sleep: async () => void (await turn()) }
const page = 'https://www.example.org/article'
const saved = (more: Partial<PlaintextBookmark> = {}): PlaintextBookmark => ({
  ...{ id: 'saved', url: page, title: 'example.org', source: 'bookmarks', dateAdded: new Date().toISOString() },
  ...more,
})

/** The web page, as a device, and a browser whose user wants missing titles filled in. */
async function open(t: Test): Promise<{ web: Device; browser: Device; stop: () => void }> {
  answers = { [page]: 'An article' }
  asked = []
  isAllowed = true
  session = {}
  meanwhile = async () => {}
  const [web, browser] = await twoDevices()
  const ended = new AbortController()
  t.teardown(() => ended.abort())
  await settle(web, browser)
  fillTitles(browser.sync, ended.signal, clock)
  return { web, browser, stop: () => ended.abort() }
}

async function save({ sync }: Device, ...bookmarks: PlaintextBookmark[]): Promise<void> {
  await sync.put(bookmarks)
  await sync.syncNow()
}

/** The title of the bookmark `saved` in the browser, after it has received everything and asked the sites. */
async function titleIn(browser: Device): Promise<string | undefined> {
  await browser.sync.syncNow()
  for (let count = 0; count < 200; count++) await turn()
  return browser.sync.get('saved')?.title
}

t.test('A bookmark without a title gets the title of its page, on all devices', async (t) => {
  const { web, browser } = await open(t)
  await save(web, saved())
  t.equal(await titleIn(browser), 'An article')
  await settle(web, browser)
  t.equal(web.sync.get('saved')?.title, 'An article')
  t.ok(
    [...browser.model.nodes.values()].some(({ title }) => title === 'An article'),
    'also in the browser itself',
  )
  t.same(asked, [page])
})

const day = 86_400_000
for (const [why, bookmark] of [
  ['it has a title', saved({ title: 'My words' })],
  ['it has none on purpose', saved({ title: '' })],
  ['it was saved days ago', saved({ dateAdded: new Date(Date.now() - 2 * day).toISOString() })],
  ['nobody knows when it was saved', (({ dateAdded: _, ...rest }) => rest)(saved())],
  ['it is no page', saved({ url: 'ftp://example.org/', title: 'example.org' })],
  ['it is a star', saved({ source: 'stars' })],
] as const) {
  t.test(`No site is asked if ${why}`, async (t) => {
    const { web, browser } = await open(t)
    await save(web, bookmark)
    t.equal(await titleIn(browser), bookmark.title)
    t.same(asked, [])
  })
}

t.test('A bookmark saved in this browser keeps the title that its user has seen', async (t) => {
  const { browser } = await open(t)
  await save(browser, saved())
  t.equal(await titleIn(browser), 'example.org')
  t.same(asked, [])
})

t.test('A title or address that a person types meanwhile stays', async (t) => {
  for (const edit of [{ title: 'My words' }, { url: 'https://other.example/', title: 'other.example' }]) {
    const { web, browser } = await open(t)
    meanwhile = async () => {
      meanwhile = async () => {}
      await web.sync.update('saved', edit)
      await settle(web, browser)
    }
    await save(web, saved())
    await browser.sync.syncNow()
    await until(() => asked.length > 0 && browser.sync.get('saved')?.title === edit.title)
    t.equal(await titleIn(browser), edit.title)
    t.same(browser.sync.conflicts(), [])
  }
})

t.test('A site is asked only once until the browser is restarted, even if it does not answer', async (t) => {
  const { web, browser } = await open(t)
  answers = {}
  await save(web, saved())
  t.equal(await titleIn(browser), 'example.org')
  await web.sync.update('saved', { description: 'mine' })
  await web.sync.syncNow()
  await titleIn(browser)
  t.same(asked, [page])
  session = {}
  await web.sync.update('saved', { description: 'mine again' })
  await web.sync.syncNow()
  await titleIn(browser)
  t.same(asked, [page, page])
})

t.test('No site is asked without the permission, or after the device was stopped', async (t) => {
  const { web, browser, stop } = await open(t)
  isAllowed = false
  await save(web, saved())
  await titleIn(browser)
  isAllowed = true
  stop()
  await save(web, saved({ id: 'another' }))
  await titleIn(browser)
  t.same(asked, [])
})
