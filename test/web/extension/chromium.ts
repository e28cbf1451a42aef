import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'
import type { Test } from 'tap'
import { chromiumArguments, findChromium } from '../../../scripts/development/servers/chromium.ts'
import { folder } from '../../support/service.ts'

/** A browser that lives on while nobody watches: a debugger at an extension's worker keeps it from falling asleep. */
export interface ExtensionBrowser {
  /** Watches the browser while the work is done, and only then. */
  watch<T>(work: (context: BrowserContext) => Promise<T>): Promise<T>
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
  }
}

/** Chromium writes it down once it listens. */
async function debuggingPort(profile: string): Promise<string> {
  for (;;) {
    const [port] = (await readFile(join(profile, 'DevToolsActivePort'), 'utf8').catch(() => '')).split('\n')
    if (port) return port
    await sleep(20)
  }
}

/** A worker that starts or ends just then may keep the connection waiting for ever. */
async function connect(port: string): Promise<Browser> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await chromium.connectOverCDP(`http://127.0.0.1:${port}`, { timeout: 10_000 })
    } catch (error) {
      if (attempts === 3) throw error
    }
  }
}
