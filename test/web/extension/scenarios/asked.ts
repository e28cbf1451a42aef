import { setTimeout as sleep } from 'node:timers/promises'
import { recentMs } from '../../../../src/client/sync/edits/many-deletes.ts'
import { until } from '../../../support/until.ts'
import { exactly, link, scenario } from '../scenario.ts'

const few = ['s1', 's2', 's3']
/** Titles differ by scenario, because a bookmark added elsewhere within a minute would count as moved. */
const manyOf = (name: string) => Array.from({ length: 300 }, (_, index) => `${name}${index}`)
const refuse = 'Put them back'
const agree = 'Delete them everywhere'

/** The extension's questions to its user, and its reports. */
export const asked = [
  scenario('after many deletes the browser asks, and its user restores them', async ({ one, same }) => {
    const many = manyOf('back-')
    await one.addFolder('many')
    await one.addMany(many, { into: 'many' })
    await same(exactly('many/', ...many.map((title) => `  ${title}`)))
    // Wait, because deletes of the last minute by another scenario would be restored, too.
    await sleep(recentMs)
    await one.remove('many')
    await one.browser.press(refuse)
    return exactly('many/', ...many.map((title) => `  ${title}`))
  }),
  scenario('after many deletes both browsers ask, and their users agree', async ({ one, two, same }) => {
    const many = manyOf('agreed-')
    await one.addMany(few)
    await one.addFolder('many')
    await one.addMany(many, { into: 'many' })
    await same(exactly(...few, 'many/', ...many.map((title) => `  ${title}`)))
    await one.remove('many')
    await one.browser.press(agree)
    await two.browser.pressUntil(agree, same(exactly(...few)))
    return exactly(...few)
  }),
  scenario('Chrome’s Undo right after a delete restores only that bookmark', async ({ one, two, same }) => {
    await two.add('own')
    await same(exactly('own'))
    await one.browser.removeAndUndo((await one.find('own')).id, async () => {
      await two.add('came')
      await until(async () => (await two.browser.ask({ ask: 'state' })).state?.sync?.waiting === 0)
    })
    return exactly('own', 'came')
  }),
  scenario('Chrome’s Undo after the worker was stopped, of a bookmark renamed elsewhere meanwhile', async (world) => {
    const { one, two, same, elsewhere } = world
    await two.add('own')
    await same(exactly('own'))
    // Without another bookmark, a delete of all that has just arrived would be held at once.
    await two.add('known')
    await same(exactly('own', 'known'))
    const idOfOwn = () => [...elsewhere.sync.bookmarks().values()].find(({ url }) => url === link('own'))?.id
    const before = idOfOwn()
    await one.browser.removeAndUndo((await one.find('own')).id, async () => {
      await one.browser.stopWorker()
      await two.retitle('own', 'renamed')
      await until(async () => (await two.browser.ask({ ask: 'state' })).state?.sync?.waiting === 0)
    })
    await same(exactly(`renamed ${link('own')}`, 'known'))
    if (idOfOwn() !== before) throw new Error('The bookmark has another id')
    return exactly(`renamed ${link('own')}`, 'known')
  }),
  scenario('Chrome’s Undo later also removes a new bookmark: the browser asks, and both stay', async (world) => {
    const { one, two, same } = world
    await two.add('own')
    await same(exactly('own'))
    // Without another bookmark, a delete of all that has just arrived would be held at once.
    await two.add('known')
    await same(exactly('own', 'known'))
    await one.browser.removeAndUndo((await one.find('own')).id, async () => {
      await same(exactly('known'))
      await two.add('came')
      await same(exactly('known', 'came'))
    })
    await one.browser.press(refuse)
    return exactly('own', 'known', 'came')
  }),
  scenario('a bookmark that a browser refuses is reported, and retried once it is changed', async (world) => {
    const { one, two, elsewhere, folder, same } = world
    const { sync } = elsewhere
    await one.add('a')
    await same(exactly('a'))
    const parentId = [...sync.bookmarks().values()].find(({ title }) => title === folder)?.id ?? ''
    await sync.put({ id: 'refused', title: 'refused', url: 'not an address', parentId, source: 'bookmarks' })
    await sync.syncNow()
    for (const { browser } of [one, two]) await browser.reads('This browser does not accept “refused”: Invalid URL.')
    await two.retitle('a', 'b')
    await sync.update('refused', { url: link('refused') })
    return exactly(`b ${link('a')}`, 'refused')
  }),
]
