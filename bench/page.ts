import { randomBytes } from 'node:crypto'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { launchChromium } from '../scripts/servers/chromium.ts'
import type { Alone, Step, Visit } from './page-steps.ts'
import { openServices } from './servers/service.ts'

const counts = [20_000, 50_000]
const links = 100_000
const main = fileURLToPath(new URL('../src/service/main.ts', import.meta.url))
const script = fileURLToPath(new URL('page-steps.ts', import.meta.url))
const reader = fileURLToPath(new URL('../src/web/settings/reading-worker.ts', import.meta.url))

/** Measures how long a person with many bookmarks waits in Chromium, and how long the page does not respond. */
export async function measurePage(): Promise<void> {
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await mkdtempDisposable(join(tmpdir(), 'ebs-bench-')))
  // An empty PUBLIC_URL means the address where the service listens. The page must come from there.
  const env = { NODE_ENV: 'development', PUBLIC_URL: '', SERVE_APP: 'false' }
  const prepared = await openServices(main, undefined, folder.path).prepare({ people: counts.length, env })
  const { origin, newUser } = opened.adopt(await prepared.restart(), (it) => it.close())
  const browser = opened.adopt(await launchChromium(), (it) => it.close())
  for (const count of counts) {
    const { user: userId, headers } = await newUser()
    const cookie = headers.cookie ?? ''
    const user = { count, userId, masterKey: [...randomBytes(32)] }
    const visit = async (page: Page, kind: Visit['kind']) => {
      await loadSteps(page, origin)
      const steps = await page.evaluate<Step[]>(`visit(${JSON.stringify({ ...user, kind } satisfies Visit)})`)
      for (const step of steps) print(count, step)
    }
    const first = await openDevice(browser, origin, cookie)
    await visit(first, 'import')
    await first.context().close()
    const second = await openDevice(browser, origin, cookie)
    await visit(second, 'first sync')
    await visit(second, 'reload')
    await second.context().close()
  }
  await measureReading(browser, origin)
}

/** Measures the worker that reads bookmark files for the page. */
async function measureReading(browser: Browser, origin: string): Promise<void> {
  const page = await openDevice(browser, origin)
  const body = await bundle(reader)
  await page.route('**/reading.js', (route) => route.fulfill({ contentType: 'text/javascript', body }))
  await loadSteps(page, origin)
  for (const step of await page.evaluate<Step[]>(`readFiles(${links})`)) print(links, step)
  await page.context().close()
}

/** Opens a page with this cookie. Bypasses the service's content security policy, which allows no requests. */
async function openDevice(browser: Browser, url: string, cookie?: string): Promise<Page> {
  const context = await browser.newContext({ bypassCSP: true })
  const [name = '', value = ''] = cookie?.split('=') ?? []
  if (cookie) await context.addCookies([{ name, value, url }])
  return context.newPage()
}

/** Loads any page of the service, because the steps need the service's origin, and then the script with the steps. */
async function loadSteps(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/api/v1/health`)
  await page.evaluate(await bundle(script))
}

async function bundle(path: string): Promise<string> {
  const { outputFiles } = await build({ entryPoints: [path], bundle: true, format: 'iife', write: false })
  return outputFiles[0]?.text ?? ''
}

function print(count: number, { name, total, stall, alone }: Step): void {
  const [all, longest] = [total, stall].map((ms) => ms.toFixed(0).padStart(7)) as [string, string]
  const part = alone && `   ${(total / (alone.network + alone.cipher)).toFixed(2)} of ${describe(alone)}`
  console.log(`${`${count}`.padEnd(8)}${name.padEnd(40)}${all} ms   longest stall ${longest} ms${part ?? ''}`)
}

function describe({ network, cipher }: Alone): string {
  const parts = [`the cipher alone (${cipher.toFixed(0)} ms)`]
  return [...(network > 0 ? [`the network alone (${network.toFixed(0)} ms)`] : []), ...parts].join(' and ')
}
