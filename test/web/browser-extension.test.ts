/**
 * Runs only with --deep. SCENARIO=<regular expression> plays only the scenarios with matching titles, which begin with
 * their subject: `^links`, `^folders`, `^at once`, `^asked`, `^account`, `^interrupted`.
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { openExtensionPage } from '../../scripts/picture/extension-page.ts'
import { makeCertificate } from '../../scripts/servers/certificate.ts'
import { buildForTests } from '../../scripts/test/build.ts'
import { isDeep } from '../support/depth.ts'
import { folder, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { accessibilityFaults, overflow } from './docs-page.ts'
import { closeAndOpen, Installed, origin, startKept } from './extension/installed.ts'
import { looks } from './extension/looks.ts'
import { openDevice, setUp } from './extension/set-up.ts'
import { openStage, scenarios } from './extension/stage.ts'
import { developmentProvider, openChromium, openContext, screenshot } from './fixture.ts'

const { SCENARIO = '' } = process.env
const faultOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else if (!isDeep) t.plan(0, 'two Chromiums take too long for the quick depth')
else {
  await buildForTests('extension')

  t.test('The example extension keeps two Chromiums in sync: nothing is lost, and nothing is duplicated', async (t) => {
    const stage = await openStage(t)
    t.pass('two filled browsers, and an account that a third device has filled, become one')
    for (const scenario of scenarios.filter(({ title }) => RegExp(SCENARIO).test(title))) {
      await t.test(scenario.title, async (t) => {
        t.equal(await stage.play(scenario).then(() => '', faultOf), '')
      })
    }
  })

  t.test('A bookmark saved without a title gets the title of its page, if the user wants that', async (t) => {
    const requests: IncomingHttpHeaders[] = []
    const site = await startSite(t, (request, response) => {
      requests.push(request.headers)
      const isMoved = request.url === '/moved'
      response.writeHead(isMoved ? 302 : 200, isMoved ? { location: '/page' } : { 'content-type': 'text/html' })
      response.end(Buffer.from('<meta charset=iso-8859-1><title>Gr\xfc\xdfe &amp; K&uuml;sse</title>', 'latin1'))
    })
    const service = await startService(t, await folder(t), await developmentProvider())
    const rules = [`--host-resolver-rules=MAP saved.example.org 127.0.0.1:${site}`, '--ignore-certificate-errors']
    const installed = await Installed.start(t, [], rules)
    const cookie = { name: 'who', value: 'me', url: 'https://saved.example.org' }
    await installed.page.context().addCookies([{ ...cookie, sameSite: 'None', secure: true }])
    await setUp(installed, service, 'Tess')
    const elsewhere = await openDevice(service, 'Tess')
    const save = async (id: string) => {
      const url = `https://saved.example.org/${id}`
      const dateAdded = new Date().toISOString()
      await elsewhere.put({ id, url, title: 'saved.example.org', dateAdded, source: 'bookmarks' })
      await elsewhere.syncNow()
    }
    await installed.inTab('options', async (options) => {
      await options.getByLabel('Fill in missing titles').check()
      await until(async () => (await installed.ask({ ask: 'state' })).state?.browser?.state === 'in-step')
    })
    for (const id of ['page', 'moved']) await save(id)
    const titled = async () => {
      await elsewhere.syncNow()
      return ['page', 'moved'].every((id) => elsewhere.get(id)?.title === 'Grüße & Küsse')
    }
    await until(titled)
    // The browser's own bookmark must have the new title, too.
    await until(async () => /Grüße & Küsse.*Grüße & Küsse/.test(JSON.stringify(await installed.roots())))
    t.equal(requests.length, 3, 'each address was requested once, and one redirected')
    const told = requests.flatMap(({ cookie, referer, authorization }) => cookie ?? referer ?? authorization ?? [])
    t.same(told, [], 'no request identified the user')
    await installed.inTab('options', async (options) => {
      const box = options.getByLabel('Fill in missing titles')
      t.ok(await box.isChecked())
      await box.uncheck()
      await options.reload()
      await options.getByText(/^Server: /).waitFor()
      t.notOk(await box.isChecked())
    })
  })

  t.test('The popup and the settings fit and pass axe in every state and language', async (t) => {
    for (const [colorScheme, language] of [
      ['light', 'en'],
      ['dark', 'de'],
    ] as const) {
      const context = await openContext(t, browser, { colorScheme, viewport: { width: 390, height: 560 } })
      for (const { title, ...answer } of looks) {
        for (const name of title === 'new' ? ['start', 'popup', 'options'] : ['popup', 'options']) {
          const page = await openExtensionPage(context, name, answer, language)
          await page.locator('h1:not(:text("…"))').waitFor()
          if (name === 'popup' && answer.groups) {
            for (const part of ['#visits', '#groups', '#groups .card >> nth=0']) {
              await page.locator(`${part} >> summary >> nth=0`).click()
            }
            await page.locator('#visits-list a').first().waitFor()
            await page.locator('#groups li').first().waitFor()
          }
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
    t.pass('the worker runs although no page was opened and no bookmark changed')
  })

  t.test("Mozilla's linter finds no fault in the extension for Firefox", async (t) => {
    const { errors, warnings, notices } = JSON.parse(await lint())
    t.same([errors, warnings, notices], [[], [], []])
  })
}

/** A site with a self-signed certificate. Returns its port. */
async function startSite(t: Test, listener: RequestListener): Promise<number> {
  const { caFile, keyFile } = await makeCertificate(await folder(t))
  const server = createServer({ cert: await readFile(caFile), key: await readFile(keyFile) }, listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Runs Mozilla's linter with npx, because it is too large for a dependency. */
async function lint(): Promise<string> {
  const firefox = fileURLToPath(new URL('../../dist/extension/firefox', import.meta.url))
  const args = ['--yes', 'web-ext@10.7.0', 'lint', '--output', 'json', '--source-dir', firefox]
  return (await promisify(execFile)('npx', args, { maxBuffer: 1e8 })).stdout
}
