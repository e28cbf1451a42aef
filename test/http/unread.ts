import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { createHistogram } from 'node:perf_hooks'
import { type Duplex, duplexPair, Readable } from 'node:stream'
import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import type { Test } from 'tap'
import type { TestApp, TestUser } from '../support/app.ts'
import { change, pushMany } from '../support/changes.ts'
import { createdExport } from '../support/exports.ts'
import { unchecked } from '../sync/unchecked.ts'

export type Operation = [method: string, path: string, body?: object]

/** Sends a request over a connection with almost no buffer, and reads only the head of the response. */
export async function openUnread({ app }: Pick<TestApp, 'app'>, { cookie }: TestUser, [method, path, body]: Operation) {
  const [client, server] = duplexPair({ highWaterMark: 1024 }) as [Duplex, Duplex]
  app.server.emit('connection', asSocket(server))
  const headers = { cookie, ...(body && { 'content-type': 'application/json' }) }
  const sent = request({ method, path, headers, createConnection: () => client as never, host: '127.0.0.1' })
  sent.end(body && JSON.stringify(body))
  sent.on('error', () => {})
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.on('error', () => {})
  const taken: Buffer[] = []
  let isAborted = false
  return {
    status: response.statusCode,
    isCutOff: () => server.destroyed && !isAborted,
    /** Reads this many bytes. */
    async take(bytes: number): Promise<void> {
      for (let left = bytes; left > 0; ) {
        const piece: Buffer | null = response.read()
        if (piece) taken.push(piece)
        else await once(response, 'readable')
        left -= piece?.length ?? 0
      }
      // The service notices in the next turns of the event loop.
      for (let turns = 0; turns < 5; turns++) await eventLoopTurn()
    },
    /** Reads the rest. Returns all of the body, and whether the response is complete. */
    async rest() {
      response.on('data', (piece) => taken.push(piece))
      if (!response.closed) await new Promise((resolve) => response.once('close', resolve))
      return { text: Buffer.concat(taken).toString('latin1'), complete: response.complete }
    },
    abort(): void {
      isAborted = true
      client.destroy()
      server.destroy()
    },
  }
}

/** Makes a stream count its written bytes, as a TCP socket does. */
function asSocket(server: Duplex): Duplex {
  let bytesWritten = 0
  const { write } = server
  server.write = (chunk: string | Buffer, ...rest: unknown[]) => {
    bytesWritten += Buffer.byteLength(chunk, rest[0] as BufferEncoding)
    return Reflect.apply(write, server, [chunk, ...rest])
  }
  return Object.defineProperty(Object.assign(server, { remoteAddress: '127.0.0.1' }), 'bytesWritten', {
    get: () => bytesWritten,
  })
}

/** Stores records of the maximum size. 64 of them are 16 MiB, more than the socket buffers of both sides hold. */
export async function storeMuch({ app }: TestApp, user: TestUser, count = 64): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `bookmark-${String(index).padStart(2, '0')}`)
  const changes = ids.map((entity_id, index) =>
    change({ entity_id, timestamp: Date.now() + index, encrypted_data: 'x'.repeat(262_144) }),
  )
  await pushMany(unchecked(app, user), changes)
  return ids
}

const gibibyte = 1024 ** 3

/** Makes exports of 1 GiB whose bytes are generated as they are read. */
export function openEndlessExports({ context }: TestApp) {
  const bodies: Readable[] = []
  context.objects = {
    ...context.objects,
    async get() {
      const body: Readable = new Readable({ read: (size) => void body.push(Buffer.alloc(size)) })
      bodies.push(body)
      return { size: gibibyte, body }
    },
  }
  return {
    /** Makes an export and returns the path of its file. */
    async make(user: TestUser): Promise<string> {
      const { id } = await createdExport(user)
      await context.database.db.updateTable('exports').set({ size_bytes: gibibyte }).where('id', '=', id).execute()
      return `/api/v1/exports/${id}`
    },
    openFiles: () => bodies.filter(({ destroyed }) => !destroyed).length,
  }
}

/** Reports no event loop lag on a busy machine: because of lag, the service would refuse more than 32 unread responses. */
export function ignoreLag(t: Pick<Test, 'teardown'>): void {
  const histogram = Object.getPrototypeOf(Object.getPrototypeOf(createHistogram()))
  const mean = Object.getOwnPropertyDescriptor(histogram, 'mean') as PropertyDescriptor
  Object.defineProperty(histogram, 'mean', { ...mean, get: () => 0 })
  t.teardown(() => Object.defineProperty(histogram, 'mean', mean))
}
