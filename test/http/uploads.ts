import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answered, checkAnswer } from '../support/contract.ts'

export const mebibyte = 1024 * 1024

/** A request whose body arrives piece by piece. */
export interface Upload {
  /** Checked against openapi.yaml. */
  answer: Promise<Answered>
  /** That many blanks, which JSON passes over. */
  send(bytes: number): void
  end(text: string): void
  abort(): void
}

export interface UploadOptions {
  path?: string
  cookie?: string
  /** What the Content-Length announces; without one the body goes in chunks. */
  length?: number
}

const blanks = Buffer.alloc(32 * mebibyte, ' ')

/** Resolves once the service has the head of the request. */
export async function beginUpload(origin: string, options: UploadOptions): Promise<Upload> {
  const { path = '/api/v1/sync/push', cookie, length } = options
  const sent = request(origin + path, {
    method: 'POST',
    agent: false,
    headers: {
      'content-type': 'application/json',
      expect: '100-continue',
      ...(cookie && { cookie }),
      ...(length === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': length }),
    },
  })
  const answer = (async () => {
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return checkAnswer('POST', path, response.statusCode ?? 0, response.headers, await buffer(response))
  })()
  // One that is aborted has none.
  answer.catch(() => {})
  sent.on('error', () => {})
  sent.flushHeaders()
  await once(sent, 'continue')
  return {
    answer,
    send: (bytes) => sent.write(blanks.subarray(0, bytes)),
    end: (text) => sent.end(text),
    abort: () => sent.destroy(),
  }
}

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(2)
}
