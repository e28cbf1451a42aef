import { Pool } from 'undici'
import type { Request } from './apis.ts'

/** How many characters at the end of a page certainly contain the next cursor. */
const endLength = 300

interface Connections {
  /** Resolves with the whole body. */
  text(request: Request): Promise<string>
  /** Resolves with the last characters of the body, which are enough to find the cursor. */
  end(request: Request): Promise<string>
  /** Bytes of all response bodies so far. */
  received(): number
  close(): Promise<void>
}

/** Keeps connections to a server open. A response other than 2xx is an error. */
export function connect(origin: string, connections: number): Connections {
  let received = 0
  const pool = new Pool(origin, { connections, pipelining: 1, headersTimeout: 60_000, bodyTimeout: 60_000 })
  const send = ({ method, path, headers, body }: Request) =>
    new Promise<Buffer[]>((resolve, reject) => {
      const chunks: Buffer[] = []
      let status = 0
      pool.dispatch(
        { method, path, headers, body },
        {
          onRequestStart() {},
          onResponseStart(_controller, statusCode) {
            status = statusCode
          },
          onResponseData(_controller, chunk) {
            chunks.push(chunk)
            received += chunk.length
          },
          onResponseEnd() {
            if (status >= 200 && status < 300) resolve(chunks)
            else reject(new Error(`${method} ${path}: ${status} ${textOf(chunks).slice(0, 500)}`))
          },
          onResponseError: (_controller, error) => reject(error),
        },
      )
    })
  return {
    text: async (request) => textOf(await send(request)),
    async end(request) {
      const chunks = await send(request)
      return textOf(chunks.slice(-2)).slice(-endLength)
    },
    received: () => received,
    close: () => pool.close(),
  }
}

/** Runs the work for all items, one at a time per connection. Resolves with the results in the order of the items. */
export async function together<Item, Result>(
  connections: number,
  items: Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const rest = items.entries()
  const next = async () => {
    for (const [index, item] of rest) results[index] = await work(item)
  }
  await Promise.all(Array.from({ length: connections }, next))
  return results
}

/** Resolves with responses per second. `connections` callers repeat the work for `ms`. */
export async function rateOf(connections: number, ms: number, work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  let done = 0
  const caller = async () => {
    for (; performance.now() - start < ms; done++) await work()
  }
  await Promise.all(Array.from({ length: connections }, caller))
  return (done * 1000) / (performance.now() - start)
}

export async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}

function textOf(chunks: Buffer[]): string {
  return Buffer.concat(chunks).toString()
}

export function percentile(figures: number[], percent: number): number {
  const sorted = figures.toSorted((one, other) => one - other)
  return sorted[Math.ceil((percent / 100) * sorted.length) - 1] ?? Number.NaN
}
