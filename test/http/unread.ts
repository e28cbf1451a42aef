import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import type { TestApp, TestUser } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { type Answered, checkAnswer } from '../support/contract.ts'
import { unchecked } from '../sync/unchecked.ts'

/** Of the largest records there are: 16 MiB, which is more than the sockets of both sides hold. */
export async function storeMuch({ app }: TestApp, user: TestUser): Promise<string[]> {
  const ids = Array.from({ length: 64 }, (_, index) => `bookmark-${String(index).padStart(2, '0')}`)
  const changes = ids.map((entity_id, index) =>
    change({ entity_id, timestamp: Date.now() + index, encrypted_data: 'x'.repeat(262_144) }),
  )
  await unchecked(app, user).call('POST', '/api/v1/sync/push', { body: { changes } })
  return ids
}

/** A response of which nothing is read beyond its head, until `read` is called. */
export interface Unread {
  status: number
  /** Reads everything; checked against openapi.yaml. Rejects if the connection ends before the response does. */
  read(): Promise<Answered>
  /** Reads that much, and no more. */
  take(bytes: number): Promise<void>
  abort(): void
}

export async function openUnread(
  t: Pick<Test, 'teardown'>,
  origin: string,
  { cookie }: TestUser,
  path: string,
  body?: object,
): Promise<Unread> {
  const method = body ? 'POST' : 'GET'
  const headers = { cookie, ...(body && { 'content-type': 'application/json' }) }
  const sent = request(origin + path, { method, agent: false, headers })
  sent.end(body && JSON.stringify(body))
  t.teardown(() => sent.destroy())
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const status = response.statusCode ?? 0
  sent.on('error', () => {})
  response.on('error', () => {})
  const taken: Buffer[] = []
  return {
    status,
    async read() {
      return checkAnswer(method, path, status, response.headers, Buffer.concat([...taken, await buffer(response)]))
    },
    async take(bytes) {
      let left = bytes
      while (left > 0) {
        const piece: Buffer | null = response.read()
        if (piece) taken.push(piece)
        else await once(response, 'readable')
        left -= piece?.length ?? 0
      }
    },
    abort: () => sent.destroy(),
  }
}
