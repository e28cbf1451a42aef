import { startInstances } from '../../scripts/cluster/instances.ts'
import { startProxy } from '../../scripts/cluster/proxy.ts'
import { freePort } from '../../scripts/servers/free-port.ts'
import type { Bench, Figures, Measure, Row } from '../open.ts'

const limit = 'one instance behind the same proxy'

export const cluster: Row = {
  needsPostgres: true,
  lines: {
    'cluster pulls': {
      work: '3 instances behind a proxy: pull of nothing new, 32 connections',
      limit,
      unit: 'requests/s',
    },
    'cluster creates': { work: '3 instances behind a proxy: create one, 64 connections', limit, unit: 'requests/s' },
    'cluster pushes': { work: '3 instances behind a proxy: push, 1,000 a request', limit, unit: 'records/s' },
  },
  open: async (bench, opened) => ({
    service: await behindProxy(bench, 3, opened),
    limit: await behindProxy(bench, 1, opened),
  }),
}

async function behindProxy(bench: Bench, count: number, opened: AsyncDisposableStack): Promise<Measure> {
  const { env, folder, newUser, remove } = await bench.services.prepare()
  opened.defer(remove)
  const ports = await Promise.all(Array.from({ length: count }, freePort))
  const port = await freePort()
  opened.adopt(await startInstances(ports, folder, { ...env, TRUST_PROXY: '1' }), (it) => it.close())
  opened.adopt(await startProxy(port, ports), (it) => it.close())
  const origin = `http://127.0.0.1:${port}`
  const ms = bench.size(2_000, 200)
  const batches = { records: bench.size(20_000, 2_000), size: 1_000, connections: 6 }
  return async (): Promise<Figures> => ({
    'cluster pulls': await bench.load.run('pullNothing', newUser(origin), { connections: 32, ms }),
    'cluster creates': await bench.load.run('create', newUser(origin), { connections: 64, ms }),
    'cluster pushes': await bench.load.run('pushNew', newUser(origin), batches),
  })
}
