import { setTimeout as sleep } from 'node:timers/promises'
import type { Row } from '../open.ts'
import { startBareApp } from '../servers/bare.ts'
import { memoryOf, type Server, startOn } from '../servers/service.ts'

const fanOutLimit =
  '`ws`, and a Fastify route that commits what it gets with the driver alone, synced to disk, and sends it to each socket'
const socketsEach = 200
const settleMs = 1_500
/** Share of the sockets that open before the measurement, so that it excludes initial costs such as compiling code. */
const shareOfFirst = 0.4
const kibibyte = 1024

export const fanOutRow: Row = {
  lines: {
    p50: { work: 'change to 200 sockets, p50', limit: fanOutLimit, unit: 'ms', target: { atMost: 1.5 } },
    p99: { work: 'change to 200 sockets, p99', limit: fanOutLimit, unit: 'ms', target: { atMost: 1.5 } },
  },
  async open(bench, opened) {
    const bare = opened.adopt(await startBareApp(bench.rawDatabase, 1), (it) => it.close())
    const times = { devices: bench.size(200, 20), changes: bench.size(50, 5) }
    const measure = async (server: Server) => bench.load.run('fanOut', await server.newUser(), times)
    return { ...(await bench.onServers(measure)), limit: () => measure(bare) }
  },
}

export const idleSockets: Row = {
  line: {
    work: 'memory of an idle socket, 3,000 next to 2,000',
    limit: '`ws` on Fastify',
    unit: 'KiB',
    target: { atMost: 1.5 },
  },
  async open(bench) {
    const users = bench.size(25, 1)
    const measure = async (server: Server) => {
      const accounts = await Promise.all(Array.from({ length: users }, () => server.newUser()))
      const first = accounts.splice(0, Math.floor(users * shareOfFirst))
      await bench.load.run('openSockets', first, socketsEach)
      await sleep(settleMs)
      const before = memoryOf(server.pid).now
      await bench.load.run('openSockets', accounts, socketsEach)
      await sleep(settleMs)
      const taken = memoryOf(server.pid).now - before
      await bench.load.run('closeSockets')
      await server.close()
      return taken / (accounts.length * socketsEach) / kibibyte
    }
    return {
      ...(await bench.withServices(
        async (services) => async () => measure(await startOn(await services.prepare({ people: users }))),
      )),
      limit: async () => measure(await startBareApp(bench.rawDatabase, 1)),
    }
  },
}
