/**
 * With --deep. SCENARIO=<regular expression> plays those alone whose titles match, which begin with their subject: `^links`,
 * `^folders`, `^at once`, `^asked`, `^account`, `^interrupted`, `^large`. SEED=<number> repeats one random walk alone, as a
 * failure prints it.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { buildExtension } from '../../scripts/package/extension.ts'
import { openExtensionPage } from '../../scripts/picture/extension-page.ts'
import { isDeep } from '../support/depth.ts'
import { until } from '../support/until.ts'
import { accessibilityFaults, overflow } from './docs-page.ts'
import { measureCrowd } from './extension/crowd.ts'
import { closeAndOpen, origin, startKept } from './extension/installed.ts'
import { looks } from './extension/looks.ts'
import { openStage, scenarios } from './extension/stage.ts'
import { openWalks } from './extension/walk.ts'
import { openChromium, openContext, screenshot } from './fixture.ts'

const { SCENARIO = '', SEED } = process.env
const operations = 300
/** With 20,000 bookmarks: what nobody notices (ms of CPU time in a minute), and what a tab needs (MiB). */
const [mostIdleCpuMs, mostMemory] = [500, 200]
const faultOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else if (!isDeep) t.plan(0, 'two Chromiums take too long for the quick depth')
else {
  await buildExtension()

  t.test('The example extension keeps two Chromiums in step: nothing is lost, and nothing doubled', async (t) => {
    if (SEED !== undefined) return
    const stage = await openStage(t)
    t.pass('two filled browsers, and an account that a third device has filled, become one')
    for (const scenario of scenarios.filter(({ title }) => RegExp(SCENARIO).test(title))) {
      await t.test(scenario.title, async (t) => {
        t.equal(await stage.play(scenario).then(() => '', faultOf), '')
      })
    }
    const { page } = stage.two
    for (const name of ['start', 'popup', 'options']) {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await stage.two.open(name)
        await page.getByRole('button', { name: 'Settings' }).or(page.getByText('Server:')).waitFor()
        t.same(await accessibilityFaults(page, 'html'), [], `axe finds nothing: ${name}, ${colorScheme}`)
        await screenshot(page, `extension-${name}-${colorScheme}`)
      }
    }
  })

  t.test('Two Chromiums are the same after random walks of their users, while workers die', async (t) => {
    if (SCENARIO !== '') return
    const walks = await openWalks(t)
    for (const seed of SEED === undefined ? [1, 2, 3] : [Number(SEED)]) {
      const log: string[] = []
      const faults = await walks.walk(seed, operations, (text) => log.push(text))
      if (!t.same(faults, [], `SEED=${seed}: ${operations} operations`)) return t.comment(log.join('\n'))
    }
  })

  t.test('What popup and settings show fits, and axe finds nothing, whatever the state and language', async (t) => {
    for (const [colorScheme, language] of [
      ['light', 'en'],
      ['dark', 'de'],
    ] as const) {
      const context = await openContext(t, browser, { colorScheme, viewport: { width: 390, height: 560 } })
      for (const { title, ...answer } of looks) {
        for (const name of title === 'new' ? ['start', 'popup', 'options'] : ['popup', 'options']) {
          const page = await openExtensionPage(context, name, answer, language)
          await page.locator('h1:not(:text("…"))').waitFor()
          const faults = [...(await accessibilityFaults(page, 'html')), await overflow(page)]
          t.same(faults, [0], `${name}: ${title}, ${colorScheme}, ${language}`)
          await screenshot(page, `extension-${name}-${title.replaceAll(' ', '-')}-${colorScheme}`)
          await page.close()
        }
      }
    }
  })

  t.test('The worker starts with the browser, before anything happens', async (t) => {
    const chromium = await startKept(t)
    await closeAndOpen(chromium)
    await until(async () => (await chromium.workers(origin)) > 0)
    t.pass('it runs, and nobody has opened a page or changed a bookmark')
  })

  t.test('With 20,000 bookmarks, a worker to which nothing happens rests, and has freed its memory', async (t) => {
    if (SCENARIO !== '' || SEED !== undefined) return
    const figures = await measureCrowd(t, 20_000)
    t.comment(JSON.stringify(figures, null, 2))
    for (const { idleCpuMs, memory } of [figures.sends, figures.takes]) {
      t.ok(idleCpuMs <= mostIdleCpuMs, `${idleCpuMs} ms of CPU time in a minute`)
      t.ok(memory.idle <= mostMemory, `${memory.idle} MiB`)
    }
  })

  t.test("Mozilla's linter has nothing to say about the extension for Firefox", async (t) => {
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
