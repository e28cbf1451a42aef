import { mkdir, readdir, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import type { Answer, WorkerState } from '../../src/extension/app/platform.ts'
import type { Report } from '../../src/service/terminal/progress.ts'
import { buildExtension } from '../package/extension.ts'
import { launchChromium } from '../servers/chromium.ts'
import { openExtensionPage } from './extension-page.ts'

const folder = new URL('../../dist/store/', import.meta.url)
const locales = new URL('../../examples/extension/_locales/', import.meta.url)

export const inStep: WorkerState = {
  setup: 'ready',
  isPaused: false,
  sync: { state: 'online', lastSync: Date.now(), waiting: 0 },
  browser: { state: 'in-step' },
  refused: [],
  conflicts: [],
  leftOut: [],
  roots: [],
}
const titles = ['RFC 9106', 'Trains', 'Maps', 'Weather', 'Bread', 'Local-first software']
const held = { browser: titles.map((title, id) => ({ id: `${id}`, title })), devices: [] }

/** For each picture, the page of the extension and what its worker answers. */
const pictures: Record<string, [page: string, answer: Answer]> = {
  '1-set-up': ['start', { state: { ...inStep, setup: 'new', sync: null, browser: null } }],
  '2-in-step': ['popup', { state: inStep }],
  '3-question': [
    'popup',
    { state: { ...inStep, browser: { state: 'in-step', heldRemovals: { count: 6, of: 20 } } }, held },
  ],
  '4-settings': ['options', { state: inStep }],
}

/** Draws the store pictures of the extension in each language. Returns their folder. */
export async function drawStore(report: Report): Promise<string> {
  await using opened = new AsyncDisposableStack()
  const languages = await readdir(locales)
  report('building the extension', 0, languages.length + 1)
  await buildExtension()
  await rm(folder, { recursive: true, force: true })
  const browser = await launchChromium()
  opened.defer(() => browser.close())
  for (const [index, language] of languages.entries()) {
    report(`drawing: ${language}`, index + 1, languages.length + 1)
    await mkdir(new URL(`${language}/`, folder), { recursive: true })
    // Both stores accept this size.
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: language })
    for (const [name, [page, answer]] of Object.entries(pictures)) {
      const shown = await openExtensionPage(context, page, answer, language)
      await shown.locator('html:not(.wordless) h1:not(:text("…"))').waitFor()
      await enlarge(shown)
      await shown.screenshot({ path: fileURLToPath(new URL(`${language}/${name}.png`, folder)) })
    }
  }
  return fileURLToPath(folder)
}

/** Enlarges the page to a card in the middle of the picture. */
async function enlarge(page: Page): Promise<void> {
  await page.evaluate(() => {
    const { body, documentElement } = document
    const { width, height } = body.getBoundingClientRect()
    body.style.borderRadius = '12px'
    body.style.zoom = `${Math.min(2, (0.9 * innerHeight) / height, (0.9 * innerWidth) / width)}`
    body.style.margin = '0'
    Object.assign(documentElement.style, {
      display: 'grid',
      placeContent: 'center',
      height: '100vh',
      background: '#0b57a4',
    })
  })
}
