import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cacheFolder, isProgram } from '../servers/program.ts'
import type { Identity } from './identities.ts'

const version = '4.32.5'
const contract = fileURLToPath(new URL('../../openapi.yaml', import.meta.url))
const run = promisify(execFile)

/** The path of schemathesis, which is installed into its own Python environment in the cache folder if it is missing. */
export async function findSchemathesis(env = process.env): Promise<string> {
  const cache = cacheFolder(env)
  const folder = join(cache, `schemathesis-${version}`)
  const program = join(folder, 'bin', 'schemathesis')
  if (await isProgram(program)) return program
  console.error(`Installing schemathesis ${version} into ${folder}: once.`)
  await mkdir(cache, { recursive: true })
  await rm(folder, { recursive: true, force: true })
  // A Python environment cannot be moved, because its scripts contain its path. The program itself is written last.
  const unfinished = await mkdtemp(join(cache, 'schemathesis-'))
  try {
    await rename(unfinished, folder)
    await run('python3', ['-m', 'venv', folder])
    await run(join(folder, 'bin', 'pip'), ['install', '--quiet', `schemathesis==${version}`])
  } catch (cause) {
    await rm(folder, { recursive: true, force: true })
    throw new Error('schemathesis could not be installed: Python 3.10 or later with venv is needed', { cause })
  }
  return program
}

export interface RunOptions {
  url: URL
  identity: Identity
  /** Number of cases for each operation and phase. */
  examples: number
  /** Where the traffic is recorded (HAR). */
  report: string
}

/** Runs all phases with the configuration file beside this one, and returns the exit status. */
export async function runSchemathesis(program: string, options: RunOptions): Promise<number | null> {
  const { url, identity, examples, report } = options
  console.log(`\nAs ${identity.name}:`)
  const args = ['--config-file', fileURLToPath(new URL('schemathesis.toml', import.meta.url)), 'run', contract]
  const limits = ['--max-examples', `${examples}`, '--exclude-operation-id', 'openRealtime']
  const output = ['--report', 'har', '--report-har-path', report, '--warnings', 'off', '--no-color']
  const child = spawn(program, [...args, '--url', url.origin, ...limits, ...output], {
    stdio: 'inherit',
    // It writes a folder of its own into the working directory.
    cwd: dirname(report),
    env: { ...process.env, SESSION: identity.session, REFRESH: identity.refresh },
  })
  const [status] = await once(child, 'exit')
  return status
}
