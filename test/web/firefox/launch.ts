import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, firefox } from 'playwright-core'
import root from 'tap'
import { findProgram } from '../../support/programs.ts'

/** The machine's own Firefox (FIREFOX_BIN, or Debian's); undefined if there is none. */
export async function findFirefox(): Promise<string | undefined> {
  return process.env.FIREFOX_BIN || (await findProgram('firefox-esr'))
}

/** Starts a headless Firefox. Undefined if there is none. */
export async function launchFirefox(): Promise<Browser | undefined> {
  const program = await findFirefox()
  if (program === undefined) return undefined
  const browser = await firefox.launch({
    channel: 'moz-firefox',
    executablePath: fileURLToPath(new URL('./relay.ts', import.meta.url)),
    // The relay starts with this process's Node.
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}`, FIREFOX_BIN: program },
  })
  root.teardown(() => browser.close())
  root.comment(`Firefox ${browser.version()}`)
  return browser
}
