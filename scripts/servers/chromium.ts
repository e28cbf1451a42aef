import { basename } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { installPackage, isProgram } from './program.ts'

/** Chromium is missing and could not be installed. */
export class NoChromiumError extends Error {
  override name = 'NoChromiumError'
}

/** Debian's paths. The shell needs two thirds of the browser's CPU time, but cannot load extensions. */
const programs = { shell: '/usr/bin/chromium-headless-shell', browser: '/usr/bin/chromium' }

/** The path of the full Chromium: CHROMIUM_BIN or Debian's, which is installed if it is missing. */
export function findChromium(): Promise<string> {
  return find(['browser'])
}

async function find(kinds: (keyof typeof programs)[], env = process.env): Promise<string> {
  const paths = env.CHROMIUM_BIN ? [env.CHROMIUM_BIN] : kinds.map((kind) => programs[kind])
  for (const path of paths) if (await isProgram(path)) return path
  const [path = ''] = paths
  if (env.CHROMIUM_BIN) throw new Error(`CHROMIUM_BIN: ${path} is no program`)
  try {
    await installPackage(basename(path), path)
  } catch (cause) {
    throw new NoChromiumError(`no Chromium: not at ${path}, and not to be installed`, { cause })
  }
  return path
}

/** Some of these turn off Chromium's own requests to Google. */
export const chromiumArguments = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
]

/** Launches Chromium without a window. */
export async function launchChromium(...options: string[]): Promise<Browser> {
  return chromium.launch({ executablePath: await find(['shell', 'browser']), args: [...chromiumArguments, ...options] })
}

/** Skips the 400 ms for which `src/web/ui/press.ts` ignores presses after a change, until a person has noticed it. */
export async function pressAtOnce(opened: BrowserContext | Page): Promise<void> {
  await opened.addInitScript(() => {
    const { setTimeout: later } = window
    const run = (work: () => void, ms = 0, ...args: []) => (ms === 400 ? work() : later(work, ms, ...args))
    Object.assign(window, { setTimeout: run })
  })
}
