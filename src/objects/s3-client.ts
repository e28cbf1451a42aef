import { createHash, hkdfSync } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import https from 'node:https'
import { Client, type ClientOptions, S3Error } from 'minio'
import type { Config } from '../config/config.ts'
import { ObjectStoreUnavailableError } from './store.ts'

export type S3Config = NonNullable<Config['s3']>

/** For a connection, and between any two signs of life until the response begins. Bodies of objects have no limit. */
const silentMs = 10_000

/** A client whose requests end, and reject with `ObjectStoreUnavailableError` or with an `S3Error` fit for the log. */
export function createClient(config: S3Config, via: Pick<https.RequestOptions, 'agent' | 'signal'>): Client {
  const { hostname, port } = new URL(config.endpoint)
  const request = (options: https.RequestOptions, onResponse: (response: IncomingMessage) => void) => {
    const sent = https.request({ ...options, ...via, timeout: silentMs }, (response) => {
      const { statusCode = 500 } = response
      if (statusCode < 500 && ![408, 429, 499].includes(statusCode)) return onResponse(response)
      response.resume()
      sent.emit('error', new ObjectStoreUnavailableError(`the object store answers ${statusCode}`))
    })
    return sent.on('timeout', () => sent.destroy(new ObjectStoreUnavailableError('the object store does not answer')))
  }
  const client = new Client({
    endPoint: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port),
    accessKey: config.accessKey,
    secretKey: config.secretKey,
    ...(config.region && { region: config.region }),
    transport: { request } as NonNullable<ClientOptions['transport']>,
    // A retry writes to the console and leaves the first response unread, which holds its connection.
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

/** S3's error is dropped: it may quote the request's headers, and with them the customer key, to whoever logs it. */
function toStoreError(error: unknown): unknown {
  // The client also throws parsed responses, which are not Errors.
  const { name, code, Code, message, Message, syscall } = error as Record<string, unknown>
  if (error instanceof ObjectStoreUnavailableError || error instanceof TypeError || name === 'AbortError') return error
  const [reason, text] = [String(code ?? Code ?? name), String(message ?? Message ?? '')]
  // The codes of the system and of Node for what happens to a connection are in upper case.
  if (syscall !== undefined || /^[A-Z\d_]+$/.test(reason)) {
    return new ObjectStoreUnavailableError(`the object store is out of reach (${text || reason})`, { cause: error })
  }
  return Object.assign(new S3Error(`the object store answers ${reason}: ${text}`), { code: reason })
}

/** Server-side encryption with a customer-provided key (SSE-C). A new object each time: the client adds headers. */
export function customerKeyHeaders(exportKey: Uint8Array): Record<string, string> {
  const key = Buffer.from(hkdfSync('sha256', exportKey, '', 'ebs/sse-c/1', 32))
  return {
    'x-amz-server-side-encryption-customer-algorithm': 'AES256',
    'x-amz-server-side-encryption-customer-key': key.toString('base64'),
    'x-amz-server-side-encryption-customer-key-md5': createHash('md5').update(key).digest('base64'),
  }
}
