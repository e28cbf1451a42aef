import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, type BrowserContext, chromium, errors } from 'playwright-core'
import type { Test } from 'tap'
import { chromiumArguments, findChromium } from '../../../scripts/development/servers/chromium.ts'
import { folder } from '../../support/service.ts'

/** A browser that runs on while nobody watches: a debugger that is attached to an extension's worker keeps it running. */
export interface ExtensionBrowser {
  /** Watches the browser while the work is done, and only then. */
  watch<T>(work: (context: BrowserContext) => Promise<T>): Promise<T>
  /** Resolves once no worker of this origin runs; asking does not keep it running. */
  workerStopped(origin: string): Promise<void>
}

/** Chromium with these unpacked extensions. */
export async function startWithExtensions(t: Test, extensions: string[]): Promise<ExtensionBrowser> {
  const profile = await folder(t)
  const child = spawn(
    await findChromium(),
    [
      ...chromiumArguments,
      '--headless=new',
      '--remote-debugging-port=0',
      `--user-data-dir=${profile}`,
      `--load-extension=${extensions}`,
      `--disable-extensions-except=${extensions}`,
    ],
    { stdio: 'ignore' },
  )
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const port = await debuggingPort(profile)
  return {
    async watch(work) {
      const browser = await connect(port)
      try {
        const [context] = browser.contexts()
        if (!context) throw new Error('Chromium has no profile')
        context.setDefaultTimeout(600_000)
        return await work(context)
      } finally {
        await browser.close()
      }
    },
    async workerStopped(origin) {
      while ((await workersOf(port, origin)) > 0) await sleep(100)
    },
  }
}

async function workersOf(port: string, origin: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/json/list`)
  const targets = (await response.json()) as { type: string; url: string }[]
  return targets.filter(({ type, url }) => type === 'service_worker' && url.startsWith(origin)).length
}

/** Chromium writes it to a file once it listens. */
async function debuggingPort(profile: string): Promise<string> {
  for (;;) {
    const [port] = (await readFile(join(profile, 'DevToolsActivePort'), 'utf8').catch(() => '')).split('\n')
    if (port) return port
    await sleep(20)
  }
}

/** A worker that starts or stops just then may leave the connection without an answer: then it is tried anew. */
async function connect(port: string): Promise<Browser> {
  for (let timeout = 10_000; ; timeout *= 2) {
    try {
      return await chromium.connectOverCDP(`http://127.0.0.1:${port}`, { timeout })
    } catch (error) {
      if (!(error instanceof errors.TimeoutError)) throw error
    }
  }
}
