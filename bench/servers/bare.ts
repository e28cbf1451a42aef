import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../scripts/servers/free-port.ts'
import type { Server } from './service.ts'

const program = fileURLToPath(new URL('bare-process.ts', import.meta.url))

/** Starts bare-process.ts on the database `place`, an SQLite file or a `postgres:` URL. */
export async function startBareApp(place: string, connections = 10): Promise<Server> {
  const port = await freePort()
  const args = [place, `${connections}`, `${port}`]
  const child = fork(program, args, { env: {}, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
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
