import { join } from 'node:path'
import { addBookmarks } from '../data/bookmarks.ts'
import type { Row } from '../row.ts'
import { startOn } from '../servers/server.ts'
import type { Fill } from '../servers/service.ts'

export const exports: Row = {
  lines: {
    export: {
      work: 'export of 100,000 bookmarks, from the request to the complete file',
      limit: 'the driver alone selects the same, JSON.stringify, ChaCha20-Poly1305, and a write to a file',
      unit: 'bookmarks/s',
      target: { atLeast: 0.5 },
    },
  },
  async open(bench, opened) {
    const bookmarks = bench.size(100_000, 1_000)
    return {
      ...(await bench.withServices(async (services) => {
        const fill: Fill = (data, users) => addBookmarks(data, users, bookmarks)
        const server = await startOn(await services.prepare({ people: 1, fill }))
        opened.defer(server.close)
        const account = await server.newUser()
        return async () => ({ export: await bench.load.run('exportAll', account, bookmarks) })
      })),
      limit: async () => ({
        export: await bench.raw.run('rawExport', bench.rawDatabase, join(bench.folder, 'raw-export'), bookmarks),
      }),
    }
  },
}
