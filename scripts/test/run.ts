import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import t from 'tap'
import { withProgress } from '../../src/service/terminal/progress.ts'
import { buildForTests, bundleForTests } from './build.ts'
import { describeCount } from './count.ts'
import type { Plan, TestProcess } from './plan.ts'
import { Report } from './report.ts'
import { startServers } from './servers.ts'

/** The time limit per file, far more than needed: a busy machine must not fail tests. */
const limitMs = { quick: 600_000, deep: 14_400_000 }

const output = '.tap/tests.tap'
const entry = resolve(import.meta.dirname, 'process.ts')
/** Removes tap's coverage options, which would cost a third of all CPU time in every started process. */
const withoutCoverage = ['-u', 'NODE_OPTIONS']
/** While all processors are busy, threads that collect garbage in parallel cost more than they save. */
const node = [process.execPath, '--single-threaded-gc']

/** @param all true if no test is left out */
export async function runTests({ processes, recorded }: Plan, depth: 'quick' | 'deep', all: boolean): Promise<void> {
  const start = Date.now()
  // Each process has its own limit. Building and starting servers may take long on a busy machine.
  t.setTimeout(0)
  const traffic = resolve('.tap/traffic')
  const settings = {
    NODE_COMPILE_CACHE: resolve('node_modules/.cache/compiled'),
    TEST_DEPTH: depth,
    TEST_LIMIT_MS: String(limitMs[depth]),
    // Only recorded if all tests run: otherwise the traffic would not cover the contract.
    ...(all && { TEST_TRAFFIC: traffic }),
  }
  await mkdir('.tap', { recursive: true })
  await rm(output, { force: true })
  const usesBuild = [...processes, ...recorded].some((planned) => planned.usesBuild)
  const built = usesBuild ? buildForTests('web', 'docs').then(() => bundleForTests()) : Promise.resolve()
  // Each process that needs it reports the error.
  built.catch(() => {})
  await using servers = await startServers(processes, depth, all)
  // Many tests mostly wait: for a process to stop, a socket to close, a store to answer.
  t.jobs = availableParallelism() * 4
  t.pipe(createWriteStream(output))
  t.register()
  if (all) await rm(traffic, { recursive: true, force: true })

  const failedProcesses = await withProgress(async (progress) => {
    const report = new Report((lines) => progress.print(lines))
    let [done, total] = [0, processes.length + recorded.length]
    const run = async (planned: TestProcess) => {
      const { name, files } = planned
      if (planned.usesBuild) await built
      const env = { ...process.env, ...settings, ...(await servers.env(planned)) }
      const options = { env, timeout: limitMs[depth], buffered: true }
      await report.follow(t.spawn('env', [...withoutCoverage, ...node, entry, ...files], options, name))
      progress.report('test processes', ++done, total)
    }
    progress.report('test processes', done, total)
    const isLate = ({ usesMinio }: TestProcess) => usesMinio && !servers.isMinioBuilt
    const late = processes.filter(isLate).map(run)
    await Promise.all(processes.filter((planned) => !isLate(planned)).map(run))
    if (late.length > 0 && done < total)
      progress.print('The tests on MinIO are left, which may still have to be built.')
    await Promise.all(late)
    await Promise.all(recorded.map(run))
    report.printTimes(20)
    return report.failedProcesses
  })
  const { pass, fail, skip, todo } = t.counts
  const count = describeCount({ passed: pass, failed: Math.max(fail, failedProcesses), skipped: skip + todo })
  console.log(`\n${count}, in ${Math.round((Date.now() - start) / 1000)} s. ${output} has all.`)
}
