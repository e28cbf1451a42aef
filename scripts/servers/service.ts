import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { operations } from '../../generated/operations.ts'
import { freePort } from './free-port.ts'

export interface ServiceProcess {
  pid: number
  /** Resolves when the service answers. */
  ready(): Promise<void>
  /** Resolves with the service's exit code or signal. */
  exited: Promise<string>
  /** Stops the service with SIGTERM and waits for its end. */
  stop(): Promise<void>
}

const main = fileURLToPath(new URL('../../src/service/main.ts', import.meta.url))
/** A module that Node loads before the service: it ends the service together with the process that started it. */
const untilInputEnds = 'data:text/javascript,process.stdin.once("end", () => process.exit(1)).resume()'
/** Every start takes less than this, even on a busy machine. */
const startWithinMs = 300_000
/** The service gets this process's setting for Node's compile cache, which halves the time of a start. */
const { NODE_COMPILE_CACHE } = process.env
const compileCache = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }

/** Runs the service with only these variables and the compile cache. `log` is a file descriptor, or `ignore`. */
export function runService(
  env: { PORT: string } & Record<string, string>,
  log: number | 'ignore',
  entry = main,
): ServiceProcess {
  const child = spawn(process.execPath, ['--import', untilInputEnds, entry], {
    env: { ...compileCache, ...env },
    stdio: ['pipe', log, 'pipe'],
  })
  const complaints = text(child.stderr as NodeJS.ReadableStream)
  const exited = once(child, 'exit').then(([code, signal]) => `${code ?? signal}`)
  const isRunning = () => child.exitCode === null && child.signalCode === null
  const health = `http://127.0.0.1:${env.PORT}${operations.getHealth.path}`

  return {
    pid: child.pid as number,
    exited,
    async ready() {
      for (const until = Date.now() + startWithinMs; isRunning() && Date.now() < until; await sleep(10)) {
        const response = await fetch(health).catch(() => undefined)
        if (response?.ok) return
      }
      if (isRunning()) throw new Error(`The service did not answer within ${startWithinMs} ms`)
      throw new Error(`The service did not start: ${await complaints}`)
    },
    async stop() {
      if (!isRunning()) return
      child.kill('SIGTERM')
      const end = await exited
      if (end !== '0') throw new Error(`The service ended with ${end}: ${await complaints}`)
    },
  }
}

/** Runs a service with the development provider in its own folder, until `opened` is disposed. */
export async function serveOwn(
  opened: AsyncDisposableStack,
  settings: Record<string, string> = {},
): Promise<{ url: URL; folder: string }> {
  const { path: folder } = opened.use(await mkdtempDisposable(join(tmpdir(), 'ebs-service-')))
  const { url, ready } = opened.adopt(await spawnService(folder, settings), ({ stop }) => stop())
  await ready()
  return { url, folder }
}

/** Starts a service with the development provider on free ports and `folder`/data. */
export async function spawnService(
  folder: string,
  settings: Record<string, string> = {},
  entry = main,
): Promise<ServiceProcess & { url: URL }> {
  const url = new URL(`http://127.0.0.1:${await freePort()}`)
  const env = {
    DATA_DIR: join(folder, 'data'),
    SERVE_APP: 'false',
    PORT: url.port,
    PUBLIC_URL: url.origin,
    DEV_IDP_PORT: '0',
    LOG_LEVEL: 'warn',
    ...settings,
  }
  return { url, ...runService(env, 'ignore', entry) }
}
