import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'

export interface RawAnswer {
  /** 0 if the connection was closed without a response. */
  status: number
  type: string
  headers: Record<string, string>
  body: string
}

/** Sends each character of the text as one byte over a new connection, and reads until the service closes it. */
export async function sendRaw(origin: string, request: string): Promise<RawAnswer> {
  const { hostname, port } = new URL(origin)
  const socket = connect(Number(port), hostname)
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  // A reset closes the connection, too.
  socket.on('error', () => {})
  socket.write(request, 'latin1')
  await once(socket, 'close')
  return parse(Buffer.concat(chunks).toString('latin1'))
}

/** A request with these header lines that asks for the connection to be closed. */
export function rawRequest(line: string, headers: string[] = [], body = ''): string {
  return [`${line} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...headers, '', body].join('\r\n')
}

/** Asserts a closed connection, or a 4xx whose body is empty or the contract's `{error}`. */
export function assertPlainError({ status, type, body }: RawAnswer, name: string): void {
  assert.ok(status === 0 || (status >= 400 && status < 500), `${name}: ${status}`)
  if (body === '') return
  assert.match(type, /^application\/json/, `${name}: ${body.slice(0, 100)}`)
  const answer = JSON.parse(body)
  assert.deepEqual(Object.keys(answer), ['error'], name)
  assert.match(answer.error, /^[ -~]+$/, name)
}

function parse(text: string): RawAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [, status = '0'] = /^HTTP\/1\.1 (\d{3}) /.exec(head) ?? []
  const lines = [...head.matchAll(/^([^:\r\n]+): (.*)\r?$/gm)]
  const headers = Object.fromEntries(lines.map(([, name = '', value = '']) => [name.toLowerCase(), value]))
  const { 'content-type': type = '', 'transfer-encoding': coding } = headers
  return { status: Number(status), type, headers, body: coding === 'chunked' ? '' : rest.join('\r\n\r\n') }
}
