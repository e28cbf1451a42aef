import { join } from 'node:path'
import type { Test } from 'tap'
import { runCommand } from '../../support/command.ts'
import { folder, type Service, startService } from '../../support/service.ts'
import { developmentProvider } from '../fixture.ts'
import { bar, Installed, other } from './installed.ts'
import {
  exactly,
  inAnyOrder,
  link,
  readOutside,
  type Scenario,
  type Sides,
  User,
  untilSame,
  type World,
} from './scenario.ts'
import { account } from './scenarios/account.ts'
import { asked } from './scenarios/asked.ts'
import { atOnce } from './scenarios/at-once.ts'
import { folders } from './scenarios/folders.ts'
import { interrupted } from './scenarios/interrupted.ts'
import { links } from './scenarios/links.ts'
import { type Account, openAccount, setUp } from './set-up.ts'

/** The setting for all scenarios: two Chromiums and a service. */
interface Stage {
  play(scenario: Scenario): Promise<void>
}

/** Sets up both browsers and a third device, each with different bookmarks. */
export async function openStage(t: Test): Promise<Stage> {
  const data = await folder(t)
  const env = { ...(await developmentProvider()), LOG_LEVEL: 'info' }
  let service = await startService(t, data, env)
  const [one, two] = await Promise.all([Installed.start(t), Installed.start(t)])
  const elsewhere = await meet(service, one, two)
  const sides: Sides = { one, two, elsewhere: elsewhere.sync }
  const stopped = async (work: () => Promise<unknown>) => {
    await service.kill('SIGTERM')
    await work()
    service = await startService(t, data, { ...env, PORT: new URL(service.origin).port })
  }
  const moved: World['moved'] = (work) =>
    stopped(async () => {
      const elsewhere = await startService(t, data, env)
      await work(elsewhere.origin)
      await elsewhere.kill('SIGTERM')
    })
  const restart: World['restart'] = () => stopped(async () => {})
  const withoutService: World['withoutService'] = async (work) => {
    await stopped(work)
    await Promise.all([one, two].map((browser) => browser.ask({ ask: 'sync-now' })))
  }
  const operator: World['operator'] = {
    async backUp() {
      const backup = join(await folder(t), 'backup')
      await command(t, 'backup', backup, data)
      return backup
    },
    restore: (backup) => stopped(() => command(t, 'restore', backup, data)),
  }
  let count = 0
  return {
    async play({ run }) {
      const title = `Scenario ${++count}`
      await Promise.all([one.decideConflicts(), two.decideConflicts()])
      const outside = await readOutside(sides, title)
      const same: World['same'] = (expected) => untilSame(sides, title, outside, expected)
      const users = { one: new User(one, title), two: new User(two, title) }
      await users.one.begin()
      await same(exactly())
      const world = {
        ...users,
        folder: title,
        elsewhere,
        same,
        service: () => service,
        withoutService,
        moved,
        restart,
        operator,
      }
      await same(await run(world))
    },
  }
}

/** The first merge: two filled browsers, and an account that a third device has filled. */
async function meet(service: Service, one: Installed, two: Installed): Promise<Account> {
  const add = async (browser: Installed, title: string, parentId: string) =>
    browser.call('create', { parentId, title, url: link(title) })
  for (const browser of [one, two]) {
    const { id } = await browser.call('create', { parentId: bar, title: 'Met' })
    await add(browser, 'everywhere', id)
    await add(browser, browser === one ? 'from one' : 'from two', id)
    await add(browser, 'only two', browser === one ? bar : other)
  }
  await setUp(one, service, 'Ada')
  const elsewhere = await openAccount(service, 'Ada')
  const { sync } = elsewhere
  const parentId = [...sync.bookmarks().values()].find(({ title }) => title === 'Met')?.id ?? ''
  const bookmark = { id: 'third', title: 'from three', url: link('from three'), parentId, source: 'bookmarks' } as const
  await sync.put(bookmark)
  await sync.syncNow()
  await setUp(two, service, 'Ada', 'Keep both')
  const outside = ['Bookmarks bar/', '  only two', 'Other bookmarks/', '  only two']
  const merged = inAnyOrder('everywhere', 'from one', 'from two', 'from three')
  await untilSame({ one, two, elsewhere: sync }, 'Met', outside, merged)
  return elsewhere
}

async function command(t: Test, name: string, folder: string, data: string): Promise<void> {
  const { PATH = '' } = process.env
  const { code, stderr } = await runCommand(t, name, [folder], { PATH, DATA_DIR: data })
  if (code !== 0) throw new Error(stderr)
}

/** The scenarios by subject, in this order: those with few bookmarks come first. */
const subjects = { links, folders, 'at once': atOnce, asked, account, interrupted }

export const scenarios = Object.entries(subjects).flatMap(([subject, scenarios]) =>
  scenarios.map(({ title, run }) => ({ title: `${subject}: ${title}`, run })),
)
