/** SCENARIO=<part of a title> runs those alone. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { buildExtension } from '../../scripts/package/extension.ts'
import type { Sync, TreeNode } from '../../src/client/index.ts'
import { isDeep } from '../support/depth.ts'
import { folder, type Service, startService } from '../support/service.ts'
import { accessibilityFaults } from './docs-page.ts'
import { openDevice } from './extension/elsewhere.ts'
import { Installed } from './extension/installed.ts'
import { bar, other, scenarios } from './extension/scenarios.ts'
import { developmentProvider, openChromium } from './fixture.ts'

const { SCENARIO = '' } = process.env

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else if (!isDeep) t.plan(0, 'two Chromiums take too long for the quick depth')
else {
  t.test('The example extension keeps two Chromiums in step', async (t) => {
    await buildExtension()
    const data = await folder(t)
    const settings = { ...(await developmentProvider()), LOG_LEVEL: 'info' }
    let service = await startService(t, data, settings)
    const [one, two] = [await Installed.start(t), await Installed.start(t)]
    await watch(one, two, async () => {
      const elsewhere = await setUp(t, service, one, two)
      const untilBoth = (isExpected: (lines: string[]) => boolean) => untilSame(one, two, elsewhere, isExpected)
      const withoutService = async (work: () => Promise<void>) => {
        await service.kill('SIGTERM')
        await work()
        service = await startService(t, data, { ...settings, PORT: new URL(service.origin).port })
      }
      for (const { title, run } of scenarios.filter(({ title }) => title.includes(SCENARIO))) {
        await run({ one, two, elsewhere, untilBoth, withoutService, service: () => service })
        t.pass(title)
      }
      for (const name of ['start', 'popup', 'options']) {
        for (const colorScheme of ['light', 'dark'] as const) {
          await two.page.emulateMedia({ colorScheme })
          await two.open(name)
          await two.page.getByRole('button', { name: 'Settings' }).or(two.page.getByText('Server:')).waitFor()
          t.same(await accessibilityFaults(two.page, 'html'), [], `axe finds nothing: ${name}, ${colorScheme}`)
        }
      }
    })
  })

  t.test("Mozilla's linter has nothing to say about the extension for Firefox", async (t) => {
    await buildExtension()
    const { errors, warnings, notices } = JSON.parse(await lint())
    t.same([errors, warnings, notices], [[], [], []])
  })
}

/** Mozilla's linter is too large for a dependency. */
async function lint(): Promise<string> {
  const firefox = fileURLToPath(new URL('../../dist/extension/firefox', import.meta.url))
  const args = ['--yes', 'web-ext@10.7.0', 'lint', '--output', 'json', '--source-dir', firefox]
  return (await promisify(execFile)('npx', args, { maxBuffer: 1e8 })).stdout
}

/** Both are filled when they are set up. */
async function setUp(t: Test, service: Service, one: Installed, two: Installed): Promise<Sync> {
  await one.add(bar, 'both')
  await two.add(bar, 'both')
  await one.add(bar, 'from one')
  await two.add(other, 'from two')
  await one.setUp(service, 'Ada')
  await two.setUp(service, 'Ada')
  const elsewhere = await openDevice(service, 'Ada')
  await untilSame(one, two, elsewhere, (lines) => lines.length === 5)
  t.equal((await one.lines()).filter((line) => line.includes('both')).length, 1, 'two filled browsers become one')
  return elsewhere
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

/** Waits until both have the same bookmarks, as expected, and the service has them, too. */
async function untilSame(
  one: Installed,
  two: Installed,
  elsewhere: Sync,
  isExpected: (lines: string[]) => boolean,
): Promise<void> {
  for (;;) {
    await elsewhere.syncNow().catch(() => {})
    await elsewhere.approveDeletions(elsewhere.heldDeletions().map(({ id }) => id))
    const sides = [await one.lines(), await two.lines(), recordsOf(elsewhere)]
    const [first, ...others] = sides.map((lines) => lines.join('\n'))
    if (others.every((lines) => lines === first) && isExpected(sides[0] ?? [])) return
    if (process.env.TRACE) console.error(sides)
    await one.page.waitForTimeout(100)
  }
}

/** As Chrome is to show them. */
function recordsOf(sync: Sync): string[] {
  const write = (nodes: TreeNode[], indent: string): string[] =>
    nodes.flatMap(({ bookmark: { title, url }, children }) => [
      `${indent}${url === undefined ? `${title}/` : `${title} ${url}`}`,
      ...write(children, `${indent}  `),
    ])
  const isBar = ({ bookmark }: TreeNode) => bookmark.attributes?.personal_toolbar_folder === 'true'
  const tree = sync.tree()
  const inBar = tree.filter(isBar).flatMap(({ children }) => write(children, '  '))
  const outside = tree.filter((node) => !isBar(node))
  return ['Bookmarks bar/', ...inBar, 'Other bookmarks/', ...write(outside, '  ')]
}
