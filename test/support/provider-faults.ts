import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

/** How an endpoint misbehaves on every request. `silent` and `dripping` never end. */
export const FAULTS = {
  redirect: (response: ServerResponse) => response.writeHead(302, { location: '/jwks' }).end('{}'),
  missing: (response: ServerResponse) => response.writeHead(404).end(),
  error: (response: ServerResponse) => response.writeHead(500, { 'content-type': 'application/json' }).end('{}'),
  unauthorized: (response: ServerResponse) =>
    response
      .writeHead(401, { 'content-type': 'application/json', 'www-authenticate': 'Basic realm="clients"' })
      .end('{"error":"invalid_client"}'),
  busy: (response: ServerResponse) => response.writeHead(429, { 'retry-after': '1' }).end(),
  html: (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Welcome'),
  array: (response: ServerResponse) => response.writeHead(200, { 'content-type': 'application/json' }).end('[]'),
  hangup: (response: ServerResponse) => response.destroy(),
  silent: () => {},
  dripping: (response: ServerResponse) => pour(response, drops()),
  endless: (response: ServerResponse) => pour(response, spaces()),
  bomb: (response: ServerResponse) =>
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(compressed()),
}

let bomb: Buffer | undefined

function compressed(): Buffer {
  bomb ??= gzipSync(`{"a":"${'a'.repeat(16 << 20)}"}`)
  return bomb
}

function pour(response: ServerResponse, source: Iterable<string> | AsyncIterable<string>): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  const body = Readable.from(source)
  response.on('close', () => body.destroy())
  body.pipe(response)
}

/** The interval between drops, short enough that no idle timeout ends the response. */
const dropEveryMs = 10

async function* drops(): AsyncGenerator<string> {
  for (;;) {
    yield ' '
    await sleep(dropEveryMs, undefined, { ref: false })
  }
}

function* spaces(): Generator<string> {
  for (;;) yield ' '.repeat(65_536)
}
