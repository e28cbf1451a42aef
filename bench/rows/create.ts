import type { Row } from '../row.ts'
import { startBareApp } from '../servers/bare.ts'
import type { Server } from '../servers/server.ts'

export const create: Row = {
  lines: {
    create: {
      work: 'create one, 64 connections, durable',
      limit: 'a Fastify route that commits each with the driver alone, synced to disk',
      unit: 'requests/s',
      target: { atLeast: 0.6 },
    },
  },
  async open(bench, opened) {
    const bare = opened.adopt(await startBareApp(bench.rawDatabase), (it) => it.close())
    const measure = async (server: Server) => {
      const times = { connections: 64, ms: bench.size(2_000, 200) }
      return { create: await bench.load.run('create', await server.newUser(), times) }
    }
    return { ...(await bench.onServers(measure)), limit: () => measure(bare) }
  },
}
