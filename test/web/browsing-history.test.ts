/** With --deep: the browsing history of one person in Chromium and Firefox, with the real minute between two pushes. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { buildForTests } from '../../scripts/test/build.ts'
import type { Answer, Platform, Question } from '../../src/extension/app/platform.ts'
import { isDeep } from '../support/depth.ts'
import { folder, startService } from '../support/service.ts'
import { Installed as Chromium } from './extension/installed.ts'
import { setUp } from './extension/set-up.ts'
import { Installed as Firefox, named } from './firefox/installed.ts'
import { findFirefox } from './firefox/launch.ts'
import { developmentProvider, openChromium } from './fixture.ts'

declare const chrome: Platform & { history: NonNullable<Platform['history']> }

interface Side {
  ask(question: Question): Promise<Answer>
  /** Visits the address in a new tab. */
  visit(url: string): Promise<void>
  /** The times (Unix ms) of the address in the browser's own history. */
  times(url: string): Promise<number[]>
  remove(url: string): Promise<void>
}

const limitMs = 130_000
const timesOf = async (url: string) => (await chrome.history.getVisits({ url })).map(({ visitTime = 0 }) => visitTime)

const firefoxProgram = isDeep ? await findFirefox() : undefined
const chromium = await openChromium()
if (typeof chromium === 'string' || firefoxProgram === undefined)
  t.plan(0, isDeep ? 'a browser is missing' : 'with --deep')
else {
  t.test('A page visited in one browser is found in the other, and a removed one stays removed', async (t) => {
    await buildForTests('extension')
    const site = createServer(({ url }, answer) => {
      if (url === '/redirect') {
        answer.writeHead(302, { location: '/target' }).end()
        return
      }
      const frame = url === '/framed' ? '<iframe src="/frame"></iframe>' : ''
      answer.setHeader('content-type', 'text/html').end(`<title>Page ${url?.slice(1)}</title>${frame}`)
    })
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
    t.teardown(() => site.close())
    const urlOf = (name: string) => `http://127.0.0.1:${(site.address() as AddressInfo).port}/${name}`

    const env = { ...(await developmentProvider()), CORS_ORIGIN: 'moz-extension://*' }
    const service = await startService(t, await folder(t), env)
    const inChromium = await Chromium.start(t, ['history'])
    await setUp(inChromium, service, 'Ada')
    const inFirefox = await Firefox.start(t, firefoxProgram)
    await inFirefox.setUp(service, 'Ada')
    const one: Side = {
      ask: (question) => inChromium.ask(question),
      async visit(url) {
        const page = await inChromium.page.context().newPage()
        await page.goto(url)
        await page.close()
      },
      times: (url) => inChromium.page.evaluate(timesOf, url),
      remove: (url) => inChromium.page.evaluate((url) => chrome.history.deleteUrl({ url }), url),
    }
    const two: Side = {
      ask: (question) => inFirefox.ask(question) as Promise<Answer>,
      visit: (url) => inFirefox.visitInTab(url),
      times: (url) => inFirefox.page.evaluate(timesOf, url),
      remove: (url) => inFirefox.page.evaluate((url) => chrome.history.deleteUrl({ url }), url),
    }
    const find = async ({ ask }: Side, words: string) => {
      const { visits } = await ask({ ask: 'visits', act: { do: 'find', words } })
      return (visits?.pages ?? []).map(({ url, title }) => `${url} ${title}`)
    }
    const inTime = async (holds: () => Promise<boolean>) => {
      const start = Date.now()
      while (!(await holds())) {
        if (Date.now() - start > limitMs) return `not in ${limitMs} ms`
        await sleep(1000)
      }
      t.comment(`after ${Date.now() - start} ms`)
      return ''
    }

    await one.ask({ ask: 'visits', act: { do: 'turn-on' } })
    await inFirefox.inTab('options', async (options) => {
      await options.locator(named('button', 'Turn on for this browser')).click()
      await options.locator(named('button', 'Pause for an hour')).wait()
    })
    t.pass('Firefox turns it on in its settings, with its permission')

    const visited = ['from-chromium', 'redirect', 'framed', 'paused', 'odd%20%C3%A4#part']
    for (const name of visited) await one.visit(urlOf(name))
    await two.visit(urlOf('from-firefox'))
    t.equal(await inTime(async () => (await find(two, 'from-chromium')).length > 0), '', 'found in Firefox')
    t.equal(await inTime(async () => (await find(one, 'from-firefox')).length > 0), '', 'found in Chromium')
    const names = ['framed', 'from-chromium', 'from-firefox', 'odd%20%C3%A4', 'paused', 'target']
    const expected = names.map((name) => `${urlOf(name)} Page ${name}`)
    const ofSite = async (side: Side) => (await find(side, 'page')).filter((line) => line.includes(urlOf(''))).sort()
    for (const side of [one, two]) t.same(await ofSite(side), expected)
    const [time = 0] = await one.times(urlOf('from-chromium'))
    t.equal(await inTime(async () => (await two.times(urlOf('from-chromium'))).length > 0), '')
    t.same(await two.times(urlOf('from-chromium')), [Math.floor(time)], 'Firefox’s history has the visit')
    t.same(await one.times(urlOf('from-firefox')), [], 'Chromium writes nothing')

    await two.remove(urlOf('from-chromium'))
    t.equal(await inTime(async () => (await one.times(urlOf('from-chromium'))).length === 0), '', 'removed in Chromium')
    await one.ask({ ask: 'pause' })
    await one.remove(urlOf('paused'))
    await one.ask({ ask: 'resume' })
    t.equal(await inTime(async () => (await find(two, 'paused')).length === 0), '', 'a removal during the pause')
    await inChromium.closeAndOpen()
    await inChromium.stopWorker()
    await inFirefox.stopBackground()
    await sleep(limitMs)
    for (const side of [one, two]) {
      t.same(
        [await find(side, 'from-chromium'), await side.times(urlOf('from-chromium'))],
        [[], []],
        'it stays removed',
      )
      t.same(
        await ofSite(side),
        expected.filter((line) => !/chromium|paused/.test(line)),
        'no other page is removed',
      )
    }
  })
}
