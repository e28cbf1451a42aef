import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { Answer, GroupAct, Platform, Question } from '../../../src/extension/app/platform.ts'
import type { SavedGroup } from '../../../src/extension/groups/tab-groups.ts'
import { until } from '../../support/until.ts'

declare const chrome: Platform & { tabGroups: NonNullable<Platform['tabGroups']> }

/** A browser with the extension, whose user has turned tab groups on. */
export interface GroupsBrowser {
  /** Runs in a page of the extension. */
  evaluate<T, Value>(work: (value: Value) => T, value: Value): Promise<Awaited<T>>
  ask(question: Question): Promise<Answer>
}

/** Pages with titles. */
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

/** Waits until the list of this browser has such a group. */
async function lists(browser: GroupsBrowser, isIt: (group: SavedGroup) => boolean): Promise<SavedGroup> {
  let found: SavedGroup | undefined
  await until(async () => {
    found = (await act(browser)).find(isIt)
    return found !== undefined
  })
  return found as SavedGroup
}

/** A group that one saves, the other opens and both change. Leaves it open in both. */
export async function saveOpenAndChange(t: Test, one: GroupsBrowser, two: GroupsBrowser, site: string): Promise<void> {
  const tabs = await one.evaluate(async (site) => {
    const ids: number[] = []
    for (const name of ['a', 'b', 'c']) {
      ids.push((await chrome.tabs.create({ url: `${site}/${name}`, active: false })).id ?? -1)
    }
    const group = (await chrome.tabs.group?.({ tabIds: ids })) ?? -1
    await chrome.tabGroups.update(group, { color: 'red' })
    await chrome.tabs.update(ids[0] ?? -1, { active: true })
    return { ids, group }
  }, site)
  await until(async () => (await shownIn(one))[0]?.tabs.join().split(' Page ').length === 4)
  const start = Date.now()
  await act(one, { do: 'save', what: 'group', title: 'Work' })
  const { id } = await lists(two, ({ title, tabs }) => title === 'Work' && tabs.length === 3)
  t.comment(`in the other browser's list after ${Date.now() - start} ms`)
  await act(two, { do: 'open', id, inNewWindow: false })
  const opened = await shownIn(one)
  t.match(opened, [{ title: 'Work', color: 'red' }])
  await until(async () => JSON.stringify(await shownIn(two)) === JSON.stringify(opened))
  t.pass('it opens with name, colour, titles and order')

  const changed = Date.now()
  await one.evaluate(async ({ ids, group }) => {
    await chrome.tabGroups.update(group, { title: 'Renamed' })
    await chrome.tabs.remove([ids[1] ?? -1])
  }, tabs)
  const { differs } = await lists(two, ({ title, tabs }) => title === 'Renamed' && tabs.length === 2)
  t.comment(`a change is listed after ${Date.now() - changed} ms`)
  t.match(differs, { opens: 0, closes: 1, changes: 1 })
  t.same(await shownIn(two), opened, 'nothing closes by itself')
  await act(two, { do: 'update', id })
  await until(async () => JSON.stringify(await shownIn(two)) === JSON.stringify(await shownIn(one)))
  t.match(await shownIn(two), [{ title: 'Renamed', color: 'red', tabs: { length: 2 } }])
  const { differs: left } = await lists(two, ({ isOpen }) => isOpen)
  t.equal(left, undefined)
}

/** The browser may have lost the group: then it is still saved, and opens. */
export async function opensAgain(t: Test, browser: GroupsBrowser): Promise<void> {
  const { id, tabs } = await lists(browser, ({ title }) => title === 'Renamed')
  t.equal(tabs.length, 2)
  await act(browser, { do: 'open', id, inNewWindow: false })
  await until(async () => (await shownIn(browser))[0]?.tabs.join().split(' Page ').length === 3)
  t.match(await shownIn(browser), [{ title: 'Renamed', color: 'red', tabs: { length: 2 } }])
}

/** The browser was restarted with its tabs: it is the same group, and nothing is there twice. */
export async function isFoundAgain(t: Test, browser: GroupsBrowser): Promise<void> {
  const { id, tabs, differs } = await lists(browser, ({ isOpen }) => isOpen)
  t.same([tabs.length, differs], [2, undefined])
  const before = await shownIn(browser)
  t.match(before, [{ title: 'Renamed', color: 'red', tabs: { length: 2 } }])
  t.equal(before.length, 1)
  await act(browser, { do: 'open', id, inNewWindow: false })
  t.same(await shownIn(browser), before, 'opening it goes to it')
  t.equal((await act(browser)).length, 1)
}
