import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cacheFolder, isProgram } from '../servers/program.ts'

const version = '4.32.5'
const contract = fileURLToPath(new URL('../../openapi.yaml', import.meta.url))
const run = promisify(execFile)

/** The path of schemathesis. If it is missing, installs it into a Python environment in the cache folder. */
export async function findSchemathesis(env = process.env): Promise<string> {
  const cache = cacheFolder(env)
  const folder = join(cache, `schemathesis-${version}`)
  const program = join(folder, 'bin', 'schemathesis')
  if (await isProgram(program)) return program
  console.error(`Installing schemathesis ${version} into ${folder}: once.`)
  await mkdir(cache, { recursive: true })
  await rm(folder, { recursive: true, force: true })
  // A Python environment contains its path, so it is made in place. It is complete when the program is there.
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

export interface SchemathesisRun {
  url: URL
  session: string
  refresh: string
  userId: string
  /** The ids of the operations to include or exclude, separated by `|`. */
  include?: string
  exclude?: string
  /** The id in all paths, instead of generated ones, which would not exist. */
  id?: string
  /** Number of cases for each operation and phase. */
  examples: number
  /** The file for the recorded traffic (NDJSON, because schemathesis stops writing HAR at the first unusual cookie). */
  report: string
}

/** Runs all phases with the configuration file in this folder. Returns the exit status. */
export async function runSchemathesis(program: string, options: SchemathesisRun): Promise<number | null> {
  const { url, session, refresh, userId, include, exclude, id, examples, report } = options
  const config = join(dirname(report), 'schemathesis.toml')
  const fixed = id === undefined ? '' : `[parameters]\n"path.id" = "${id}"\n\n`
  await writeFile(config, fixed + (await readFile(new URL('schemathesis.toml', import.meta.url), 'utf8')))
  const which = [
    ...(include ? ['--include-operation-id-regex', `^(${include})$`] : []),
    ...['--exclude-operation-id-regex', `^(openRealtime${exclude ? `|${exclude}` : ''})$`],
  ]
  // Most operations refuse callers without a session, and schemathesis would warn about each.
  const warnings = session === 'none' ? ['--warnings', 'off'] : []
  const size = ['--max-examples', `${examples}`, ...warnings]
  const args = ['--config-file', config, 'run', contract, '--url', url.origin, ...which, ...size]
  const child = spawn(program, [...args, '--report', 'ndjson', '--report-ndjson-path', report, '--no-color'], {
    stdio: 'inherit',
    // schemathesis creates a folder in the working directory.
    cwd: dirname(report),
    env: { ...process.env, SESSION: session, REFRESH: refresh, USER_ID: userId },
  })
  const [status] = await once(child, 'exit')
  return status
}
