import type { Bench } from '../open.ts'
import type { Row } from '../row.ts'
import { startOn } from '../servers/server.ts'
import type { Batches } from '../worker/http-works.ts'

const limit = 'the driver alone, a transaction for each 1,000 records, synced to disk'

export const push: Row = {
  lines: {
    push: {
      work: 'push of new records, 1,000 a request, 2 connections',
      limit,
      unit: 'records/s',
      target: { atLeast: 0.6 },
    },
  },
  async open(bench) {
    const batches = batchesFor(bench)
    return {
      ...(await bench.onServers(async (server) => ({
        push: await bench.load.run('pushNew', await server.newUser(), batches),
      }))),
      limit: async () => ({ push: await bench.raw.run('rawPush', bench.rawDatabase, batches, false) }),
    }
  },
}

export const update: Row = {
  lines: {
    update: {
      work: 'push of updates, 1,000 a request, 2 connections',
      limit,
      unit: 'records/s',
      target: { atLeast: 0.55 },
    },
  },
  async open(bench) {
    const batches = batchesFor(bench)
    return {
      ...(await bench.onServers(async (server) => ({
        update: await bench.load.run('pushUpdates', await server.newUser(), batches),
      }))),
      limit: async () => ({ update: await bench.raw.run('rawPush', bench.rawDatabase, batches, true) }),
    }
  },
}

export const history: Row = {
  lines: {
    history: {
      work: 'push of updates, with the replaced versions kept',
      limit: 'the service with KEEP_VERSIONS_DAYS=0',
      unit: 'records/s',
      target: { atLeast: 1 / 1.6 },
    },
  },
  async open(bench, opened) {
    const batches = batchesFor(bench)
    const measureWith = async (env: Record<string, string>) => {
      const server = opened.adopt(await startOn(await bench.services.prepare({ env })), (it) => it.close())
      return async () => ({ history: await bench.load.run('pushUpdates', await server.newUser(), batches) })
    }
    return { service: await measureWith({}), limit: await measureWith({ KEEP_VERSIONS_DAYS: '0' }) }
  },
}

export const beside: Row = {
  lines: {
    beside: {
      work: "another user's empty pull during pushes of 10,000, p99",
      limit: 'none, as the bound is in ms',
      unit: 'ms',
      target: { figureAtMost: 50 },
    },
  },
  async open(bench) {
    const size = bench.size(10_000, 1_000)
    const batches = { records: 5 * size, size, connections: 1 }
    return bench.onService(async (server) => {
      const [pushing, pulling] = [await server.newUser(), await server.newUser()]
      return { beside: await bench.load.run('pullBesidePushes', pushing, pulling, batches) }
    })
  },
}

export const imports: Row = {
  lines: {
    import: {
      work: 'import of 10,000 bookmarks in a request',
      limit: 'the driver alone, a transaction',
      unit: 'records/s',
    },
  },
  async open(bench) {
    const records = bench.size(10_000, 1_000)
    const batches = { records, size: records, connections: 1 }
    return {
      ...(await bench.onService(async (server) => ({
        import: await bench.load.run('importAll', await server.newUser(), { records }),
      }))),
      limit: async () => ({ import: await bench.raw.run('rawPush', bench.rawDatabase, batches, false) }),
    }
  },
}

function batchesFor(bench: Bench): Batches {
  return { records: bench.size(20_000, 2_000), size: 1_000, connections: 2 }
}
