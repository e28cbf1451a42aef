import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { folder } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { type ExtensionBrowser, startChromium } from './chromium.ts'
import { built, origin } from './installed.ts'

/** Where Chromium keeps an extension that its user has loaded unpacked (location 4) and enabled (state 1). */
const kept = {
  path: built,
  location: 4,
  state: 1,
  active_permissions: permissions(),
  granted_permissions: permissions(),
}

/** A Chromium with the extension in its profile: only then does it start as for its users, who installed it once. */
export async function startKept(t: Test): Promise<ExtensionBrowser> {
  const profile = await folder(t)
  const settings = { [new URL(origin).hostname]: kept }
  const preferences = { extensions: { ui: { developer_mode: true }, settings } }
  await mkdir(join(profile, 'Default'))
  await writeFile(join(profile, 'Default', 'Preferences'), JSON.stringify(preferences))
  const chromium = await startChromium(t, profile)
  // A page of it starts the worker, which says from then on what it is to be started for.
  await chromium.watch(async (context) => {
    const page = await context.newPage()
    await until(() =>
      page.goto(`${origin}/options.html`).then(
        () => true,
        () => false,
      ),
    )
    await page.getByText('Not set up yet').waitFor()
  })
  return chromium
}

/** As its user closes the browser, and opens it again. */
export async function closeAndOpen(chromium: ExtensionBrowser): Promise<void> {
  await chromium.watch(async (context) => {
    const debugging = await context.browser()?.newBrowserCDPSession()
    await debugging?.send('Browser.close').catch(() => {})
  })
  await chromium.startAgain()
}

function permissions() {
  return {
    api: ['alarms', 'bookmarks', 'cookies', 'storage'],
    explicit_host: [],
    manifest_permissions: [],
    scriptable_host: [],
  }
}
