import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { buildApp } from './support/app.ts'

const run = promisify(execFile)
const redocly = createRequire(import.meta.url).resolve('@redocly/cli/bin/cli.js')
const workflows = fileURLToPath(new URL('../workflows.arazzo.yaml', import.meta.url))
const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' }

/** Respect hands a file of bytes to the JSON schema check as an empty object. */
const binary = ['--severity', 'SCHEMA_CHECK=off']
const extra: Record<string, string[]> = { firstSync: [], conflict: [], export: binary }

for (const [workflow, options] of Object.entries(extra)) {
  t.test(`the workflow ${workflow} runs as its document says`, async (t) => {
    const app = await buildApp(t)
    const origin = await app.listen()
    const { session } = await app.user('ada')
    const args = [
      'respect',
      workflows,
      '-w',
      workflow,
      '-S',
      `service=${origin}`,
      '-i',
      `session=${session}`,
      ...options,
    ]
    const { stdout, stderr } = await run(process.execPath, [redocly, ...args], { env }).catch((error) => error)
    const said = `${stdout}${stderr}`
    t.match(said, /Workflows: 1 passed, 1 total/, said)
    t.match(said, /Checks: [1-9]\d* passed/)
    t.notMatch(said, /\bfailed\b/)
  })
}
