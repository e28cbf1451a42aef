import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { operations } from '../../generated/operations.ts'

/** A service of the demo's own. */
export interface OwnService {
  url: URL
  /** Waits until it answers. */
  ready(): Promise<void>
  /** Stops it with SIGTERM and waits for its end. */
  stop(): Promise<void>
}

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const startWithinMs = 30_000

/** A process of its own, on free ports and on `folder`/data. */
export async function spawnService(folder: string): Promise<OwnService> {
  const [port, providerPort] = await findFreePorts()
  const url = new URL(`http://127.0.0.1:${port}`)
  // Nothing of the caller's environment, which may name another database or provider.
  const env = {
    DATA_DIR: join(folder, 'data'),
    PORT: String(port),
    PUBLIC_URL: url.origin,
    DEV_IDP_PORT: String(providerPort),
    LOG_LEVEL: 'warn',
  }
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const complaints = text(child.stderr)
  const exited = once(child, 'exit')
  const isRunning = () => child.exitCode === null && child.signalCode === null

  return {
    url,
    async ready() {
      for (const until = Date.now() + startWithinMs; isRunning() && Date.now() < until; await sleep(50)) {
        const response = await fetch(new URL(operations.getHealth.path, url)).catch(() => undefined)
        if (response?.ok) return
      }
      if (isRunning()) throw new Error(`The service did not answer within ${startWithinMs} ms`)
      throw new Error(`The service did not start: ${await complaints}`)
    },
    async stop() {
      if (!isRunning()) return
      child.kill('SIGTERM')
      const [code, signal] = await exited
      if (code !== 0) throw new Error(`The service ended with ${code ?? signal}: ${await complaints}`)
    },
  }
}

/** Both are held until both are known, so that they differ. */
async function findFreePorts(): Promise<number[]> {
  const servers = [createServer(), createServer()]
  for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening')
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  for (const server of servers) await once(server.close(), 'close')
  return ports
}
