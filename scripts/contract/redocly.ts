import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const command = createRequire(import.meta.url).resolve('@redocly/cli/bin/cli.js')

/** Runs Redocly's command in `folder`, without network requests. Rejects if it fails. */
export async function redocly(folder: URL, ...args: string[]): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)(process.execPath, [command, ...args], {
    cwd: fileURLToPath(folder),
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' },
    maxBuffer: 256 * 1024 * 1024,
  })
}
