/**
 * `npm test` runs all tests in a few parallel processes; tap counts the results and writes its output to .tap/tests.tap.
 *
 *   npm test                   the quick depth, which takes minutes
 *   npm test -- --deep         the full depth: 1,000 random walks, 50 times kill -9, an export of 1 GB
 *   npm test -- FILE ...       only these files
 */
import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import t from 'tap'
import { buildForTests } from './test/build.ts'
import { planTests, type TestProcess } from './test/plan.ts'
import { Report } from './test/report.ts'
import { startServers } from './test/servers.ts'

/** Far more than any process needs, so that no test fails because the machine is busy. */
const limitMs = { quick: 1_800_000, deep: 14_400_000 }

// Each process has a limit of its own; building and starting the servers may take long on a busy machine.
t.setTimeout(0)

const { values, positionals: named } = parseArgs({ options: { deep: { type: 'boolean' } }, allowPositionals: true })
const depth = values.deep ? 'deep' : 'quick'
const { processes, recorded } = await planTests(named, depth)
const output = resolve('.tap/tests.tap')
const traffic = resolve('.tap/traffic')
const settings = {
  NODE_COMPILE_CACHE: resolve('node_modules/.cache/compiled'),
  TEST_DEPTH: depth,
  // Recorded only when all tests run: a part of them would not cover the whole contract.
  ...(named.length === 0 && { TEST_TRAFFIC: traffic }),
}
const entry = resolve(import.meta.dirname, 'test/process.ts')

await mkdir('.tap', { recursive: true })
await rm(output, { force: true })
const built = buildForTests()
// Reported below, once the servers can be stopped.
built.catch(() => {})
await using servers = await startServers({
  withMinio: named.length === 0,
  withPostgres: processes.some(({ database }) => database === 'Postgres'),
})
await built
const report = new Report()
// Many tests mostly wait: for a process to stop, a socket to close, a store to answer.
t.jobs = availableParallelism() * 2
t.pipe(createWriteStream(output))
t.register()
if (named.length === 0) await rm(traffic, { recursive: true, force: true })
await Promise.all(processes.map(run))
await Promise.all(recorded.map(run))
report.printLongest(10)

async function run({ name, files, database }: TestProcess): Promise<void> {
  const env = { ...process.env, ...settings, ...servers.env(database) }
  const running = t.spawn(process.execPath, [entry, ...files], { env, timeout: limitMs[depth], buffered: true }, name)
  await report.follow(running)
}
