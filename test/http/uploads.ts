import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { buildApp, type TestUser } from '../support/app.ts'
import { type Answered, checkAnswer } from '../support/contract.ts'
import { holdIntervals } from '../support/intervals.ts'
import { until } from '../support/until.ts'

export const mebibyte = 1024 * 1024
export const push = '/api/v1/sync/push'
/** A push that changes nothing. */
export const nothing = '{"changes":[]}'

/** The same, with a field that the service ignores: the service reads a long text faster than white space. */
export function nothingIn(bytes: number): string {
  return `{"_":"${'x'.repeat(bytes - nothing.length - 7)}",${nothing.slice(1)}`
}

/** A request whose body arrives piece by piece. */
export interface Upload {
  /** Checked against openapi.yaml. */
  answer: Promise<Answered>
  /** This many spaces, which JSON ignores. */
  send(bytes: number): void
  write(text: string): void
  end(text: string): void
  abort(): void
}

export interface UploadOptions {
  method?: string
  path?: string
  cookie?: string
  /** The Content-Length; without one the body goes in chunks. */
  length?: number
}

const blanks = Buffer.alloc(32 * mebibyte, ' ')

/** The service on a port, and what its requests hold. Bodies arrive too slowly only if time is made to `pass`. */
export async function openForUploads(t: Test) {
  const pass = holdIntervals(t)
  const app = await buildApp(t)
  const origin = await app.listen()
  const { bodies } = app.context
  const begin = (options: UploadOptions) => beginUpload(origin, options)

  /** Unfinished pushes of the user that hold this much. */
  async function hold({ cookie }: TestUser, bytes: number): Promise<Upload[]> {
    const [before, uploads] = [bodies.held(), [] as Upload[]]
    for (let left = bytes; left > 0; left -= 31 * mebibyte) {
      const upload = await begin({ cookie, length: 32 * mebibyte })
      upload.send(Math.min(left, 31 * mebibyte))
      uploads.push(upload)
    }
    await until(() => bodies.held() === before + bytes)
    return uploads
  }

  async function send({ call }: Pick<TestUser, 'call'>, bytes: number, path = push) {
    const { status, body, headers } = await call('POST', path, {
      headers: { 'content-type': 'application/json' },
      payload: nothingIn(bytes),
    })
    return status === 503 ? [status, body, headers['retry-after']] : status
  }

  async function abort(uploads: Upload[]): Promise<void> {
    for (const upload of uploads) upload.abort()
    await until(() => bodies.held() === 0)
  }
  return { ...app, origin, bodies, begin, hold, send, abort, pass }
}

/** Resolves once the service has the head of the request. */
export async function beginUpload(origin: string, options: UploadOptions): Promise<Upload> {
  const { method = 'POST', path = push, cookie, length } = options
  const sent = request(origin + path, {
    method,
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
    return checkAnswer(method, path, response.statusCode ?? 0, response.headers, await buffer(response))
  })()
  // An aborted request gets no response.
  answer.catch(() => {})
  sent.on('error', () => {})
  sent.flushHeaders()
  // One that is refused by its head is not invited to send the body.
  await Promise.race([once(sent, 'continue'), answer.catch(() => {})])
  return {
    answer,
    send: (bytes) => sent.write(blanks.subarray(0, bytes)),
    write: (text) => sent.write(text),
    end: (text) => sent.end(text),
    abort: () => sent.destroy(),
  }
}
