import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Finds a port outside of the range for outgoing connections. No other process gets it from this function while this
 * one runs, so a server may start on it minutes later.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    if ((await isReserved(port)) && (await isFree(port))) return port
  }
}

/** Reserves a port by binding a UDP port: the system frees that one even if this process is killed. */
async function isReserved(port: number): Promise<boolean> {
  const reservation = createSocket('udp4').unref()
  reservation.bind({ port: port - 12_000, address: '127.0.0.1', exclusive: true })
  return once(reservation, 'listening').then(
    () => true,
    () => {
      reservation.close()
      return false
    },
  )
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  const isListening = await once(server, 'listening').then(
    () => true,
    () => false,
  )
  if (!isListening) return false
  server.close()
  await once(server, 'close')
  return true
}
