import { join } from 'node:path'
import { PushRequest } from '../../generated/limits.ts'
import { addBookmarks } from '../data.ts'
import type { Bench, Line, Measure, Row } from '../open.ts'
import { startBareApp } from '../servers/bare.ts'
import { type Server, startOn } from '../servers/service.ts'
import type { Account } from '../worker/apis.ts'
import type { Batches } from '../worker/load.ts'

const transactions = 'the driver alone, a transaction for each 500 records, synced to disk'
/** Records per push or import: the most that the contract allows. */
const batchSize = PushRequest.changes.maxItems
const bareRoute = 'a Fastify route that selects with the driver alone what came after the cursor: nothing'

export const push = pushRow('push of new records, 500 a request, 2 connections', 'pushNew', 0.6)
export const update = pushRow('push of updates, 500 a request, 2 connections', 'pushUpdates', 0.55)

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

export const beside: Row = {
  line: {
    work: "another user's empty pull during 20 pushes of 500 at once, p99",
    limit: 'none, as the bound is in ms',
    unit: 'ms',
    target: { figureAtMost: 50 },
  },
  async open(bench) {
    const connections = bench.size(20, 2)
    const batches = { records: 5 * connections * batchSize, size: batchSize, connections }
    return bench.onService(async (server) =>
      bench.load.run('pullDuringPushes', await server.newUser(), await server.newUser(), batches),
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
      await bench.load.run('pushNew', account, { records, size: batchSize, connections: 1 })
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
  open: againstBareApp((bench, account) => bench.load.run('pullNothing', account, callers(bench, 32))),
}

export const createOne: Row = {
  line: {
    work: 'create one, 64 connections, durable',
    limit: 'a Fastify route that commits each with the driver alone, synced to disk',
    unit: 'requests/s',
    target: { atLeast: 0.6 },
  },
  open: againstBareApp((bench, account) => bench.load.run('create', account, callers(bench, 64))),
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

/** How long a single user waits on an idle server. */
export const alone: Row = {
  lines: Object.fromEntries(
    Object.entries(asksAlone).flatMap(([request, { limit, atMost }]) =>
      ['p50', 'p99'].map((percentile): [string, Line] => {
        const figure = `${request}, ${percentile}`
        return [figure, { work: `${figure}, of one caller alone`, limit, unit: 'ms', target: { atMost } }]
      }),
    ),
  ),
  open: againstBareApp((bench, account) => bench.load.run('askAlone', account, { times: bench.size(500, 5) })),
}

export const imports: Row = {
  line: {
    work: 'import of new bookmarks, 500 a request',
    limit: transactions,
    unit: 'records/s',
  },
  async open(bench) {
    const records = bench.size(10_000, 1_000)
    const batches = { records, size: batchSize, connections: 1 }
    return {
      ...(await bench.onService(async (server) => bench.load.run('importAll', await server.newUser(), batches))),
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

/** Does the work on the servers, with a new user each time, and for `limit` on the bare Fastify app. */
function againstBareApp(work: (bench: Bench, account: Account) => ReturnType<Measure>): Row['open'] {
  return async (bench, opened) => {
    const bare = opened.adopt(await startBareApp(bench.rawDatabase), (it) => it.close())
    const measure = async (server: Server) => work(bench, await server.newUser())
    return { ...(await bench.onServers(measure)), limit: () => measure(bare) }
  }
}

function batchesFor(bench: Bench): Batches {
  return { records: bench.size(20_000, 2_000), size: batchSize, connections: 2 }
}

function callers(bench: Bench, connections: number) {
  // A quick run must also pass on a busy machine, where the service refuses some of 32 simultaneous requests.
  return { connections: bench.size(connections, 8), ms: bench.size(2_000, 200) }
}
