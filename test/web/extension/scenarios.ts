import type { Sync } from '../../../src/client/index.ts'
import type { Service } from '../../support/service.ts'
import { replaceKeys } from './elsewhere.ts'
import type { Installed } from './installed.ts'

/** Bookmarks bar and other bookmarks, in Chrome. */
export const [bar, other] = ['1', '2'] as const

interface World {
  one: Installed
  two: Installed
  /** A device of the same person that is no browser. */
  elsewhere: Sync
  /** Until both browsers show the same, which is as expected. */
  untilBoth(isExpected: (lines: string[]) => boolean): Promise<void>
  service(): Service
  /** Stops the service, does the work, and starts it again. */
  withoutService(work: () => Promise<void>): Promise<void>
}

export interface Scenario {
  title: string
  run(world: World): Promise<void>
}

const has = (title: string) => (lines: string[]) => lines.some((line) => line.trim().split(' ')[0] === title)
const hasNot = (title: string) => (lines: string[]) => !has(title)(lines)
const inRow =
  (...titles: string[]) =>
  (lines: string[]) =>
    lines
      .map((line) => line.trim().split(' ')[0])
      .join(' ')
      .includes(titles.join(' '))
const link = (title: string) => `https://example.org/${title}`

/** Each leaves its bookmarks to the next ones. */
export const scenarios: readonly Scenario[] = [
  {
    title: 'add in one',
    run: async ({ one, untilBoth }) => {
      await one.add(bar, 'a1')
      await untilBoth(has('a1'))
    },
  },
  {
    title: 'add in the other one, between two',
    run: async ({ one, two, untilBoth }) => {
      await one.add(bar, 'a2')
      await untilBoth(inRow('a1', 'a2'))
      const [, , ...rest] = await two.call('getChildren', bar)
      const index = rest.find(({ title }) => title === 'a2')?.index ?? 0
      await two.add(bar, 'between', index)
      await untilBoth(inRow('a1', 'between', 'a2'))
    },
  },
  {
    title: 'change a title, and an address',
    run: async ({ one, two, untilBoth }) => {
      await one.call('update', await one.find('a1'), { title: 'renamed' })
      await untilBoth(has('renamed'))
      await two.call('update', await two.find('a2'), { title: 'a2', url: link('elsewhere') })
      await untilBoth((lines) => lines.some((line) => line.endsWith(`a2 ${link('elsewhere')}`)))
    },
  },
  {
    title: 'an empty title, a script, and an address with spaces',
    run: async ({ one, untilBoth }) => {
      await one.call('create', { parentId: other, title: '', url: link('untitled') })
      await one.call('create', { parentId: other, title: 'script', url: 'javascript:alert(1)' })
      await one.call('create', { parentId: other, title: 'spaces', url: `${link('with spaces')}?q=ä` })
      await untilBoth(
        (lines) => ['script', 'spaces'].every((title) => has(title)(lines)) && lines.join().includes(link('untitled')),
      )
    },
  },
  {
    title: 'the same bookmark three times in one folder',
    run: async ({ one, untilBoth }) => {
      for (let count = 0; count < 3; count++) await one.add(other, 'thrice')
      await untilBoth((lines) => lines.filter((line) => line.includes('thrice')).length === 3)
    },
  },
  {
    title: 'reorder: the last to the start, and the first to the end',
    run: async ({ one, two, untilBoth }) => {
      for (const title of ['r1', 'r2', 'r3']) await one.add(bar, title)
      await untilBoth(inRow('r1', 'r2', 'r3'))
      const place = (await one.nodeOf('r1')).index ?? 0
      await one.call('move', await one.find('r3'), { parentId: bar, index: place })
      await untilBoth(inRow('r3', 'r1', 'r2'))
      await two.call('move', await two.find('r3'), { parentId: bar, index: ((await two.nodeOf('r2')).index ?? 0) + 1 })
      await untilBoth(inRow('r1', 'r2', 'r3'))
    },
  },
  {
    title: 'folders in folders, and a move into the innermost',
    run: async ({ one, two, untilBoth }) => {
      const outer = (await one.call('create', { parentId: bar, title: 'outer' })).id
      const inner = (await one.call('create', { parentId: outer, title: 'inner' })).id
      await one.add(inner, 'deep')
      await untilBoth((lines) => lines.some((line) => line.startsWith('      deep')))
      await two.call('move', await two.find('r1'), { parentId: await two.find('inner'), index: 0 })
      await untilBoth((lines) => lines.some((line) => line.startsWith('      r1')))
    },
  },
  {
    title: 'rename a folder, and move it with what is in it',
    run: async ({ one, two, untilBoth }) => {
      await two.call('update', await two.find('inner'), { title: 'innermost' })
      await untilBoth(has('innermost/'))
      await one.call('move', await one.find('innermost'), { parentId: other, index: 0 })
      await untilBoth((lines) => lines.some((line) => line.startsWith('  innermost/')))
    },
  },
  {
    title: 'delete one, and put it back as an undo does',
    run: async ({ one, two, untilBoth }) => {
      await one.call('remove', await one.find('r2'))
      await untilBoth(hasNot('r2'))
      await two.add(bar, 'r2', 0)
      await untilBoth(has('r2'))
    },
  },
  {
    title: 'delete a folder with what is in it',
    run: async ({ two, untilBoth }) => {
      await two.call('removeTree', await two.find('innermost'))
      await untilBoth((lines) => hasNot('innermost/')(lines) && hasNot('deep')(lines))
    },
  },
  {
    title: 'both add at once, also the same',
    run: async ({ one, two, untilBoth }) => {
      await Promise.all([one.add(bar, 'o1'), two.add(bar, 't1'), one.add(other, 'alike'), two.add(other, 'alike')])
      await untilBoth(
        (lines) => has('o1')(lines) && has('t1')(lines) && lines.filter((line) => line.includes('alike')).length < 3,
      )
    },
  },
  {
    title: 'both change one title at once',
    run: async ({ one, two, untilBoth }) => {
      const [ours, theirs] = [await one.find('o1'), await two.find('o1')]
      await Promise.all([one.call('update', ours, { title: 'o-one' }), two.call('update', theirs, { title: 'o-two' })])
      await untilBoth((lines) => has('o-one')(lines) !== has('o-two')(lines))
    },
  },
  {
    title: 'another device adds, tags, moves and deletes',
    run: async ({ one, elsewhere, untilBoth }) => {
      await elsewhere.syncNow()
      await elsewhere.put({ id: 'from-elsewhere', title: 'far', url: link('far'), tags: ['kept'], source: 'bookmarks' })
      await elsewhere.syncNow()
      await untilBoth(has('far'))
      await one.call('update', await one.find('far'), { title: 'near' })
      await untilBoth(has('near'))
      await elsewhere.syncNow()
      if (elsewhere.get('from-elsewhere')?.tags?.[0] !== 'kept') throw new Error('The tag is lost')
      await elsewhere.remove('from-elsewhere')
      await elsewhere.syncNow()
      await untilBoth(hasNot('near'))
    },
  },
  {
    title: 'edits on both while the service is away',
    run: async ({ one, two, withoutService, untilBoth }) => {
      await withoutService(async () => {
        await one.add(bar, 'offline-one')
        await two.add(bar, 'offline-two')
        await two.call('remove', await two.find('t1'))
        await one.call('update', await one.find('renamed'), { title: 'again' })
      })
      await untilBoth(
        (lines) => ['offline-one', 'offline-two', 'again'].every((title) => has(title)(lines)) && hasNot('t1')(lines),
      )
    },
  },
  {
    title: 'one deletes what the other one changes: the change stays',
    run: async ({ one, two, withoutService, untilBoth }) => {
      await withoutService(async () => {
        await one.call('remove', await one.find('again'))
        await two.call('update', await two.find('again'), { title: 'survivor' })
      })
      await untilBoth((lines) => has('survivor')(lines) !== has('again')(lines) || hasNot('survivor')(lines))
    },
  },
  {
    title: 'changes while the worker is stopped',
    run: async ({ one, two, untilBoth }) => {
      await one.stopWorker()
      await two.add(bar, 'while-stopped')
      await one.add(bar, 'wakes-it')
      await untilBoth((lines) => has('while-stopped')(lines) && has('wakes-it')(lines))
    },
  },
  {
    title: 'the worker is stopped again and again while 300 bookmarks come',
    run: async ({ one, two, untilBoth }) => {
      const folder = (await one.call('create', { parentId: other, title: 'crowd' })).id
      for (let index = 0; index < 300; index++) await one.add(folder, `c${index}`)
      for (let stop = 0; stop < 5; stop++) {
        await two.page.waitForTimeout(150)
        await two.stopWorker()
        await two.wake()
      }
      await untilBoth((lines) => lines.filter((line) => /^ +c\d+ /.test(line)).length === 300)
    },
  },
  {
    title: '300 bookmarks are deleted: the other one asks, and its user agrees',
    run: async ({ one, two, untilBoth }) => {
      await one.call('removeTree', await one.find('crowd'))
      await one.press('Delete them everywhere')
      await two.press('Delete them everywhere')
      await untilBoth(hasNot('crowd/'))
    },
  },
  {
    title: 'paused, nothing happens; then all at once',
    run: async ({ one, two, untilBoth }) => {
      await one.press('Pause')
      await two.add(bar, 'during-the-pause')
      await one.add(bar, 'paused')
      await one.press('Go on')
      await untilBoth((lines) => has('during-the-pause')(lines) && has('paused')(lines))
    },
  },
  {
    title: 'a folder that stays out on one device, and comes in again',
    run: async ({ one, two, untilBoth }) => {
      const work = (await one.call('create', { parentId: bar, title: 'Work' })).id
      await one.add(work, 'shared')
      await untilBoth(has('shared'))
      await one.onOptions((page) => page.getByLabel('Work').check())
      await one.add(work, 'only-here')
      await two.add(bar, 'goes-on')
      while (!has('goes-on')(await one.lines())) await one.page.waitForTimeout(100)
      if (has('only-here')(await two.lines())) throw new Error('What stays out has come')
      await one.onOptions((page) => page.getByLabel('Work').uncheck())
      await untilBoth(
        (lines) => has('only-here')(lines) && lines.filter((line) => line.includes('shared')).length === 1,
      )
    },
  },
  {
    title: 'signed out elsewhere: edits wait, and go on after the next sign-in',
    run: async ({ one, two, service, untilBoth }) => {
      await one.endSession(service())
      await one.add(bar, 'signed-out')
      await two.add(bar, 'meanwhile')
      await one.signInAgain('Ada')
      await untilBoth((lines) => has('signed-out')(lines) && has('meanwhile')(lines))
    },
  },
  {
    title: 'keys replaced elsewhere: each browser asks for the passphrase, and what waited is sent',
    run: async ({ one, two, elsewhere, service, untilBoth }) => {
      await elsewhere.syncNow()
      await replaceKeys(service(), 'Ada', elsewhere)
      await one.add(bar, 'old-keys')
      for (const browser of [one, two]) await browser.unlockAgain()
      await untilBoth(has('old-keys'))
    },
  },
  {
    title: '5,000 bookmarks',
    run: async ({ one, untilBoth }) => {
      const folder = (await one.call('create', { parentId: other, title: 'many' })).id
      for (let index = 0; index < 5000; index++) await one.add(folder, `m${index}`)
      await untilBoth((lines) => lines.filter((line) => /^ +m\d+ /.test(line)).length === 5000)
    },
  },
  {
    title: 'signed out and forgotten: the bookmarks stay in the browser',
    run: async ({ one }) => {
      const before = await one.lines()
      await one.onOptions(async (page) => {
        await page.getByRole('button', { name: 'Sign out and forget' }).click()
        await page.getByText('Not set up yet').waitFor()
      })
      if ((await one.lines()).join() !== before.join()) throw new Error('Bookmarks were deleted')
    },
  },
]
