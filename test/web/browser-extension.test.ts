import t, { type Test } from 'tap'
import { buildExtension } from '../../scripts/package/extension.ts'
import { isDeep } from '../support/depth.ts'
import { folder, startService } from '../support/service.ts'
import { Installed } from './extension/installed.ts'
import { developmentProvider, openChromium } from './fixture.ts'

/** Bookmarks bar and other bookmarks, in Chrome. */
const [bar, other] = ['1', '2']

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else if (!isDeep) t.plan(0, 'two Chromiums take too long for the quick depth')
else {
  t.test('The example extension keeps two Chromiums in step', async (t) => {
    await buildExtension()
    const service = await startService(t, await folder(t), { ...(await developmentProvider()), LOG_LEVEL: 'info' })
    const [one, two] = [await Installed.start(t), await Installed.start(t)]
    await watch(one, two, async () => {
      await one.add(bar, 'both')
      await two.add(bar, 'both')
      await one.add(bar, 'from one')
      await two.add(other, 'from two')
      await one.setUp(service, 'Ada')
      await two.setUp(service, 'Ada')
      await same(t, 'two filled browsers become one', one, two, (lines) => lines.length === 5)
      t.equal((await one.lines()).filter((line) => line.includes('both')).length, 1, 'nothing is doubled')
    })
  })
}

async function watch(one: Installed, two: Installed, work: () => Promise<void>): Promise<void> {
  await one.chromium.watch(async (first) => {
    one.page = await first.newPage()
    await two.chromium.watch(async (second) => {
      two.page = await second.newPage()
      for (const installed of [one, two]) await installed.open()
      await work()
    })
  })
}

/** Waits until both have the same bookmarks, and as expected. */
async function same(
  t: Test,
  what: string,
  one: Installed,
  two: Installed,
  isExpected: (lines: string[]) => boolean,
): Promise<void> {
  for (;;) {
    const [lines, others] = [await one.lines(), await two.lines()]
    if (JSON.stringify(lines) === JSON.stringify(others) && isExpected(lines)) break
    if (process.env.TRACE) console.error(what, lines, others)
    await one.page.waitForTimeout(100)
  }
  t.pass(what)
}
