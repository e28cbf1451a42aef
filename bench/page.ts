import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { launchChromium } from '../scripts/servers/chromium.ts'
import { createClient } from '../src/client/api/client.ts'
import { unwrap } from '../src/client/api/unwrap.ts'
import type { Alone, Step, Visit } from './page-steps.ts'
import { startBenchService } from './service.ts'

const counts = [20_000, 50_000]
const script = fileURLToPath(new URL('page-steps.ts', import.meta.url))

/** How long a person with many bookmarks waits in Chromium, and the longest time in which the page does not respond. */
export async function measurePage(): Promise<void> {
  await using service = await startBenchService()
  const browser = await launchChromium()
  try {
    for (const count of counts) {
      const session = await service.newSession()
      const user = { count, userId: await userIdOf(service.origin, session), masterKey: [...randomBytes(32)] }
      const visit = async (page: Page, kind: Visit['kind']) => {
        await loadSteps(page, service.origin)
        const steps = await page.evaluate<Step[]>(`visit(${JSON.stringify({ ...user, kind } satisfies Visit)})`)
        for (const step of steps) print(count, step)
      }
      const first = await openDevice(browser, service.origin, session)
      await visit(first, 'import')
      await first.context().close()
      const second = await openDevice(browser, service.origin, session)
      await visit(second, 'first sync')
      await visit(second, 'reload')
      await second.context().close()
    }
  } finally {
    await browser.close()
  }
}

/** A page of a device of this person; the service's policy, which allows no requests, is turned off. */
async function openDevice(browser: Browser, origin: string, session: string): Promise<Page> {
  const context = await browser.newContext({ bypassCSP: true })
  await context.addCookies([{ name: 'service_session', value: session, url: origin }])
  return context.newPage()
}

/** Loads a page of the service, whose origin the steps need, and the steps. */
async function loadSteps(page: Page, origin: string): Promise<void> {
  const { outputFiles } = await build({ entryPoints: [script], bundle: true, format: 'iife', write: false })
  await page.goto(`${origin}/api/v1/health`)
  await page.evaluate(outputFiles[0]?.text ?? '')
}

async function userIdOf(baseUrl: string, session: string): Promise<string> {
  const headers = { cookie: `service_session=${session}` }
  const client = createClient({ baseUrl, deviceId: 'bench', fetch: (request) => fetch(request, { headers }) })
  return unwrap(await client.GET('/api/v1/auth/session')).user.user_id
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
