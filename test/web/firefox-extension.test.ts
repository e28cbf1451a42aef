/** With `--deep`: the example extension in the machine's own Firefox. SCENARIO=<part of a title> selects scenarios. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { buildForTests } from '../../scripts/test/build.ts'
import { isDeep } from '../support/depth.ts'
import { folder, startService } from '../support/service.ts'
import { openDevice } from './extension/set-up.ts'
import { Installed } from './firefox/installed.ts'
import { findFirefox } from './firefox/launch.ts'
import { linesOf, menu, other, recordsOf, toolbar } from './firefox/lines.ts'
import { scenarios } from './firefox/scenarios.ts'
import { developmentProvider } from './fixture.ts'

const { SCENARIO = '', TRACE } = process.env

const program = isDeep ? await findFirefox() : undefined
if (program === undefined) t.plan(0, isDeep ? 'Firefox is not installed' : 'with --deep')
else {
  t.test('The example extension keeps two Firefoxes in sync: nothing is lost, and nothing is duplicated', async (t) => {
    await buildForTests('extension')
    const env = { ...(await developmentProvider()), CORS_ORIGIN: 'moz-extension://*' }
    const service = await startService(t, await folder(t), env)
    const [one, two] = [await Installed.start(t, program), await Installed.start(t, program)]
    for (const browser of [one, two]) {
      await browser.add(toolbar, 'both')
      await browser.add(menu, '', { type: 'separator' })
      await browser.add(browser === one ? other : menu, browser === one ? 'from-one' : 'from-two')
      await browser.setUp(service, 'Ada')
    }
    const elsewhere = await openDevice(service, 'Ada')

    const same = async (isExpected: (lines: string[]) => boolean) => {
      for (;;) {
        await elsewhere.syncNow().catch(() => {})
        await elsewhere.approveDeletions(elsewhere.heldDeletions().map(({ id }) => id))
        const sides = [linesOf(await one.roots()), linesOf(await two.roots()), recordsOf(elsewhere)]
        const [first, ...others] = sides.map((lines) => lines.join('\n'))
        if (others.every((lines) => lines === first) && isExpected(sides[0] ?? [])) return
        if (TRACE) console.error(sides)
        await sleep(100)
      }
    }

    await same((lines) =>
      ['both', 'from-one', 'from-two'].every((title) => lines.join().split(`  ${title} `).length === 2),
    )
    t.pass('two filled browsers become one')
    for (const { title, run } of scenarios.filter(({ title }) => title.includes(SCENARIO))) {
      await run({ one, two, elsewhere, same, service })
      t.pass(title)
    }
  })
}
