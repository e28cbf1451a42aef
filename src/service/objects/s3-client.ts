import { createHash, hkdfSync } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import https from 'node:https'
import { Client, type ClientOptions, S3Error } from 'minio'
import type { Config } from '../config/config.ts'
import { beginCall } from '../tracing/trace.ts'
import { ObjectStoreUnavailableError } from './store.ts'

export type S3Config = NonNullable<Config['s3']>

/** The limit for connecting, and for silence until the response begins. Reading an object's body has no limit. */
const silentMs = 10_000
/** What is being sent has longer, at this rate: it may wait in buffers on the way, and nothing is seen of its progress. */
const slowestBytesPerMs = 64
/** Says what the store cannot do, not that it is in trouble. */
const notImplemented = 501

/** A client whose requests never hang, and reject with `ObjectStoreUnavailableError` or an `S3Error` safe to log. */
export function createClient(config: S3Config, via: Pick<https.RequestOptions, 'agent' | 'signal'>): Client {
  const { hostname, port } = new URL(config.endpoint)
  const request = (options: https.RequestOptions, onResponse: (response: IncomingMessage) => void) => {
    const trace = beginCall(`object store ${options.method}`)
    const headers: OutgoingHttpHeaders = { ...(options.headers as OutgoingHttpHeaders), ...trace?.headers }
    const timeout = silentMs + Number(headers['content-length'] ?? 0) / slowestBytesPerMs
    let statusCode = 500
    const sent = https.request({ ...options, headers, ...via, timeout }, (response) => {
      statusCode = response.statusCode ?? 500
      const isAnswer = statusCode < 500 || statusCode === notImplemented
      if (isAnswer && ![408, 429, 499].includes(statusCode)) return onResponse(response)
      response.resume()
      sent.emit('error', new ObjectStoreUnavailableError(`the object store responded with status ${statusCode}`))
    })
    sent.once('close', () => trace?.end(statusCode >= 500))
    return sent.on('timeout', () => sent.destroy(new ObjectStoreUnavailableError('the object store did not respond')))
  }
  const client = new Client({
    endPoint: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port),
    accessKey: config.accessKey,
    secretKey: config.secretKey,
    ...(config.region && { region: config.region }),
    transport: { request } as NonNullable<ClientOptions['transport']>,
    // A retry would write to the console and leave the first response unread, which blocks its connection.
    retryOptions: { disableRetry: true },
  })
  const fail = (error: unknown) => Promise.reject(toStoreError(error))
  return new Proxy(client, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? (...args: unknown[]) => member.apply(target, args).catch(fail) : member
    },
  })
}

/** Drops S3's own error: it may quote the request's headers, and a log would then contain the customer key. */
function toStoreError(error: unknown): unknown {
  // The client also throws parsed responses, which are not Errors.
  const { name, code, Code, message, Message, syscall } = error as Record<string, unknown>
  if (error instanceof ObjectStoreUnavailableError || error instanceof TypeError || name === 'AbortError') return error
  const [reason, text] = [String(code ?? Code ?? name), String(message ?? Message ?? '')]
  // The connection errors of the system and of Node have upper-case codes.
  if (syscall !== undefined || /^[A-Z\d_]+$/.test(reason)) {
    return new ObjectStoreUnavailableError(`the object store cannot be reached (${text || reason})`, { cause: error })
  }
  return Object.assign(new S3Error(`the object store responded with ${reason}: ${text}`), { code: reason })
}

/** Headers for server-side encryption with a customer-provided key (SSE-C). A new object each time, as the client adds to it. */
export function customerKeyHeaders(exportKey: Uint8Array): Record<string, string> {
  const key = Buffer.from(hkdfSync('sha256', exportKey, '', 'ebs/sse-c/1', 32))
  return {
    'x-amz-server-side-encryption-customer-algorithm': 'AES256',
    'x-amz-server-side-encryption-customer-key': key.toString('base64'),
    'x-amz-server-side-encryption-customer-key-md5': createHash('md5').update(key).digest('base64'),
  }
}
