/**
 * `npm test`: every test on the defaults (SQLite), then again on Postgres those that reach data through the service, then
 * those that read what the others sent and received (.tap/traffic). All runs are tap's; their results are
 * .tap/sqlite.tap, .tap/postgres.tap and .tap/recorded.tap. Arguments name the files to run instead of all.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { glob, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { findChromium, NoChromiumError } from './development/servers/chromium.ts'
import { findMinio, NoMinioError } from './development/servers/minio-binary.ts'
import { startPostgres } from './development/servers/postgres.ts'

/** What depends on one database by its nature (processes, files, migrations) or on none is left out. */
const onPostgres = ['interface', 'hostile', 'sync', 'realtime', 'http', 'operations', 'postgres'].map(
  (folder) => `test/${folder}/*.test.ts`,
)
const alsoOnPostgres = [
  'test/auth/login-limits.test.ts',
  'test/auth/lease.test.ts',
  'test/auth/refresh.test.ts',
  'test/commands/reseal-ends.test.ts',
  'test/commands/reseal.test.ts',
  'test/db/quota-migration.test.ts',
  'test/log.test.ts',
]

const named = process.argv.slice(2)
const recorded = await matching(['test/recorded/*.test.ts'])
const everything = (await matching(['test/**/*.test.ts'])).filter(
  (file) => !file.startsWith('test/postgres/') && !recorded.includes(file),
)
const forPostgres = [...(await matching(onPostgres)), ...alsoOnPostgres]
await run('tap', ['build'], {})
await run('node', ['scripts/package/build.ts', 'web', 'docs'], {})
await prepare(findMinio, NoMinioError)
await prepare(findChromium, NoChromiumError)
for (const name of ['sqlite', 'postgres', 'recorded']) await rm(`.tap/${name}.tap`, { force: true })
// Of all tests or of none: a part of them would not show everything.
const recording = named.length === 0 ? { TEST_TRAFFIC: resolve('.tap/traffic') } : {}
if (recording.TEST_TRAFFIC) await rm(recording.TEST_TRAFFIC, { recursive: true, force: true })

await tap('sqlite', everything, recording)
const postgres = await startPostgres()
try {
  await tap('postgres', forPostgres, { ...recording, TEST_POSTGRES: postgres.url })
} finally {
  await postgres.close()
}
await tap('recorded', recorded, recording)

/** Made before the tests, so that none of them waits for it; without it they say loudly what they leave out. */
async function prepare(find: () => Promise<string>, Missing: new () => Error): Promise<void> {
  try {
    await find()
  } catch (error) {
    if (!(error instanceof Missing)) throw error
  }
}

async function tap(name: string, files: string[], env: Record<string, string>): Promise<void> {
  const chosen = named.length === 0 ? files : files.filter((file) => named.includes(file))
  if (chosen.length === 0) return
  console.log(`${chosen.length} test files: ${name}`)
  const code = await run('tap', ['run', `--output-file=.tap/${name}.tap`, ...chosen], env)
  if (code !== 0) process.exitCode = 1
}

async function matching(patterns: string[]): Promise<string[]> {
  return (await Array.fromAsync(glob(patterns))).sort()
}

async function run(command: string, args: string[], env: Record<string, string>): Promise<number | null> {
  const stdio = args[0] === 'build' ? 'ignore' : 'inherit'
  const child = spawn(command, args, { stdio, env: { ...process.env, ...env } })
  const [code] = await once(child, 'close')
  return code
}
