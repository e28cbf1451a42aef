import type { Page } from 'playwright-core'
import t from 'tap'
import { historyId } from '../../src/client/index.ts'
import { isDeep } from '../support/depth.ts'
import { until } from '../support/until.ts'
import { faultsIn } from './docs-page.ts'
import { openElsewhere, visited } from './elsewhere.ts'
import {
  demoOrigin,
  enterVault,
  identityOf,
  link,
  live,
  openChromium,
  openContext,
  openVault,
  placesOf,
  show,
  signIn,
} from './fixture.ts'

const dayMs = 86_400_000
const noon = new Date().setHours(12, 0, 0, 0)
const at = (daysAgo: number, minutes = 0) => new Date(noon - daysAgo * dayMs + minutes * 60_000)

async function titles(page: Page): Promise<string[]> {
  return page.getByRole('list', { name: 'Browsing history' }).locator('.row-title').allInnerTexts()
}

/** Whether the browser's databases have a history entry with this id. */
async function isOnDisk(page: Page, id: string): Promise<boolean> {
  return page.evaluate(async (id) => {
    const answer = <T>(request: IDBRequest<T>) =>
      new Promise<T>((resolve, reject) => {
        request.onsuccess = () => resolve(request.result)
        request.onerror = () => reject(request.error)
      })
    for (const { name = '' } of await indexedDB.databases()) {
      const database = await answer(indexedDB.open(name))
      const stores = [...database.objectStoreNames]
      const rows = await Promise.all(
        stores.map((store) => answer(database.transaction(store).objectStore(store).getAll())),
      )
      database.close()
      if (JSON.stringify(rows).includes(id)) return true
    }
    return false
  }, id)
}

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('The history is in the browser only if the person wants that, by day, and can be removed', async (t) => {
    const origin = await demoOrigin()
    const context = await openContext(t, browser)
    const page = await context.newPage()
    const pulled: string[] = []
    context.on('request', (request) => {
      if (request.url().includes('/sync/')) pulled.push(`${request.url()} ${request.postData() ?? ''}`)
    })
    const recoveryCode = await enterVault(page, origin, 'Visitor')
    const { sync: other, keys } = await openElsewhere(t, origin, 'Visitor', { recoveryCode })
    const entries = [
      visited(keys, 'https://news.example/', 'News', [at(0, 2), at(1)]),
      visited(keys, 'https://maps.example/route', 'Route to the lake', [at(0, 1)]),
      visited(keys, 'chrome://flags/', 'Flags', [at(1, 3)]),
      visited(keys, 'https://lake.example/', 'The lake', [at(1, 2)]),
      visited(keys, 'https://old.example/', 'Old page', [at(40)]),
    ]
    const [news] = entries as [(typeof entries)[0]]
    await other.history.put(entries)
    await other.syncNow()
    const press = (name: string | RegExp) => page.getByRole('button', { name, exact: true }).click()
    const dialog = page.getByRole('dialog')

    await page.reload()
    await live(page)
    await show(page, 'visits')
    await page.getByText('If you let the extension store your browsing history').waitFor()
    t.notMatch(pulled.join('\n'), /history/, 'the page does not request the history')
    t.equal(await isOnDisk(page, news.id), false)

    await page.getByRole('button', { name: 'Show browsing history in this browser' }).dblclick()
    await link(page, 'News').waitFor()
    t.same(await titles(page), ['News', 'Route to the lake', 'Flags', 'The lake', 'Old page'])
    t.equal(await page.getByRole('main').getByRole('heading', { level: 2 }).count(), 3, 'a heading for each day')
    await page.getByRole('heading', { name: /^Today, / }).waitFor()
    t.equal(await link(page, 'Flags').count(), 0, 'an address of another browser is not a link')
    t.equal(await isOnDisk(page, news.id), true)

    await page.getByRole('searchbox', { name: 'Search in browsing history' }).fill('lake')
    await link(page, 'News').waitFor({ state: 'detached' })
    t.same(await titles(page), ['Route to the lake', 'The lake'])
    t.same(await faultsIn(page, 'visits', [['dark', 320]]), [])
    await page.getByRole('searchbox', { name: 'Search in browsing history' }).fill('')
    await link(page, 'News').waitFor()

    await page.getByRole('searchbox', { name: 'Search your bookmarks' }).fill('lake')
    await page.getByText('0 found for “lake”').waitFor()
    await link(page, 'Browsing history 2').click()
    await link(page, 'The lake').waitFor()
    t.same(await titles(page), ['Route to the lake', 'The lake'], 'the search over everything finds history')
    await page.keyboard.press('Control+k')
    await dialog.getByRole('combobox').fill('route lake')
    await dialog.getByRole('option', { name: /Route to the lake.*maps\.example · Browsing history/ }).waitFor()
    await page.keyboard.press('Escape')
    await show(page, 'visits')
    await link(page, 'News').waitFor()

    await page.getByRole('button', { name: 'Remove Old page' }).dblclick()
    await page.locator('.toast', { hasText: '“Old page” removed from the history' }).waitFor()
    t.equal((await titles(page)).length, 4)
    await press('Undo')
    await link(page, 'Old page').waitFor()

    const yesterday = page.getByRole('main').getByRole('heading', { level: 2 }).nth(1)
    await press(`Remove ${await yesterday.innerText()}`)
    await dialog.getByRole('button', { name: 'Remove', exact: true }).dblclick()
    await page.getByText('2 pages removed from the history').waitFor()
    t.same(await titles(page), ['News', 'Route to the lake', 'Old page'])
    await live(page)
    await other.syncNow()
    t.same(other.history.get(news.id), {
      ...news,
      visits: news.visits.slice(0, 1),
      visitCount: 1,
      dateAdded: news.dateVisited,
    })
    const removed = [...other.history.records().values()].filter(({ url }) => url === undefined)
    t.same(
      removed.map(({ id }) => id).sort(),
      entries
        .slice(2, 4)
        .map(({ id }) => id)
        .sort(),
      'browsers remove the visits, too',
    )
    t.match(removed, [
      { title: '', dateModified: String },
      { title: '', dateModified: String },
    ])

    await press('Stop showing it in this browser')
    await page.getByRole('button', { name: 'Show browsing history in this browser' }).waitFor()
    await live(page)
    t.equal(await isOnDisk(page, news.id), false, 'no entry is left on the disk')
    await other.syncNow()
    t.equal(other.history.records().size, 5, 'no entry is removed on other devices')

    await press('Show browsing history in this browser')
    await link(page, 'News').waitFor()
    await press('Erase all history…')
    await dialog.getByRole('button', { name: 'Erase everything' }).dblclick()
    await page.getByText('The browsing history is erased').waitFor()
    await page.getByText('No browsing history', { exact: true }).waitFor()
    await live(page)
    await other.syncNow()
    t.same([...other.history.records().keys()], [historyId(keys, '')], 'the time of that is left')

    // A device that had not learned of it has stored an earlier visit, and a later one of the same page.
    const later = visited(keys, news.url, 'News again', [new Date(Date.now() + 1000), at(50)])
    await other.history.put([visited(keys, 'https://lake.example/', 'The lake', [at(40)]), later])
    await other.syncNow()
    await link(page, 'News again').waitFor()
    await live(page)
    await until(async () => {
      await other.syncNow()
      return other.history.records().size === 2
    })
    t.match(other.history.get(news.id), { visits: [later.dateVisited], visitCount: 1, dateAdded: later.dateVisited })
    t.same(await titles(page), ['News again'])
    const person = await identityOf(page)
    await press(/^Visitor/)
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    t.same([await isOnDisk(page, news.id), await placesOf(page, [...person, 'visits'])], [false, []])
    if (!isDeep) return
    await signIn(page, origin, 'Visitor')
    await openVault(page, recoveryCode)
    await show(page, 'visits')
    await page.getByRole('button', { name: 'Show browsing history in this browser' }).waitFor()
  })
}
