import type { Figures } from '../contenders.ts'
import { addBookmarks } from '../data/bookmarks.ts'
import type { Bench } from '../open.ts'
import type { Line, Row } from '../row.ts'
import { startOn } from '../servers/server.ts'
import type { Fill } from '../servers/service.ts'
import type { Account } from '../worker/apis/api.ts'

const asked = ['push', 'pull', 'list page 1', 'list page 100', 'status']
/** What is compared with a user who has 1,000 bookmarks and is alone. */
const sizes = ['100,000 bookmarks', '1,000,000 bookmarks', '1,000 beside 100,000 users']
const small = 1_000

/** How long a request takes when much is stored. A page deep in a list is compared with the first one. */
export const growth: Row = {
  lines: Object.fromEntries(
    sizes.flatMap((size, index) =>
      // Who has 1,000 bookmarks has no page 100.
      asked
        .filter((name) => index < 2 || name !== 'list page 100')
        .map((name) => [`${name}, ${size}`, lineOf(name, size)]),
    ),
  ),
  async open(bench, opened) {
    const bookmarks = [bench.size(100_000, 2_000), bench.size(1_000_000, 10_000), small]
    const crowd = bench.size(100_000, 100)
    const alone = await startOn(
      await bench.services.prepare({ people: 1, fill: (data, users) => addBookmarks(data, users, small) }),
    )
    opened.defer(alone.close)
    const account = await alone.newUser()
    return {
      ...(await bench.withServices(async (services) => {
        const fill: Fill = async (data, users) => {
          for (const [index, count] of bookmarks.entries())
            await addBookmarks(data, users.slice(index, index + 1), count)
          for (let from = sizes.length; from < users.length; from += 500)
            await addBookmarks(data, users.slice(from, from + 500), 1)
        }
        const server = await startOn(await services.prepare({ people: sizes.length + crowd, fill }))
        opened.defer(server.close)
        const accounts = [await server.newUser(), await server.newUser(), await server.newUser()]
        return async () => {
          const figures: Figures = {}
          for (const [index, size] of sizes.entries())
            Object.assign(
              figures,
              named(size, await ask(bench, accounts[index] as Account, bookmarks[index] as number)),
            )
          return figures
        }
      })),
      async limit() {
        const figures = await ask(bench, account, small)
        const compared = { ...figures, 'list page 100': figures['list page 1'] as number }
        return Object.assign({}, ...sizes.map((size) => named(size, compared)))
      },
    }
  },
}

function lineOf(name: string, size: string): Line {
  const limit = name === 'list page 100' ? 'page 1 with 1,000 bookmarks' : 'the same with 1,000 bookmarks'
  return { work: `${name}, ${size}`, limit, unit: 'ms', target: { atMost: name === 'list page 100' ? 3 : 1.5 } }
}

function ask(bench: Bench, account: Account, bookmarks: number): Promise<Figures> {
  return bench.load.run('askAll', account, { bookmarks, times: bench.size(20, 2) })
}

function named(size: string, figures: Figures): Figures {
  return Object.fromEntries(Object.entries(figures).map(([name, figure]) => [`${name}, ${size}`, figure]))
}
