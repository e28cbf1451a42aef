/** With `--deep`: tab groups of the example extension in two Chromiums and two Firefoxes. BROWSER=<name> runs one. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { buildForTests } from '../../scripts/test/build.ts'
import type { Platform } from '../../src/extension/app/platform.ts'
import { isDeep } from '../support/depth.ts'
import { folder, startService } from '../support/service.ts'
import {
  followsWindow,
  type GroupsBrowser,
  isFoundAgain,
  opensAgain,
  saveOpenAndChange,
  startSite,
} from './extension/groups.ts'
import { Installed, origin, startKept } from './extension/installed.ts'
import { setUp } from './extension/set-up.ts'
import { Installed as InFirefox, named } from './firefox/installed.ts'
import { findFirefox } from './firefox/launch.ts'
import { developmentProvider, openChromium } from './fixture.ts'

declare const chrome: Platform

const { BROWSER = '' } = process.env
const browserOf = (browser: Installed): GroupsBrowser => ({
  evaluate: (work, value) => browser.page.evaluate(work as never, value as never),
  ask: (question) => browser.ask(question),
})
/** Longer than the extension waits for a browser to settle. */
const settledMs = 7000

if (!isDeep) t.plan(0, 'with --deep')
else {
  await buildForTests('extension')
  const chromium = await openChromium()
  const firefox = await findFirefox()
  const skipChromium = typeof chromium === 'string' ? chromium : !'chromium'.includes(BROWSER)
  const skipFirefox = firefox === undefined ? 'Firefox is not installed' : !'firefox'.includes(BROWSER)

  t.test('Two Chromiums share a tab group, which survives a close and a crash', { skip: skipChromium }, async (t) => {
    const service = await startService(t, await folder(t), await developmentProvider())
    const site = await startSite(t)
    const start = () => Installed.start(t, ['tabs', 'tabGroups'], ['--restore-last-session'])
    const [one, two] = [await start(), await start()]
    for (const browser of [one, two]) await setUp(browser, service, 'Ada')
    const [first, second] = [one, two].map(browserOf) as [GroupsBrowser, GroupsBrowser]
    await saveOpenAndChange(t, first, second, site)
    await two.inTab('popup', async (popup) => {
      await popup.getByText('Tab groups').click()
      await popup.getByText('Open here.').waitFor()
      await popup.getByLabel('Search groups and tabs').fill('page c')
      await popup.getByText('Renamed', { exact: true }).waitFor()
      await popup.getByLabel('Search groups and tabs').fill('nothing')
      await popup.getByText('Renamed', { exact: true }).waitFor({ state: 'hidden' })
    })
    await two.closeAndOpen()
    await sleep(settledMs)
    await isFoundAgain(t, second)
    await two.crash()
    await sleep(settledMs)
    await opensAgain(t, second)
    await isFoundAgain(t, second)
    await isFoundAgain(t, first)
  })

  t.test(
    'A Chromium without tab groups opens a group as a window, and follows only that window',
    { skip: skipChromium },
    async (t) => {
      const service = await startService(t, await folder(t), await developmentProvider())
      const site = await startSite(t)
      const one = await Installed.start(t, ['tabs', 'tabGroups'])
      const two = await Installed.start(t, ['tabs'], ['--restore-last-session'])
      for (const browser of [one, two]) await setUp(browser, service, 'Ada')
      const [first, second] = [one, two].map(browserOf) as [GroupsBrowser, GroupsBrowser]
      await followsWindow(t, first, second, site, async () => {
        await two.closeAndOpen()
        await sleep(settledMs)
      })
    },
  )

  t.test(
    'After tab groups were turned off in Chromium, they stay off until the browser asks again',
    { skip: skipChromium },
    async (t) => {
      const service = await startService(t, await folder(t), await developmentProvider())
      const chromium = await startKept(t, { api: ['tabs', 'tabGroups'], sites: ['http://127.0.0.1/*'] })
      await chromium.watch(async (context) => {
        const page = await context.newPage()
        const open = async (name = 'start') => void (await page.goto(`${origin}/${name}.html`))
        await setUp({ page, open }, service, 'Ada')
        await page.evaluate((url) => chrome.tabs.create({ url, active: false }), service.origin)
        await open('popup')
        await page.getByText('Tab groups').click()
        await page.getByLabel('Name').fill('All')
        await page.getByRole('button', { name: 'Save this window' }).click()
        await page.getByText('Open here.').waitFor()
        await page.getByRole('button', { name: 'Turn off' }).click()
        await page.getByRole('button', { name: 'Turn on' }).waitFor()
        const left = () =>
          page.evaluate(async () => {
            const has = ['tabs', 'tabGroups'].map((name) => chrome.permissions.contains({ permissions: [name] }))
            return [...(await Promise.all(has)), await chrome.storage.local.get(['groups'])]
          })
        t.same(await left(), [false, false, {}])
      })
    },
  )

  t.test('Two Firefoxes share a tab group, once their users have turned that on', { skip: skipFirefox }, async (t) => {
    const env = { ...(await developmentProvider()), CORS_ORIGIN: 'moz-extension://*' }
    const service = await startService(t, await folder(t), env)
    const site = await startSite(t)
    const [one, two] = [await InFirefox.start(t, firefox as string), await InFirefox.start(t, firefox as string)]
    for (const browser of [one, two]) {
      await browser.setUp(service, 'Ada')
      await browser.inTab('popup', async (popup) => {
        await popup.locator('#groups summary').click()
        await popup.locator(named('button', 'Turn on')).click()
        await popup.locator('::-p-text(No tab group is saved yet.)').wait()
      })
    }
    const [first, second] = [one, two].map(
      (browser): GroupsBrowser => ({
        evaluate: (work, value) => browser.page.evaluate(work as never, value as never) as never,
        ask: (question) => browser.ask(question),
      }),
    ) as [GroupsBrowser, GroupsBrowser]
    await saveOpenAndChange(t, first, second, site)
    await second.ask({ ask: 'groups' })
    await two.stopBackground()
    await isFoundAgain(t, second)
    await two.inTab('popup', async (popup) => {
      await popup.locator('#groups summary').click()
      await popup.locator(named('button', 'Turn off')).click()
      await popup.locator(named('button', 'Turn on')).wait()
    })
  })
}
