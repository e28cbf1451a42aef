import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { Answer, GroupAct, Platform, Question } from '../../../src/extension/app/platform.ts'
import type { SavedGroup } from '../../../src/extension/groups/tab-groups.ts'
import { until } from '../../support/until.ts'

declare const chrome: Platform & { tabGroups: NonNullable<Platform['tabGroups']> }

/** A browser with the extension, whose user has turned tab groups on. */
export interface GroupsBrowser {
  /** Runs code in a page of the extension. */
  evaluate<T, Value>(work: (value: Value) => T, value: Value): Promise<Awaited<T>>
  ask(question: Question): Promise<Answer>
}

/** Starts a site of pages with titles. Returns its address. */
export async function startSite(t: Test): Promise<string> {
  const server = createServer(({ url }, response) => {
    response.setHeader('content-type', 'text/html').end(`<title>Page ${url?.slice(1)}</title>`)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A tab group of the browser, with the addresses and titles of its tabs. */
interface Shown {
  title: string
  color: string
  tabs: string[]
}

function shownIn(browser: GroupsBrowser): Promise<Shown[]> {
  return browser.evaluate(async () => {
    const groups = await chrome.tabGroups.query({})
    const tabs = await chrome.tabs.query({})
    return groups.map(({ id, title = '', color }) => {
      const own = tabs.filter(({ groupId }) => groupId === id).map((tab) => `${tab.url} ${tab.title}`)
      return { title, color, tabs: own }
    })
  }, undefined)
}

async function act(browser: GroupsBrowser, act?: GroupAct): Promise<SavedGroup[]> {
  const { groups, error } = await browser.ask({ ask: 'groups', ...(act && { act }) })
  if (!groups) throw new Error(`Tab groups are off: ${error?.message}`)
  return groups.list
}

/** Waits until the extension in this browser lists a group for which `isIt` is true. */
async function lists(browser: GroupsBrowser, isIt: (group: SavedGroup) => boolean): Promise<SavedGroup> {
  let found: SavedGroup | undefined
  await until(async () => {
    found = (await act(browser)).find(isIt)
    return found !== undefined
  })
  return found as SavedGroup
}

/** Opens a red group of these pages and activates its first tab. */
function openGroup(browser: GroupsBrowser, urls: string[]): Promise<{ ids: number[]; group: number }> {
  return browser.evaluate(async (urls) => {
    const ids: number[] = []
    for (const url of urls) ids.push((await chrome.tabs.create({ url, active: false })).id ?? -1)
    const group = (await chrome.tabs.group?.({ tabIds: ids })) ?? -1
    await chrome.tabGroups.update(group, { color: 'red' })
    await chrome.tabs.update(ids[0] ?? -1, { active: true })
    return { ids, group }
  }, urls)
}

/** One browser saves a group, the other opens it, and both change it. It stays open in both. */
export async function saveOpenAndChange(t: Test, one: GroupsBrowser, two: GroupsBrowser, site: string): Promise<void> {
  const names = ['a', 'b', 'c']
  const tabs = await openGroup(
    one,
    names.map((name) => `${site}/${name}`),
  )
  await until(async () => (await shownIn(one))[0]?.tabs.join().split(' Page ').length === 4)
  const start = Date.now()
  await act(one, { do: 'save', what: 'group', title: 'Work' })
  const { id } = await lists(two, ({ title, tabs }) => title === 'Work' && tabs.length === 3)
  t.comment(`in the other browser's list after ${Date.now() - start} ms`)
  await act(two, { do: 'open', id, inNewWindow: false, most: 15 })
  const opened = await shownIn(one)
  t.match(opened, [{ title: 'Work', color: 'red' }])
  await until(async () => JSON.stringify(await shownIn(two)) === JSON.stringify(opened))
  t.pass('the group opens with name, colour, titles and order')

  const changed = Date.now()
  await one.evaluate(async ({ ids, group }) => {
    await chrome.tabGroups.update(group, { title: 'Renamed' })
    await chrome.tabs.remove([ids[1] ?? -1])
  }, tabs)
  const { differs } = await lists(two, ({ title, tabs }) => title === 'Renamed' && tabs.length === 2)
  t.comment(`a change is listed after ${Date.now() - changed} ms`)
  t.match(differs, { opens: 0, closes: 1, changes: 1 })
  t.same(await shownIn(two), opened, 'no tab closes without a press')
  await act(two, { do: 'update', id })
  await until(async () => JSON.stringify(await shownIn(two)) === JSON.stringify(await shownIn(one)))
  t.match(await shownIn(two), [{ title: 'Renamed', color: 'red', tabs: { length: 2 } }])
  const { differs: left } = await lists(two, ({ isOpen }) => isOpen)
  t.equal(left, undefined)
}

/** After the browser lost its tabs, the group is still saved and can be opened. */
export async function opensAgain(t: Test, browser: GroupsBrowser): Promise<void> {
  const { id, tabs } = await lists(browser, ({ title }) => title === 'Renamed')
  t.equal(tabs.length, 2)
  await act(browser, { do: 'open', id, inNewWindow: false, most: 15 })
  await until(async () => (await shownIn(browser))[0]?.tabs.join().split(' Page ').length === 3)
  t.match(await shownIn(browser), [{ title: 'Renamed', color: 'red', tabs: { length: 2 } }])
}

/** After a restart that restores the tabs, the group is recognized and not duplicated. */
export async function isFoundAgain(t: Test, browser: GroupsBrowser): Promise<void> {
  const { id, tabs, differs } = await lists(browser, ({ isOpen }) => isOpen)
  t.same([tabs.length, differs], [2, undefined])
  const before = await shownIn(browser)
  t.match(before, [{ title: 'Renamed', color: 'red', tabs: { length: 2 } }])
  t.equal(before.length, 1)
  await act(browser, { do: 'open', id, inNewWindow: false, most: 15 })
  t.same(await shownIn(browser), before, 'opening it activates the open group')
  t.equal((await act(browser)).length, 1)
}

/** Without tab groups, a window stands for a group and is recognized after a restart. Similar windows are only offered. */
export async function followsWindow(
  t: Test,
  one: GroupsBrowser,
  two: GroupsBrowser,
  site: string,
  restart: () => Promise<unknown>,
): Promise<void> {
  const [x, y, z, secret] = ['x', 'y', 'z', 'secret'].map((name) => `${site}/${name}`) as [
    string,
    string,
    string,
    string,
  ]
  const isIt = ({ title }: SavedGroup) => title === 'Places'
  const tabsIn = (browser: GroupsBrowser) => browser.evaluate(() => chrome.tabs.query({}), undefined)
  const shown = async () => (await tabsIn(two)).map(({ url = '' }) => url).filter((url) => url.startsWith(site))
  await openGroup(one, [x, y])
  await act(one, { do: 'save', what: 'group', title: 'Places' })
  const { id } = await lists(two, (group) => isIt(group) && group.tabs.length === 2)
  await act(two, { do: 'open', id, inNewWindow: false, most: 15 })
  await until(async () => (await shown()).join() === [x, y].join())
  const windowId = (await tabsIn(two)).find(({ url }) => url === x)?.windowId
  t.equal((await tabsIn(two)).filter((tab) => tab.windowId === windowId).length, 2, 'in a separate window')
  await two.evaluate((tab) => chrome.tabs.create(tab), { url: z, windowId })
  const { differs } = await lists(one, (group) => isIt(group) && group.tabs.length === 3)
  t.match(differs, { opens: 1, closes: 0, changes: 0 })

  await restart()
  const found = await lists(two, (group) => isIt(group) && group.isOpen)
  t.same([found.tabs.length, found.differs, await shown()], [3, undefined, [x, y, z]])

  const ids = (await tabsIn(two)).flatMap(({ id = -1, url = '' }) => (url.startsWith(site) ? id : []))
  await two.evaluate((ids) => chrome.tabs.remove(ids), ids)
  await lists(two, (group) => isIt(group) && !group.isOpen)
  await two.evaluate(
    async ([url, ...others]) => {
      const { id } = await chrome.windows.create({ url, focused: true })
      for (const url of others) await chrome.tabs.create({ url, windowId: id })
    },
    [x, y, z, secret] as const,
  )
  const alike = await lists(two, ({ isAlike }) => isAlike)
  t.match(alike, { title: 'Places', isOpen: false, tabs: { length: 3 } })
  for (const browser of [one, two]) t.notMatch(JSON.stringify(await act(browser)), secret)
  await act(two, { do: 'follow', id })
  const { differs: more } = await lists(two, (group) => isIt(group) && group.isOpen)
  t.same(more, { opens: 0, closes: 1, changes: 0 }, 'the difference is shown before anything is saved')
}
