import { setTimeout as sleep } from 'node:timers/promises'
import type { Sync } from '../../../src/client/index.ts'
import type { Service } from '../../support/service.ts'
import { type Installed, named } from './installed.ts'
import { count, has, hasNot, inRow, inSection, linesOf, menu, mobile, other, toolbar } from './lines.ts'

/** Everything that a scenario can use: two browsers, a third device, and their service. */
interface World {
  one: Installed
  two: Installed
  /** A device of the same person that is not a browser. */
  elsewhere: Sync
  /** Waits until both browsers have the records, and the records are as expected. */
  same(isExpected: (lines: string[]) => boolean): Promise<void>
  service: Service
}

/** A sequence of events and its expected result. Later scenarios use the bookmarks of earlier ones. */
interface Scenario {
  title: string
  run(world: World): Promise<void>
}

function scenario(title: string, run: Scenario['run']): Scenario {
  return { title, run }
}

const link = (title: string) => `https://example.org/${title}`

/** In this order, because each uses what earlier ones have left. */
export const scenarios = [
  scenario('a bookmark is added to each of the four roots, and one between two others', async ({ one, two, same }) => {
    const roots = { a: toolbar, b: menu, c: other, d: mobile }
    for (const [title, root] of Object.entries(roots)) await one.add(root, title)
    await same((lines) => Object.entries(roots).every(([title, root]) => inSection(lines, root).includes(title)))
    await two.add(toolbar, 'z')
    await same(inRow('a', 'z'))
    const index = (await one.nodeOf('z')).index ?? 0
    await one.add(toolbar, 'between', { index, url: link('between') })
    await same(inRow('a', 'between', 'z'))
  }),
  scenario('titles and addresses change; odd bookmarks are synced', async ({ one, two, same }) => {
    await one.call('update', await one.find('a'), { title: 'renamed' })
    await two.call('update', await two.find('z'), { title: 'z', url: link('elsewhere') })
    await one.add(other, '', { url: link('untitled') })
    await one.add(other, '', {})
    await two.add(other, 'script', { url: 'javascript:alert(1)' })
    for (let times = 0; times < 3; times++) await two.add(menu, 'thrice')
    await same((lines) => {
      const text = lines.join('\n')
      const isThere = ['renamed ', `z ${link('elsewhere')}`, `  ${link('untitled')}`, '\n  /\n', 'script java'].every(
        (part) => text.includes(part),
      )
      return isThere && count(/thrice/)(lines) === 3
    })
  }),
  scenario('the last bookmark is moved to the start, and the first to the end', async ({ one, two, same }) => {
    for (const title of ['r1', 'r2', 'r3']) await one.add(toolbar, title)
    await same(inRow('r1', 'r2', 'r3'))
    const index = (await one.nodeOf('r1')).index ?? 0
    await one.call('move', await one.find('r3'), { parentId: toolbar, index })
    await same(inRow('r3', 'r1', 'r2'))
    await two.call('move', await two.find('r3'), { parentId: toolbar, index: index + 2 })
    await same(inRow('r1', 'r2', 'r3'))
  }),
  scenario('nested folders: a move inside, a rename, and a move of the outer folder', async ({ one, two, same }) => {
    const outer = await one.add(toolbar, 'outer', {})
    const inner = await one.add(outer, 'inner', {})
    await one.add(inner, 'deep')
    await same(inRow('outer/', 'inner/', 'deep'))
    await two.call('move', await two.find('r1'), { parentId: await two.find('inner'), index: 0 })
    await same(inRow('inner/', 'r1', 'deep'))
    await two.call('update', await two.find('inner'), { title: 'innermost' })
    await one.call('move', await one.find('outer'), { parentId: mobile, index: 0 })
    await same((lines) => inRow(mobile, 'outer/', 'innermost/', 'r1', 'deep')(lines))
  }),
  scenario('a separator is added, moved and deleted', async ({ one, two, same }) => {
    await one.add(menu, '', { type: 'separator', index: 0 })
    await one.add(menu, 'below', { index: 1, url: link('below') })
    await same(inRow(menu, '---', 'below'))
    const first = async (browser: Installed) =>
      (await browser.roots()).find(({ id }) => id === menu)?.children?.find(({ type }) => type === 'separator')?.id ??
      ''
    await two.call('move', await first(two), { parentId: menu, index: 1 })
    await same(inRow(menu, 'below', '---'))
    await one.call('remove', await first(one))
    await same((lines) => count(/^ +---/)(lines) === 1)
  }),
  scenario("Firefox's queries stay in place and are not synced", async ({ one, two, elsewhere, same }) => {
    await one.add(menu, 'Recent', { index: 0, url: 'place:sort=12&maxResults=10' })
    await two.add(menu, 'after the query', { index: 0, url: link('query') })
    await same(has('after'))
    if ((await one.nodeOf('Recent')).index !== 0 && (await one.nodeOf('Recent')).index !== 1)
      throw new Error('The query was moved away')
    const records = [...elsewhere.bookmarks().values()].map(({ title }) => title)
    if (records.includes('Recent')) throw new Error('The query was sent')
    if (await two.find('Recent').catch(() => undefined)) throw new Error('The query was synced')
  }),
  scenario('a bookmark is deleted and restored; a folder is deleted with its contents', async ({ one, two, same }) => {
    await one.call('remove', await one.find('r2'))
    await same(hasNot('r2'))
    await two.add(toolbar, 'r2')
    await two.call('removeTree', await two.find('outer'))
    await same((lines) => has('r2')(lines) && hasNot('outer/')(lines) && hasNot('deep')(lines))
  }),
  scenario('the background page is stopped again and again while 300 bookmarks arrive', async ({ one, two, same }) => {
    await one.stopBackground()
    await two.add(toolbar, 'while-stopped')
    await one.add(toolbar, 'wakes-it')
    await same(has('while-stopped', 'wakes-it'))
    const folder = await one.add(other, 'crowd', {})
    for (let index = 0; index < 300; index++) await one.add(folder, `c${index}`)
    for (let stop = 0; stop < 5; stop++) {
      await sleep(150)
      await two.stopBackground()
      await two.ask({ ask: 'state' })
    }
    await same((lines) => count(/^ +c\d+ /)(lines) === 300)
  }),
  scenario('after 300 deletes both browsers ask, and their users agree', async ({ one, two, same }) => {
    await one.call('removeTree', await one.find('crowd'))
    await one.press('Delete them everywhere')
    await two.press('Delete them everywhere')
    await same(hasNot('crowd/'))
  }),
  scenario('an idle background page only receives pings', async ({ one, elsewhere, same }) => {
    // The last change may not be saved yet.
    await sleep(30_000)
    const before = await one.wakes()
    await one.leave()
    // Longer than Firefox lets a background page be idle.
    await sleep(45_000)
    if ((await one.backgroundState()) !== 'running') throw new Error('The background page was stopped')
    await one.open()
    const after = await one.wakes()
    const [timers, requests] = [after.timers - before.timers, after.requests - before.requests]
    const messages = after.messages.slice(before.messages.length)
    const isIdle = requests === 0 && timers === 0 && messages.every((type) => type === 'ping')
    if (!isIdle || messages.length < 2)
      throw new Error(`It was active: ${timers} timers, ${requests} requests, messages ${messages}`)
    await elsewhere.put({ id: 'live', title: 'live', url: link('live'), source: 'bookmarks' })
    await elsewhere.syncNow()
    await same(has('live'))
  }),
  scenario('after a sign-out elsewhere, edits wait for the next sign-in', async ({ one, two, service, same }) => {
    await one.endSession(service)
    await one.add(toolbar, 'signed-out')
    await two.add(toolbar, 'meanwhile')
    await one.signInAgain('Ada')
    await same(has('signed-out', 'meanwhile'))
  }),
  scenario('the settings can rename the device and restore a deleted bookmark', async ({ one, service, same }) => {
    await one.add(toolbar, 'deleted-by-mistake')
    await same(has('deleted-by-mistake'))
    await one.call('remove', await one.find('deleted-by-mistake'))
    await same(hasNot('deleted-by-mistake'))
    await one.inTab('options', async (page) => {
      await page.locator('#name').fill('Ada’s Fox')
      await page.locator(named('button', 'Rename')).click()
      await page.locator('::-p-text(Saved)').wait()
      await page.locator(named('button', 'Show deleted bookmarks')).click()
      await page.locator(named('button', 'Put back deleted-by-mistake')).click()
      await same(has('deleted-by-mistake'))
    })
    const names = await one.page.evaluate(
      async (url) =>
        (await (await fetch(url, { credentials: 'include' })).json()).devices.map(({ id }: { id: string }) =>
          id.slice(0, 8),
        ),
      `${service.origin}/api/v1/account/devices`,
    )
    if (!names.includes('Adas-Fox')) throw new Error(`It is not renamed: ${names}`)
  }),
  scenario('after signing out, the bookmarks stay in the browser', async ({ one }) => {
    const before = linesOf(await one.roots()).join()
    await one.inTab('options', async (page) => {
      await page.locator(named('button', 'Sign out and forget')).click()
      await page.locator('::-p-text(Not set up yet)').wait()
    })
    if (linesOf(await one.roots()).join() !== before) throw new Error('Bookmarks were deleted')
  }),
]
