import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const redocly = createRequire(import.meta.url).resolve('@redocly/cli/bin/cli.js')

/** The report of `redocly diff`, run in `folder`. It contacts no other host. */
export async function redoclyDiff<Report>(folder: URL, before: URL, after: URL, ...options: string[]): Promise<Report> {
  const args = [redocly, 'diff', fileURLToPath(before), fileURLToPath(after), '--format=json', '--fail-on=none']
  const { stdout } = await promisify(execFile)(process.execPath, [...args, ...options], {
    cwd: fileURLToPath(folder),
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' },
    maxBuffer: 256 * 1024 * 1024,
  })
  return JSON.parse(stdout)
}
