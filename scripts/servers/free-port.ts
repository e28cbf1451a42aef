import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** A free port outside the range that the system uses for outgoing connections. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    const server = createServer().listen(port, '127.0.0.1')
    const isTaken = await once(server, 'listening').then(
      () => false,
      () => true,
    )
    if (isTaken) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
