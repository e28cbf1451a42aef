import type { Page } from 'playwright-core'
import t from 'tap'
import { de, deLater } from '../../src/web/words/de.ts'
import { en, enLater } from '../../src/web/words/en.ts'
import { isDeep } from '../support/depth.ts'
import { faultsIn, type Look } from './docs-page.ts'
import {
  addBookmark,
  demoOrigin,
  enterVault,
  keepsPage,
  link,
  live,
  openChromium,
  openContext,
  show,
  signInWithoutPage,
  withoutNetwork,
} from './fixture.ts'

/** Texts that exist only in English. A German page must not show them. */
const germanTexts = new Set(plainTexts({ ...de, ...deLater }))
const englishOnly = new Set(plainTexts({ ...en, ...enLater }).filter((text) => !germanTexts.has(text)))

const looks: Look[] = isDeep
  ? [
      ['light', 1440],
      ['dark', 390],
    ]
  : [['light', 390]]

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('versions, the trash, going back in time, devices, and the German page', async (t) => {
    const origin = await demoOrigin()
    const look = { ...keepsPage, viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' } as const
    const page = await (await openContext(t, browser, look)).newPage()
    await enterVault(page, origin, 'Lamarr')
    await addBookmark(page, 'Frequency hopping', 'https://example.org/patents/2292387')
    await addBookmark(page, 'Torpedoes', 'https://example.org/torpedoes')
    await live(page)

    await t.test('the history of a bookmark marks what changed, and a version can be restored', async (t) => {
      await page.getByRole('button', { name: 'Edit Frequency hopping' }).click()
      await page.getByRole('textbox', { name: 'Address' }).fill('https://example.com/patents/2292387')
      await page.getByRole('textbox', { name: 'Title' }).fill('Frequency hopping for torpedoes')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await link(page, 'Frequency hopping for torpedoes').waitFor()
      await live(page)
      await page.getByRole('button', { name: 'More for Frequency hopping for torpedoes' }).click()
      await page.getByRole('menuitem', { name: 'History' }).click()
      const entries = page.locator('.versions > li')
      await entries.nth(1).waitFor()
      t.same(await marked(page), { removed: ['org'], added: ['com', ' for torpedoes'] })
      t.match(await entries.first().textContent(), /^Now since (a moment|\d+ minutes?) ago, /)
      t.match(
        await entries.last().textContent(),
        /^Added (a moment|\d+ minutes?) ago, .*This browser\. Replaced by a later change\./,
      )
      t.same(await faultsIn(page, 'history', looks), [])

      const restore = entries.last().getByRole('button', { name: /^Restore this version/ })
      await restore.click()
      await page.getByText('“Frequency hopping” restored').waitFor()
      await entries.nth(2).waitFor()
      t.equal(await page.locator('.history-of strong').textContent(), 'Frequency hopping')
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.locator('.history-of strong', { hasText: 'for torpedoes' }).waitFor()
    })

    await t.test('a deleted bookmark can be undone at once, found in the trash, restored, and erased', async (t) => {
      await show(page, 'folder')
      await page.getByRole('button', { name: 'Delete Torpedoes' }).click()
      await page.getByText('“Torpedoes” deleted').waitFor()
      await page.getByRole('button', { name: 'Undo' }).last().click()
      await link(page, 'Torpedoes').waitFor()
      for (const title of ['Torpedoes', 'Frequency hopping for torpedoes']) {
        await page.getByRole('button', { name: `Delete ${title}`, exact: true }).click()
        await link(page, title).waitFor({ state: 'detached' })
      }
      await live(page)
      await withoutNetwork(page, async () => {
        await show(page, 'trash')
        await page.getByText('This needs a connection to the service.').waitFor()
      })
      const rows = page.getByRole('list', { name: 'Deleted bookmarks' }).getByRole('listitem')
      await rows.nth(1).waitFor()
      t.match(
        await rows.first().textContent(),
        /Frequency hopping.*Deleted (a moment|\d+ minutes?) ago, erased for good in 30 days/,
      )
      await page.getByLabel('Select Torpedoes').click()
      await page.getByRole('button', { name: 'Restore 1 selected' }).waitFor()
      t.same(await faultsIn(page, 'trash', looks), [])
      await page.getByRole('button', { name: 'Select all' }).click()
      await page.getByRole('button', { name: 'Restore 2 selected' }).click()
      await page.getByText('The trash is empty').waitFor()
      const restored = page.locator('.toast', { hasText: '“Frequency hopping for torpedoes” and 1 more restored' })
      await restored.getByRole('button', { name: 'Undo' }).click()
      await rows.nth(1).waitFor()

      await page.getByLabel('Search in the trash').fill('HOPPING example.com')
      await page.getByText('1 found').waitFor()
      await page.getByRole('button', { name: 'Restore Frequency hopping' }).click()
      await page.getByText('“Frequency hopping for torpedoes” restored').waitFor()
      await page.getByLabel('Search in the trash').fill('')
      await page.getByRole('button', { name: 'More for Torpedoes' }).click()
      await page.getByRole('menuitem', { name: 'Erase now…' }).click()
      await page.getByRole('button', { name: 'Erase for good' }).click()
      await page.getByText('The trash is empty').waitFor()
    })

    await t.test('going back in time shows a preview of the changes first, and can be undone', async (t) => {
      await show(page, 'folder')
      await addBookmark(page, 'Spread spectrum', 'https://example.org/spread')
      await live(page)
      await show(page, 'go-back')
      await page.route('**/api/v1/sync/rewind', (route) => route.abort(), { times: 1 })
      await page.getByRole('button', { name: 'Yesterday, this time' }).click()
      await page.getByText('Check your connection, then try again. Nothing was changed.').waitFor()
      await page.getByRole('button', { name: 'Try again' }).click()
      const shown = page.getByRole('region', { name: 'What would change' })
      await shown.waitFor()
      t.match(await shown.textContent(), /0 restored.*2 deleted/)
      t.same(await faultsIn(page, 'go-back', looks), [])
      await shown.getByRole('button', { name: /^Go back to / }).click()
      const done = page.getByRole('region', { name: 'What happened' })
      await done.waitFor()
      t.match(await done.textContent(), /0 restored.*2 deleted/)
      t.same(await faultsIn(page, 'gone-back', looks), [])
      await done.getByRole('button', { name: 'Undo going back' }).click()
      await done.getByText('2 restored').waitFor()
      await show(page, 'folder')
      await page.getByRole('link', { name: 'Spread spectrum' }).waitFor()
    })

    await t.test('an edit that lost on a vanished device is shown, and can be restored', async (t) => {
      await page.route('**/api/v1/sync/conflicts', async (route) => {
        const response = await route.fetch()
        const { conflicts, next } = await response.json()
        // Pretend that the edit lost an hour ago: in the first ten minutes, only its own device shows the conflict.
        const older = conflicts.map((one: { ended: number }) => ({ ...one, ended: one.ended - 3_600_000 }))
        await route.fulfill({ response, json: { conflicts: older, next } })
      })
      await show(page, 'conflicts')
      await page.getByText('No conflicts').waitFor()
      await loseOnAnotherDevice(page)
      const lost = page.getByRole('region', { name: 'On other devices' })
      await lost.getByText('on old-laptop').waitFor()
      t.same(await faultsIn(page, 'server-conflicts', looks), [])
      await lost.getByRole('button', { name: 'Put it back' }).click()
      await lost.waitFor({ state: 'detached' })
    })

    await t.test('the settings show sessions, devices and storage', async (t) => {
      const other = await openContext(t, browser)
      await signInWithoutPage(other, origin, 'Lamarr')
      await show(page, 'account')
      const sessions = page.getByRole('region', { name: 'Where you are signed in' })
      await sessions.getByRole('listitem').nth(1).waitFor()
      t.match(await sessions.textContent(), /Chrome on Linux/)
      await page.getByRole('meter', { name: 'Bookmarks and their history' }).waitFor()
      t.same(await faultsIn(page, 'account', looks), [])
      const devices = page.getByRole('region', { name: 'Devices', exact: true })
      await devices.getByRole('button', { name: 'Rename This browser' }).click()
      const dialog = page.getByRole('dialog', { name: 'Rename This browser' })
      await dialog.getByLabel('New name').fill('Office computer')
      t.same(await faultsIn(page, 'rename-device', looks), [])
      await dialog.getByRole('button', { name: 'Rename', exact: true }).click()
      await dialog.waitFor({ state: 'detached' })
      await devices.getByText('Office computer').waitFor()
      t.match(await devices.textContent(), /Chrome on Linux \(\w{4}\)/, 'the kind of device is still shown')
      await sessions.getByRole('button', { name: 'Sign out Chrome on Linux' }).click()
      await sessions.getByRole('listitem').nth(1).waitFor({ state: 'detached' })
      t.equal((await other.request.get(`${origin}/api/v1/auth/session`)).status(), 401)
    })

    await t.test('the page switches to German, and stays German offline', async (t) => {
      const choose = async (button: string, language: string) => {
        await page.getByRole('navigation').getByRole('button', { name: button }).click()
        await page.getByRole('menuitemradio', { name: language }).click()
      }
      await choose('Language', 'Deutsch')
      await page.getByRole('heading', { name: 'Geräte und Konto' }).waitFor()
      const left: Record<string, string[]> = {}
      const others = ['all', 'conflicts', 'trash', 'go-back', 'account', 'security', 'shortcuts']
      for (const view of ['folder', 'settings', ...(isDeep ? others : [])]) {
        await show(page, view)
        await page.locator('.main h1').waitFor()
        await page.waitForFunction(() => !document.querySelector('.main .waiting'))
        const english = (await textsOn(page)).filter((text) => englishOnly.has(text))
        if (english.length > 0) left[view] = english
      }
      t.same(left, {})
      await withoutNetwork(page, async () => {
        await page.reload()
        await page.getByRole('button', { name: 'Sprache' }).waitFor()
        t.equal(await page.evaluate(() => document.documentElement.lang), 'de')
      })
      await choose('Sprache', 'Automatisch')
      await page.getByRole('button', { name: 'Language' }).waitFor()
      await show(page, 'account')
      const context = await openContext(t, browser, { locale: 'de-AT' })
      const front = await context.newPage()
      await front.goto(origin)
      await front.getByRole('button', { name: 'Anmelden' }).waitFor()
      t.same(
        (await textsOn(front)).filter((text) => englishOnly.has(text)),
        [],
      )
    })
  })
}

function plainTexts(entry: unknown): string[] {
  if (typeof entry === 'string') return [entry]
  return typeof entry === 'function' ? [] : Object.values(entry as object).flatMap(plainTexts)
}

/** All texts of the page, including names for screen readers. */
async function textsOn(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const texts: string[] = [document.title.split(' · ')[0] ?? '']
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) texts.push(walker.currentNode.nodeValue?.trim() ?? '')
    for (const element of document.querySelectorAll('body *')) {
      for (const name of ['aria-label', 'title', 'placeholder']) texts.push(element.getAttribute(name) ?? '')
    }
    return [...new Set(texts)].filter(Boolean)
  })
}

/** The marked differences in all shown versions. */
async function marked(page: Page) {
  const [removed, added] = await Promise.all(['del', 'ins'].map((kind) => page.locator(kind).allTextContents()))
  return { removed, added }
}

/** Another device sends an edit that loses, and a delete of another bookmark. It never syncs again. */
async function loseOnAnotherDevice(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const call = async (path: string, init?: RequestInit) => (await fetch(`/api/v1/${path}`, init)).json()
    const headers = { 'content-type': 'application/json' }
    const post = (body: unknown) => ({ method: 'POST', headers, body: JSON.stringify(body) })
    const { changes, last_sync_timestamp: base } = await call('sync/pull', post({}))
    for (const { entity_id, data_hash } of changes) {
      const { versions } = await call(`bookmarks/${entity_id}/versions`)
      const old = versions.find((version: (typeof changes)[0]) => version.data_hash && version.data_hash !== data_hash)
      if (!old) continue
      const by = { id: crypto.randomUUID(), device_id: 'old-laptop', timestamp: Date.now() - 3 * 86_400_000, base: 0 }
      const content = { encrypted_data: old.encrypted_data, data_hash: old.data_hash }
      const change = { ...by, entity_type: 'bookmark', entity_id, operation: 'update', ...content }
      await call('sync/push', post({ changes: [change] }))
      const other = changes.find(
        (one: (typeof changes)[0]) => one.entity_id !== entity_id && one.operation !== 'delete',
      )
      const deletion = {
        ...by,
        id: crypto.randomUUID(),
        timestamp: Date.now(),
        entity_type: 'bookmark',
        base,
        entity_id: other.entity_id,
      }
      // The lost edit reaches no other device. At this delete, the page reads the conflicts again.
      await call('sync/push', post({ changes: [{ ...deletion, operation: 'delete' }] }))
      return
    }
  })
}
