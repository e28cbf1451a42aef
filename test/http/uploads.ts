import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { buildApp, type TestUser } from '../support/app.ts'
import { type Answered, checkAnswer } from '../support/contract.ts'
import { holdClock, holdIntervals } from '../support/intervals.ts'

export const mebibyte = 1024 * 1024
export const push = '/api/v1/sync/push'
/** A push that changes nothing. */
export const nothing = '{"changes":[]}'

/** The same with this many bytes, in a field that the service ignores. Long texts parse faster than white space. */
function nothingIn(bytes: number): string {
  return `{"_":"${'x'.repeat(bytes - nothing.length - 7)}",${nothing.slice(1)}`
}

/** A request whose body arrives piece by piece. */
export interface Upload {
  /** The response, checked against openapi.yaml. */
  answer: Promise<Answered>
  /** Sends this many spaces (at most 4 MiB), which JSON ignores. */
  send(bytes: number): void
  write(text: string): void
  end(text: string): void
  abort(): void
}

export interface UploadOptions {
  method?: string
  path?: string
  cookie?: string
  /** The Content-Length. Without it the body is sent in chunks. */
  length?: number
}

const blanks = Buffer.alloc(4 * mebibyte, ' ')

/** Starts the service on a port. Timeouts of bodies and waiting requests fire only when a test calls `pass`. */
export async function openForUploads(t: Test) {
  const pass = holdDeadlines(t)
  const app = await buildApp(t)
  const origin = await app.listen()
  const { smallBodies, bodies, largeBodies } = app.context.gate
  const begin = (options: UploadOptions) => beginUpload(origin, options)
  /** The number of requests whose body has a slot (src/service/load/gate.ts). */
  const unfinished = () => smallBodies.load().taken + bodies.load().taken + largeBodies.load().taken

  async function send({ call }: Pick<TestUser, 'call'>, bytes: number, path = push) {
    const { status, body, headers } = await call('POST', path, {
      headers: { 'content-type': 'application/json' },
      payload: nothingIn(bytes),
    })
    return status === 503 ? [status, body, headers['retry-after']] : status
  }
  return { ...app, ...app.context.gate, origin, unfinished, begin, send, pass }
}

const deadlines = [20_000, 60_000]

/** Stops the clock. Intervals, and timers of these durations, fire only as the returned function passes seconds. */
function holdDeadlines(t: Test): (seconds: number) => void {
  const [tick, goOn] = [holdIntervals(t), holdClock(t)]
  const held = new Map<object, { ms: number; run: () => void }>()
  const { setTimeout, clearTimeout } = globalThis
  t.intercept(globalThis, 'setTimeout', {
    value: Object.assign((run: () => void, ms: number, ...rest: []) => {
      if (!deadlines.includes(ms)) return setTimeout(run, ms, ...rest)
      const timer = {}
      held.set(timer, { ms, run })
      return timer
    }, setTimeout),
  })
  t.intercept(globalThis, 'clearTimeout', {
    value: (timer: NodeJS.Timeout) => void (held.delete(timer) || clearTimeout(timer)),
  })
  return (seconds) => {
    goOn(seconds)
    for (const [timer, { ms, run }] of held) if (ms <= seconds * 1000 && held.delete(timer)) run()
    tick(seconds)
  }
}

/** Resolves when the service has accepted or refused the head of the request. */
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
  // A request that is refused by its head gets no 100 Continue.
  await Promise.race([once(sent, 'continue'), answer.catch(() => {})])
  return {
    answer,
    send: (bytes) => sent.write(blanks.subarray(0, bytes)),
    write: (text) => sent.write(text),
    end: (text) => sent.end(text),
    abort: () => sent.destroy(),
  }
}
