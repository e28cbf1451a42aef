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

/** The time limit per file. Far more than needed, because tests must not fail on a busy machine. */
const limitMs = { quick: 600_000, deep: 14_400_000 }

const output = '.tap/tests.tap'
const entry = resolve(import.meta.dirname, 'process.ts')
/** Removes the options with which tap measures coverage: they would take a third of the CPU time. */
const withoutCoverage = ['-u', 'NODE_OPTIONS']
/** While all processors are busy, threads that collect garbage in parallel cost more than they save. */
const node = [process.execPath, '--single-threaded-gc']

/** @param all true if no test files were named */
export async function runTests({ processes, recorded }: Plan, depth: 'quick' | 'deep', all: boolean): Promise<void> {
  const start = Date.now()
  // No limit for the whole run: each process has one, and builds may take long on a busy machine.
  t.setTimeout(0)
  const traffic = resolve('.tap/traffic')
  const settings = {
    NODE_COMPILE_CACHE: resolve('node_modules/.cache/compiled'),
    TEST_DEPTH: depth,
    TEST_LIMIT_MS: String(limitMs[depth]),
    // Traffic is recorded only if no files were named: otherwise it would not cover the contract.
    ...(all && { TEST_TRAFFIC: traffic }),
  }
  await mkdir('.tap', { recursive: true })
  await rm(output, { force: true })
  const usesBuild = [...processes, ...recorded].some((planned) => planned.usesBuild)
  const built = usesBuild ? buildForTests('web', 'docs').then(() => bundleForTests()) : Promise.resolve()
  // An error is reported by each process that waits for the build.
  built.catch(() => {})
  await using servers = await startServers(processes, depth, all)
  // Two for each processor, because tests often wait. With four, all together needed a third more CPU time.
  t.jobs = availableParallelism() * 2
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
      progress.print('Only the tests on MinIO are left. They may have to wait until MinIO is built.')
    await Promise.all(late)
    await Promise.all(recorded.map(run))
    report.printTimes(20)
    return report.failedProcesses
  })
  const { pass, fail, skip, todo } = t.counts
  const count = describeCount({ passed: pass, failed: Math.max(fail, failedProcesses), skipped: skip + todo })
  console.log(`\n${count}, in ${Math.round((Date.now() - start) / 1000)} s. ${output} has all.`)
}
