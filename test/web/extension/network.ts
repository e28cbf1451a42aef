import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import type { Service } from '../../support/service.ts'

/** One browser's way to the service, which can be lost and found again. */
export class Network {
  /** As this browser reaches it. */
  readonly service: Service
  isLost = false
  readonly #port: number
  readonly #sockets = new Set<Socket>()

  private constructor(service: Service, ownPort: number) {
    this.#port = Number(new URL(service.origin).port)
    this.service = { ...service, origin: `http://127.0.0.1:${ownPort}` }
  }

  static async open(t: Test, service: Service): Promise<Network> {
    const server = createServer((near) => network.#pass(near)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const network = new Network(service, (server.address() as AddressInfo).port)
    t.teardown(() => {
      network.lose()
      server.close()
    })
    return network
  }

  lose(): void {
    this.isLost = true
    for (const socket of this.#sockets) socket.destroy()
  }

  find(): void {
    this.isLost = false
  }

  #pass(near: Socket): void {
    if (this.isLost) return void near.destroy()
    const far = connect(this.#port, '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  }
}
