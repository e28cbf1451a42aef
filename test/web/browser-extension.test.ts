/**
 * With --deep. SCENARIO=<regular expression> plays those alone whose titles match, which begin with their subject: `^links`,
 * `^folders`, `^at once`, `^asked`, `^account`, `^interrupted`.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { openExtensionPage } from '../../scripts/picture/extension-page.ts'
import { buildForTests } from '../../scripts/test/build.ts'
import { isDeep } from '../support/depth.ts'
import { until } from '../support/until.ts'
import { accessibilityFaults, overflow } from './docs-page.ts'
import { closeAndOpen, origin, startKept } from './extension/installed.ts'
import { looks } from './extension/looks.ts'
import { openStage, scenarios } from './extension/stage.ts'
import { openChromium, openContext, screenshot } from './fixture.ts'

const { SCENARIO = '' } = process.env
const faultOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else if (!isDeep) t.plan(0, 'two Chromiums take too long for the quick depth')
else {
  await buildForTests('extension')

  t.test('The example extension keeps two Chromiums in step: nothing is lost, and nothing doubled', async (t) => {
    const stage = await openStage(t)
    t.pass('two filled browsers, and an account that a third device has filled, become one')
    for (const scenario of scenarios.filter(({ title }) => RegExp(SCENARIO).test(title))) {
      await t.test(scenario.title, async (t) => {
        t.equal(await stage.play(scenario).then(() => '', faultOf), '')
      })
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
