import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Browser, chromium } from 'playwright-core'
import { isProgram } from './program.ts'

const run = promisify(execFile)

/** Chromium was not found and could not be installed. */
export class NoChromiumError extends Error {
  override name = 'NoChromiumError'
}

/** The path of Chromium: CHROMIUM_BIN, or Debian's, which is installed if it is missing. */
export async function findChromium(env = process.env): Promise<string> {
  const path = env.CHROMIUM_BIN || '/usr/bin/chromium'
  if (await isProgram(path)) return path
  if (env.CHROMIUM_BIN) throw new Error(`CHROMIUM_BIN: ${path} is no program`)
  console.error('Installing Chromium with apt-get: this takes a minute, once.')
  try {
    await run('apt-get', ['update'])
    await run('apt-get', ['install', '-y', '--no-install-recommends', 'chromium'])
  } catch (cause) {
    throw new NoChromiumError(`no Chromium: not at ${path}, and not to be installed`, { cause })
  }
  return path
}

/** Without requests to its maker's hosts. */
export const chromiumArguments = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
]

/** Headless. */
export async function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: await findChromium(), args: chromiumArguments })
}
