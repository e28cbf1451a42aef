import { once } from 'node:events'
import { connect } from 'node:net'
import { freePort } from './free-port.ts'
import { type TetheredServer, tethered } from './tethered.ts'

export interface Nats extends TetheredServer {
  /** Includes the password. */
  url: string
}

/** Starts NATS on a free port. `stop` kills it, so it does not notify its clients. */
export async function startNats(program: string): Promise<Nats> {
  const [port, user, password] = [await freePort(), 'ebs', 'pass/word']
  const command = [program, '-a', '127.0.0.1', '-p', `${port}`, '--user', user, '--pass', password]
  const server = tethered(command as [string, ...string[]], { lastSignal: 'KILL', isReady: () => answers(port) })
  await server.start()
  return { ...server, url: `nats://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}` }
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const isThere = await once(socket, 'data').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isThere
}
