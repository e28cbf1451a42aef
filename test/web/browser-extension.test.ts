/** With --deep. SCENARIO=<regular expression> plays those alone whose titles match. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { buildExtension } from '../../scripts/package/extension.ts'
import { isDeep } from '../support/depth.ts'
import { accessibilityFaults } from './docs-page.ts'
import { scenarios } from './extension/scenarios.ts'
import { openStage } from './extension/stage.ts'
import { openChromium, screenshot } from './fixture.ts'

const { SCENARIO = '' } = process.env
const faultOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else if (!isDeep) t.plan(0, 'two Chromiums take too long for the quick depth')
else {
  await buildExtension()

  t.test('The example extension keeps two Chromiums in step: nothing is lost, and nothing doubled', async (t) => {
    const stage = await openStage(t)
    t.pass('two filled browsers, and an account that a third device has filled, become one')
    for (const scenario of scenarios.filter(({ title }) => RegExp(SCENARIO).test(title))) {
      t.equal(await stage.play(scenario).then(() => '', faultOf), '', scenario.title)
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
