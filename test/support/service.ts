import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freePort } from '../../scripts/servers/free-port.ts'
import { bundleCache, bundleMain } from '../../scripts/test/build.ts'
import { buildApp, type CallOptions, sendingTo, type TestUser, unusedProvider } from './app.ts'
import { type Answered, checkAnswer } from './contract.ts'

interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** The bundled service, `node main.mjs`, in a separate process. */
export interface Run {
  pid: number
  stdout(): string
  stderr(): string
  exited: Promise<Exit>
  kill(signal: NodeJS.Signals): Promise<Exit>
}

export interface Service extends Run {
  origin: string
  dataDir: string
  /** Sends a request over HTTP and checks the response against openapi.yaml. */
  call(method: string, path: string, request?: CallOptions): Promise<Answered>
  /** The same person, with their requests sent to this process. */
  as(user: TestUser): TestUser
}

export interface RunOptions {
  cwd?: string
  /** A command that runs the process, such as `strace`. */
  under?: string[]
  /** The script to run instead of `main.mjs`. */
  entry?: string
  args?: string[]
}

/** Runs the service with these environment variables. Of this process's own, it gets only PATH, HOME and the cache. */
export function run(t: Test, env: Record<string, string>, options: RunOptions = {}): Run {
  const { cwd, under = [], entry = bundleMain, args = [] } = options
  const { PATH = '', HOME = '' } = process.env
  const [command = '', ...words] = [...under, process.execPath, entry, ...args]
  const child = spawn(command, words, {
    cwd,
    env: { PATH, HOME, ...bundleCache, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'close').then(([code, signal]) => ({ code, signal }) as Exit)
  const kill = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return exited
  }
  t.teardown(() => kill('SIGKILL'))
  return { pid: child.pid ?? 0, stdout: collect(child, 'stdout'), stderr: collect(child, 'stderr'), exited, kill }
}

function collect(child: ChildProcess, name: 'stdout' | 'stderr'): () => string {
  let text = ''
  child[name]?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  return () => text
}

/** Starts the service on a folder (see `signInBefore`) and waits until it serves requests. */
export async function startService(
  t: Test,
  dataDir: string,
  env: Record<string, string> = {},
  options: RunOptions = {},
): Promise<Service> {
  const port = env.PORT ?? (await freePort())
  const origin = `http://127.0.0.1:${port}`
  const settings = {
    DATA_DIR: dataDir,
    SERVE_APP: 'false',
    PORT: String(port),
    RATE_LIMIT_PER_MINUTE: '1000000',
    ...unusedProvider,
    ...env,
  }
  const started = run(t, settings, options)
  await serving(started)
  const call = callsTo(origin)
  return { ...started, origin, dataDir, call, as: (user) => sendingTo(call, user) }
}

/** Resolves when the process has printed that Ctrl-C stops it, or in production that it is serving. */
export async function serving({ stdout, stderr, exited }: Run): Promise<void> {
  let gone = false
  exited.then(() => {
    gone = true
  })
  while (!/Ctrl-C stops it|"msg":"serving"/.test(stdout())) {
    if (gone) throw new Error(`the service did not start: ${stderr() || stdout()}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Returns a function that sends requests to the origin and checks the responses against openapi.yaml. */
export function callsTo(origin: string, send: typeof fetch = fetch): Service['call'] {
  return async (method, path, { body, headers = {}, payload } = {}) => {
    const json = body === undefined ? {} : { 'content-type': 'application/json' }
    const content = body === undefined ? (payload as string | undefined) : JSON.stringify(body)
    const response = await send(origin + path, {
      method,
      redirect: 'manual',
      headers: { ...json, ...headers },
      ...(content !== undefined && { body: content }),
    })
    const raw = Buffer.from(await response.arrayBuffer())
    const cookies = response.headers.getSetCookie()
    const received = { ...Object.fromEntries(response.headers), ...(cookies.length > 0 && { 'set-cookie': cookies }) }
    return checkAnswer(method, path, response.status, received, raw, content)
  }
}

/** Creates users with sessions in a folder that no service is using; returns them in the order of their names. */
export async function signInBefore(t: Test, dataDir: string, names: string[]): Promise<TestUser[]> {
  const { user, close } = await buildApp(t, {}, { dataDir })
  const users: TestUser[] = []
  for (const name of names) users.push(await user(name))
  await close()
  return users
}

/** An empty folder, removed after the test even while killed processes in it are still ending. */
export async function folder(t: Test): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'ebs-test-'))
  t.teardown(() => rm(path, { recursive: true, force: true, maxRetries: 10 }))
  return path
}
