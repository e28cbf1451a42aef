import { execFile } from 'node:child_process'
import { cp, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cacheFolder, isProgram } from '../../servers/program.ts'
import { signInAs } from '../identities.ts'
import type { Tool } from './tool.ts'

type Verdict = 'yes' | 'no' | 'not run'

export interface Attempt {
  /** `generated` if no compiler checks the tool's code. */
  builds: Verdict | 'generated'
  /** `none` if the tool has no story, for example because its code makes no calls. */
  story: Verdict | 'none'
  /** The missing programs, the command that failed with its output, or that the session outlived the sign-out. */
  complaint?: string
}

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../', import.meta.url))
const stories = fileURLToPath(new URL('../stories/', import.meta.url))
/** Compiling all dependencies of a client takes minutes on a slow machine. */
const commandTimeoutMs = 20 * 60_000

/** Generates a client from the contract, builds it with its story, and runs the story against the service. */
export async function attempt(name: string, tool: Tool, service: URL, env = process.env): Promise<Attempt> {
  const story = tool.story ? 'not run' : 'none'
  const missing = await missingPrograms(tool.needs, env)
  if (missing.length > 0) return { builds: 'not run', story, complaint: `there is no ${missing.join(', ')}` }
  await using temporary = await mkdtempDisposable(join(tmpdir(), `ebs-${name}-`))
  const folder = temporary.path
  const PATH = [join(root, 'node_modules/.bin'), env.PATH].join(delimiter)
  const own = { ...env, PATH, PROJECT: root, CACHE: cacheFolder(env) }
  for (const contract of ['openapi.yaml', 'asyncapi.yaml']) await cp(join(root, contract), join(folder, contract))
  if (tool.story) await cp(join(stories, name), folder, { recursive: true })
  for (const command of [...tool.generate, ...tool.build]) {
    const complaint = await complaintOf(command, folder, own)
    if (complaint !== undefined) return { builds: 'no', story, complaint }
  }
  if (!tool.story) return { builds: tool.build.length > 0 ? 'yes' : 'generated', story: 'none' }
  const { session: SESSION } = await signInAs(service, name)
  const told = await complaintOf(tool.story, folder, { ...own, BASE_URL: service.origin, SESSION })
  const complaint = told ?? (await complaintOfSignOut(service, SESSION))
  return complaint === undefined ? { builds: 'yes', story: 'yes' } : { builds: 'yes', story: 'no', complaint }
}

async function missingPrograms(needs: string[], env: NodeJS.ProcessEnv): Promise<string[]> {
  const folders = (env.PATH ?? '').split(delimiter).filter(Boolean)
  const isThere = async (program: string) =>
    (await Promise.all(folders.map((folder) => isProgram(join(folder, program))))).includes(true)
  const there = await Promise.all(needs.map(isThere))
  return needs.filter((_, index) => !there[index])
}

/** Checks that the story's sign-out ended the session: a sign-out without a session succeeds, too. */
async function complaintOfSignOut(service: URL, session: string): Promise<string | undefined> {
  const headers = { authorization: `Bearer ${session}` }
  const { status } = await fetch(new URL('/api/v1/auth/session', service), { headers })
  return status === 401 ? undefined : 'the session outlives the sign-out'
}

/** Runs a command. If it fails, returns it and what it printed. */
async function complaintOf(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  try {
    await run('sh', ['-c', command], { cwd, env, timeout: commandTimeoutMs, maxBuffer: 64 * 1024 * 1024 })
    return undefined
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string }
    return `${command}\n${`${stdout}${stderr}`.trim() || message}`
  }
}
