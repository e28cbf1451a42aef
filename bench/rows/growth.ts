import type { Data } from '../data.ts'
import { addBookmarks } from '../data.ts'
import type { Bench, Figures, Line, Row } from '../open.ts'
import { startOn } from '../servers/service.ts'
import type { Account } from '../worker/apis.ts'

const small = 1_000
const asked = ['push', 'pull', 'list page 1', 'status']
/** A page has 100 bookmarks. A user with 1,000 has no page 100, so only the larger sizes ask for it. */
const sizes = [
  { size: '100,000 bookmarks', bookmarks: 100_000, quick: 10_000, asked: [...asked, 'list page 100'] },
  { size: '1,000,000 bookmarks', bookmarks: 1_000_000, quick: 10_000, asked: [...asked, 'list page 100'] },
  { size: '1,000 bookmarks next to 100,000 users', bookmarks: small, quick: small, asked },
]
const usersAtOnce = 500

/** Request times of users with much data, or next to many users, compared with a user who has little, alone. */
export const growth: Row = {
  lines: Object.fromEntries(
    sizes.flatMap(({ size, asked }) => asked.map((request) => [`${request}, ${size}`, lineOf(request, size)])),
  ),
  async open(bench, opened) {
    const grown = sizes.map(({ bookmarks, quick }) => bench.size(bookmarks, quick))
    const crowd = bench.size(100_000, 100)
    const fill = async (data: Data, users: string[]) => {
      for (const [index, bookmarks] of grown.entries())
        await addBookmarks(data, users.slice(index, index + 1), bookmarks)
      for (let from = grown.length; from < users.length; from += usersAtOnce)
        await addBookmarks(data, users.slice(from, from + usersAtOnce), 1)
    }
    const alone = await startOn(
      await bench.services.prepare({ people: 1, fill: (data, users) => addBookmarks(data, users, small) }),
    )
    opened.defer(alone.close)
    const account = await alone.newUser()
    return {
      ...(await bench.withServices(async (services) => {
        const server = await startOn(await services.prepare({ people: grown.length + crowd, fill }))
        opened.defer(server.close)
        const users = await Promise.all(grown.map(async (bookmarks) => ({ user: await server.newUser(), bookmarks })))
        return () => askAll(bench, users)
      })),
      async limit() {
        const figures = await askAll(
          bench,
          sizes.map(() => ({ user: account, bookmarks: small })),
        )
        // Page 100 is compared with page 1.
        for (const { size } of sizes) figures[`list page 100, ${size}`] = figures[`list page 1, ${size}`] as number
        return figures
      },
    }
  },
}

function lineOf(request: string, size: string): Line {
  const isDeep = request === 'list page 100'
  const limit = isDeep ? 'page 1 with 1,000 bookmarks' : 'the same with 1,000 bookmarks'
  return { work: `${request}, ${size}`, limit, unit: 'ms', target: { atMost: isDeep ? 3 : 1.5 } }
}

/** Runs the requests for one user of each size. */
async function askAll(bench: Bench, users: { user: Account; bookmarks: number }[]): Promise<Figures> {
  const figures: Figures = {}
  for (const [index, { user, bookmarks }] of users.entries()) {
    const all = await bench.load.run('askAll', user, { bookmarks, times: bench.size(20, 2) })
    for (const [request, ms] of Object.entries(all)) figures[`${request}, ${sizes[index]?.size}`] = ms
  }
  return figures
}
