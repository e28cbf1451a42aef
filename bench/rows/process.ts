import { setTimeout as sleep } from 'node:timers/promises'
import { PushRequest } from '../../generated/limits.ts'
import { operations } from '../../generated/operations.ts'
import type { Bench, Row } from '../open.ts'
import { startBareApp } from '../servers/bare.ts'
import { memoryOf, type Server, startOn } from '../servers/service.ts'

const bareApp = 'a Fastify app with the database and a route'
const mebibyte = 1024 * 1024
const idleMs = 2_000

export const memory: Row = {
  lines: {
    idle: { work: 'memory of the process, idle', limit: bareApp, unit: 'MiB', target: { figureAtMost: 100 } },
    peak: {
      work: 'memory of the process, at its highest during pushes, pulls and creates',
      limit: 'none, as the bound is in MiB',
      unit: 'MiB',
      target: { figureAtMost: 200 },
    },
  },
  open: async (bench) => ({
    ...(await bench.withContenders(async (contender) => async () => {
      const server = await startOn(await contender.prepare())
      await sleep(idleMs)
      const idle = memoryOf(server.pid).now / mebibyte
      await use(bench, server)
      const peak = memoryOf(server.pid).peak / mebibyte
      await server.close()
      return { idle, peak }
    })),
    async limit() {
      const bare = await startBareApp(bench.rawDatabase)
      await sleep(idleMs)
      const idle = memoryOf(bare.pid).now / mebibyte
      await bare.close()
      return { idle }
    },
  }),
}

export const start: Row = {
  line: {
    work: 'from the start of the process to the first healthy answer',
    limit: bareApp,
    unit: 's',
    target: { atMost: 2.5 },
  },
  open: async (bench, opened) => ({
    ...(await bench.withContenders(async (contender) => {
      const { restart, remove } = await contender.prepare()
      opened.defer(remove)
      return () => timed(restart)
    })),
    limit: () => timed(() => startBareApp(bench.rawDatabase)),
  }),
}

async function use({ load, size }: Bench, server: Server): Promise<void> {
  const records = size(20_000, 2_000)
  const account = await server.newUser()
  await load.run('pushNew', account, { records, size: PushRequest.changes.maxItems, connections: 2 })
  await load.run('pullAll', account, { records, devices: 2 })
  await load.run('create', await server.newUser(), { connections: 64, ms: size(1_000, 100) })
}

async function timed(startServer: () => Promise<Server>): Promise<number> {
  const begin = performance.now()
  const server = await startServer()
  const answer = await fetch(server.origin + operations.getHealth.path)
  const seconds = (performance.now() - begin) / 1000
  await answer.body?.cancel()
  await server.close()
  return seconds
}
