import { join } from 'node:path'
import { addBookmarks } from '../data.ts'
import type { Bench, Line, Measure, Row } from '../open.ts'
import { startBareApp } from '../servers/bare.ts'
import { type Server, startOn } from '../servers/service.ts'
import type { Account } from '../worker/apis.ts'
import type { Batches } from '../worker/load.ts'

const transactions = 'the driver alone, a transaction for each 1,000 records, synced to disk'
const bareRoute = 'a Fastify route that selects with the driver alone what came after the cursor: nothing'

export const push = pushRow('push of new records, 1,000 a request, 2 connections', 'pushNew', 0.6)
export const update = pushRow('push of updates, 1,000 a request, 2 connections', 'pushUpdates', 0.55)

function pushRow(work: string, pushes: 'pushNew' | 'pushUpdates', atLeast: number): Row {
  return {
    line: { work, limit: transactions, unit: 'records/s', target: { atLeast } },
    async open(bench) {
      const batches = batchesFor(bench)
      return {
        ...(await bench.onServers(async (server) => bench.load.run(pushes, await server.newUser(), batches))),
        limit: () => bench.raw.run('rawPush', bench.rawDatabase, batches, pushes === 'pushUpdates'),
      }
    },
  }
}

export const history: Row = {
  line: {
    work: 'push of updates, with the replaced versions kept',
    limit: 'the service with KEEP_VERSIONS_DAYS=0',
    unit: 'records/s',
    target: { atLeast: 1 / 1.6 },
  },
  async open(bench, opened) {
    const batches = batchesFor(bench)
    const measureWith = async (env: Record<string, string>) => {
      const server = opened.adopt(await startOn(await bench.services.prepare({ env })), (it) => it.close())
      return async () => bench.load.run('pushUpdates', await server.newUser(), batches)
    }
    return { service: await measureWith({}), limit: await measureWith({ KEEP_VERSIONS_DAYS: '0' }) }
  },
}

export const beside: Row = {
  line: {
    work: "another user's empty pull during pushes of 10,000, p99",
    limit: 'none, as the bound is in ms',
    unit: 'ms',
    target: { figureAtMost: 50 },
  },
  async open(bench) {
    const size = bench.size(10_000, 1_000)
    const batches = { records: 5 * size, size, connections: 1 }
    return bench.onService(async (server) =>
      bench.load.run('pullBesidePushes', await server.newUser(), await server.newUser(), batches),
    )
  },
}

export const pull: Row = {
  line: {
    work: 'pull of everything, pages of 1,000, 2 devices',
    limit: 'the driver alone selects the same, and JSON.stringify; no HTTP',
    unit: 'records/s',
    target: { atLeast: 0.45 },
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
      ...(await bench.onServers(async (server) =>
        bench.load.run('pullAll', filled.get(server) ?? (await fill(server)), { records, devices: 2 }),
      )),
      limit: () => bench.raw.run('rawPull', bench.rawDatabase, records),
    }
  },
}

export const emptyPull: Row = {
  line: {
    work: 'pull of nothing new, 32 connections',
    limit: bareRoute,
    unit: 'requests/s',
    target: { atLeast: 0.5 },
  },
  open: besideBareApp((bench, account) => bench.load.run('pullNothing', account, callers(bench, 32))),
}

export const createOne: Row = {
  line: {
    work: 'create one, 64 connections, durable',
    limit: 'a Fastify route that commits each with the driver alone, synced to disk',
    unit: 'requests/s',
    target: { atLeast: 0.6 },
  },
  open: besideBareApp((bench, account) => bench.load.run('create', account, callers(bench, 64))),
}

const bareSelect = 'a Fastify route that selects the same with the driver alone'
const bareWrite = 'a Fastify route that commits it with the driver alone, synced to disk'
const asksAlone: Record<string, { limit: string; atMost: number }> = {
  create: { limit: bareWrite, atMost: 2 },
  'push of one': { limit: bareWrite, atMost: 2 },
  'update of one': { limit: bareWrite, atMost: 2 },
  'pull of nothing': { limit: bareRoute, atMost: 2.5 },
  'list page 1': { limit: bareSelect, atMost: 2.5 },
  status: { limit: bareSelect, atMost: 2.5 },
}

/** How long a person waits who is alone. */
export const alone: Row = {
  lines: Object.fromEntries(
    Object.entries(asksAlone).flatMap(([request, { limit, atMost }]) =>
      ['p50', 'p99'].map((percentile): [string, Line] => {
        const figure = `${request}, ${percentile}`
        return [figure, { work: `${figure}, of one caller alone`, limit, unit: 'ms', target: { atMost } }]
      }),
    ),
  ),
  open: besideBareApp((bench, account) => bench.load.run('askAlone', account, { times: bench.size(500, 5) })),
}

export const imports: Row = {
  line: {
    work: 'import of 10,000 bookmarks in a request',
    limit: 'the driver alone, a transaction',
    unit: 'records/s',
  },
  async open(bench) {
    const records = bench.size(10_000, 1_000)
    const batches = { records, size: records, connections: 1 }
    return {
      ...(await bench.onService(async (server) => bench.load.run('importAll', await server.newUser(), { records }))),
      limit: () => bench.raw.run('rawPush', bench.rawDatabase, batches, false),
    }
  },
}

export const exports: Row = {
  line: {
    work: 'export of 100,000 bookmarks, from the request to the complete file',
    limit: 'the driver alone selects the same, JSON.stringify, ChaCha20-Poly1305, and a write to a file',
    unit: 'bookmarks/s',
    target: { atLeast: 0.5 },
  },
  async open(bench, opened) {
    const bookmarks = bench.size(100_000, 1_000)
    return {
      ...(await bench.withServices(async (services) => {
        const prepared = await services.prepare({
          people: 1,
          fill: (data, users) => addBookmarks(data, users, bookmarks),
        })
        const server = opened.adopt(await startOn(prepared), (it) => it.close())
        const account = await server.newUser()
        return () => bench.load.run('exportAll', account, bookmarks)
      })),
      limit: () => bench.raw.run('rawExport', bench.rawDatabase, join(bench.folder, 'raw-export'), bookmarks),
    }
  },
}

/** The same work of a new user, on the servers and on a bare app. */
function besideBareApp(work: (bench: Bench, account: Account) => ReturnType<Measure>): Row['open'] {
  return async (bench, opened) => {
    const bare = opened.adopt(await startBareApp(bench.rawDatabase), (it) => it.close())
    const measure = async (server: Server) => work(bench, await server.newUser())
    return { ...(await bench.onServers(measure)), limit: () => measure(bare) }
  }
}

function batchesFor(bench: Bench): Batches {
  return { records: bench.size(20_000, 2_000), size: 1_000, connections: 2 }
}

function callers(bench: Bench, connections: number) {
  // A busy machine refuses some of more than 32 at once.
  return { connections: bench.size(connections, 8), ms: bench.size(2_000, 200) }
}
