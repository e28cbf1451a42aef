import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../scripts/servers/free-port.ts'
import type { Server } from './server.ts'

/** Fastify with the raw driver on a file or a `postgres:` URL. */
export function startBareApp(place: string): Promise<Server> {
  return start('bare-app.ts', [place])
}

/** `ws` on Fastify, with the raw driver. */
export function startBareSockets(place: string): Promise<Server> {
  return start('bare-sockets.ts', [place])
}

async function start(file: string, args: string[]): Promise<Server> {
  const port = await freePort()
  const path = fileURLToPath(new URL(file, import.meta.url))
  const child = fork(path, [...args, `${port}`], { env: {}, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const exited = once(child, 'exit')
  await once(child, 'message')
  const origin = `http://127.0.0.1:${port}`
  return {
    pid: child.pid as number,
    origin,
    newUser: async () => ({ api: 'service', origin, user: 'bench', headers: {} }),
    async close() {
      child.disconnect()
      await exited
    },
  }
}
