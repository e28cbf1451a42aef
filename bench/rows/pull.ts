import type { Line, Row } from '../row.ts'
import { startBareApp } from '../servers/bare.ts'
import type { Server } from '../servers/server.ts'
import type { Account } from '../worker/apis/api.ts'

const bareRoute = 'a Fastify route that reads the same body and answers the same'

export const pull: Row = {
  lines: {
    pull: {
      work: 'pull of everything, pages of 1,000, 2 devices',
      limit: 'the driver alone selects the same, and JSON.stringify; no HTTP',
      unit: 'records/s',
      target: { atLeast: 0.45 },
    },
  },
  async open(bench) {
    const records = bench.size(20_000, 2_000)
    const filled = new Map<Server, Account>()
    const fill = async (server: Server) => {
      const account = await server.newUser()
      await bench.load.run('pushNew', account, { records, size: 1_000, connections: 1 })
      filled.set(server, account)
      return account
    }
    return {
      ...(await bench.onServers(async (server) => {
        const account = filled.get(server) ?? (await fill(server))
        return { pull: await bench.load.run('pullAll', account, { records, devices: 2 }) }
      })),
      limit: async () => ({ pull: await bench.raw.run('rawPull', bench.rawDatabase, records) }),
    }
  },
}

export const emptyPull = pullOfNothing('empty-pull', {
  work: 'pull of nothing new, 32 connections',
  target: { atLeast: 0.33 },
})
export const emptyPullDevice = pullOfNothing('empty-pull-device', {
  work: 'pull of nothing new with a device id, 32 connections',
  target: { atLeast: 0.28 },
  device: { 'x-device-id': 'phone' },
})

function pullOfNothing(
  line: string,
  { device, ...about }: Pick<Line, 'work' | 'target'> & { device?: Record<string, string> },
): Row {
  return {
    lines: { [line]: { limit: bareRoute, unit: 'requests/s', ...about } },
    async open(bench, opened) {
      const bare = opened.adopt(await startBareApp(bench.rawDatabase), (it) => it.close())
      const times = { connections: 32, ms: bench.size(2_000, 200) }
      const measure = async (server: Server) => {
        const account = await server.newUser()
        const own = { ...account, headers: { ...account.headers, ...device } }
        return { [line]: await bench.load.run('pullNothing', own, times) }
      }
      return { ...(await bench.onServers(measure)), limit: () => measure(bare) }
    },
  }
}
