import { setTimeout as sleep } from 'node:timers/promises'
import { recentMs } from '../../../../src/client/sync/edits/many-deletes.ts'
import { until } from '../../../support/until.ts'
import { exactly, link, scenario } from '../scenario.ts'

const few = ['s1', 's2', 's3']
/** Different titles in each scenario: one added elsewhere within a minute would count as moved. */
const manyOf = (name: string) => Array.from({ length: 300 }, (_, index) => `${name}${index}`)
const refuse = 'Put them back'
const agree = 'Delete them everywhere'

/** The extension's questions to its user, and its reports. */
export const asked = [
  scenario('many are deleted: the browser asks, and its user wants them back', async ({ one, same }) => {
    const many = manyOf('back-')
    await one.addFolder('many')
    await one.addMany(many, { into: 'many' })
    await same(exactly('many/', ...many.map((title) => `  ${title}`)))
    // Deletes of the last minute, made in another scenario, would be restored, too.
    await sleep(recentMs)
    await one.remove('many')
    await one.browser.press(refuse)
    return exactly('many/', ...many.map((title) => `  ${title}`))
  }),
  scenario('many are deleted: both browsers ask, and their users agree', async ({ one, two, same }) => {
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
  scenario('Chrome’s Undo right after a delete brings that back, and nothing else', async ({ one, two, same }) => {
    await two.add('own')
    await same(exactly('own'))
    await one.browser.removeAndUndo((await one.find('own')).id, async () => {
      await two.add('came')
      await until(async () => (await two.browser.ask({ ask: 'state' })).state?.sync?.waiting === 0)
    })
    return exactly('own', 'came')
  }),
  scenario('Chrome’s Undo once its worker was stopped, of what another device has renamed meanwhile', async (world) => {
    const { one, two, same, elsewhere } = world
    await two.add('own')
    await same(exactly('own'))
    // The user would be asked immediately about bookmarks that have just arrived.
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
    if (idOfOwn() !== before) throw new Error('It is another bookmark')
    return exactly(`renamed ${link('own')}`, 'known')
  }),
  scenario('Chrome’s Undo later takes what has just come: the browser asks, and its user has both', async (world) => {
    const { one, two, same } = world
    await two.add('own')
    await same(exactly('own'))
    // What has just come would be asked about at once.
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
  scenario('what a browser refuses is told, and tried again once it is changed', async (world) => {
    const { one, two, elsewhere, folder, same } = world
    const { sync } = elsewhere
    await one.add('a')
    await same(exactly('a'))
    const parentId = [...sync.bookmarks().values()].find(({ title }) => title === folder)?.id ?? ''
    await sync.put({ id: 'refused', title: 'refused', url: 'not an address', parentId, source: 'bookmarks' })
    await sync.syncNow()
    for (const { browser } of [one, two]) await browser.reads('This browser does not take “refused”: Invalid URL.')
    await two.retitle('a', 'b')
    await sync.update('refused', { url: link('refused') })
    return exactly(`b ${link('a')}`, 'refused')
  }),
]
