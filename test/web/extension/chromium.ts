import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, type BrowserContext, chromium, errors } from 'playwright-core'
import type { Test } from 'tap'
import { chromiumArguments, findChromium } from '../../../scripts/servers/chromium.ts'
import { folder } from '../../support/service.ts'

/** A browser that the test need not be attached to: an attached debugger would keep an extension's worker running. */
export interface ExtensionBrowser {
  /** Attaches to the browser only during the work. */
  watch<T>(work: (context: BrowserContext) => Promise<T>): Promise<T>
  /** Stays attached until the browser ends or the connection is closed. */
  connect(): Promise<Browser>
  /** The number of running workers of this origin. Asking does not keep them running. */
  workers(origin: string): Promise<number>
  /** Sends a signal to all its processes: `SIGSTOP` suspends them, `SIGCONT` continues. */
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void
  /** Starts it again with the same profile after it has ended. */
  startAgain(): Promise<void>
}

/** Chromium with these unpacked extensions, which it treats as newly installed at each start. */
export async function startWithExtensions(
  t: Test,
  extensions: string[],
  more: string[] = [],
): Promise<ExtensionBrowser> {
  const args = [...more, `--load-extension=${extensions}`, `--disable-extensions-except=${extensions}`]
  return startChromium(t, await folder(t), args)
}

/** Chromium with the extensions of this profile. */
export async function startChromium(t: Test, profile: string, args: string[] = []): Promise<ExtensionBrowser> {
  let child = await start(profile, args)
  let port = await debuggingPort(profile)
  // Chromium's processes are in a separate process group.
  const signal = (signal: NodeJS.Signals) => void process.kill(-(child.pid ?? 0), signal)
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    signal('SIGKILL')
    await exited
  })
  return {
    async watch(work) {
      const browser = await connect(port)
      try {
        return await work(contextOf(browser))
      } finally {
        await browser.close()
      }
    },
    connect: () => connect(port),
    workers: (origin) => workersOf(port, origin),
    signal,
    async startAgain() {
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      await rm(join(profile, 'DevToolsActivePort'), { force: true })
      child = await start(profile, args)
      port = await debuggingPort(profile)
    },
  }
}

async function start(profile: string, args: string[]) {
  return spawn(
    await findChromium(),
    [...chromiumArguments, '--headless=new', '--remote-debugging-port=0', `--user-data-dir=${profile}`, ...args],
    { stdio: 'ignore', detached: true },
  )
}

export function contextOf(browser: Browser): BrowserContext {
  const [context] = browser.contexts()
  if (!context) throw new Error('Chromium has no profile')
  context.setDefaultTimeout(600_000)
  return context
}

async function workersOf(port: string, origin: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/json/list`)
  const targets = (await response.json()) as { type: string; url: string }[]
  return targets.filter(({ type, url }) => type === 'service_worker' && url.startsWith(origin)).length
}

/** Chromium writes the port to a file when it listens. */
async function debuggingPort(profile: string): Promise<string> {
  for (;;) {
    const [port] = (await readFile(join(profile, 'DevToolsActivePort'), 'utf8').catch(() => '')).split('\n')
    if (port) return port
    await sleep(20)
  }
}

/** Retries, because a worker that starts or stops at that moment may leave the connection without an answer. */
async function connect(port: string): Promise<Browser> {
  for (let timeout = 10_000; ; timeout *= 2) {
    try {
      return await chromium.connectOverCDP(`http://127.0.0.1:${port}`, { timeout })
    } catch (error) {
      if (!(error instanceof errors.TimeoutError)) throw error
    }
  }
}
