import { createHash, hkdfSync, randomBytes, randomUUID, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import https from 'node:https'
import { text } from 'node:stream/consumers'
import { Client, type ClientOptions, S3Error } from 'minio'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/values.ts'
import { beginCall } from '../tracing/trace.ts'
import {
  assertObjectKey,
  exportObjects,
  ObjectNotFoundError,
  type ObjectStore,
  ObjectStoreUnavailableError,
} from './store.ts'

export type S3Config = NonNullable<Config['s3']>

/** Bytes of a part, which an upload keeps in memory. S3 requires at least 5 MiB for each part except the last. */
const partBytes = 8 * 1024 * 1024
/** Milliseconds for connecting, and until the response begins. Reading an object's body has no limit. */
const silentMs = 10_000
/** Sending a body may take longer, down to this rate, because buffers on the way hide its progress. */
const slowestBytesPerMs = 64
/** The status for a missing feature, which does not mean that the store is down. */
const notImplemented = 501
const required =
  'exports are encrypted with customer-provided keys (SSE-C), which the bucket must allow. ' +
  'Amazon has disabled SSE-C for new buckets since April 2026: enable it by PutBucketEncryption with BlockedEncryptionTypes NONE'
/** The variables to correct, each with the S3 and TLS error codes that point to it. */
const faults = {
  S3_BUCKET: /^(NoSuchBucket|InvalidBucketName(Error)?)$/,
  S3_ACCESS_KEY: /^(AccessDenied|InvalidAccessKeyId)$/,
  'S3_ACCESS_KEY, S3_SECRET_KEY': /^SignatureDoesNotMatch$/,
  S3_REGION: /^AuthorizationHeaderMalformed$/,
  S3_CA_FILE: /SELF_SIGNED_CERT|UNABLE_TO_(VERIFY|GET_ISSUER)/,
  S3_ENDPOINT: /^(AccountProblem|ExpiredToken|QuotaExceeded|RequestTimeTooSkewed|EPROTO|ERR_(SSL|TLS)_.*)$/,
}
/** Refusals that may end without a change of the configuration. */
const temporary = /^(AccountProblem|QuotaExceeded)$/

/**
 * Opens a bucket with SSE-C: the store keeps no key, so neither its disks nor its credentials reveal an export.
 *
 * @param access `read` tests the bucket by listing it, without writing anything
 */
export async function openS3Store(
  config: S3Config,
  form = exportObjects,
  access: 'read' | 'write' = 'write',
): Promise<ObjectStore> {
  const { bucket, connect, close } = await connectS3(config, (client) =>
    access === 'write'
      ? checkBucket(client, config.bucket)
      : client.listObjectsV2Query(config.bucket, form.prefix, '', '', 1, ''),
  )
  const client = connect()
  const store: ObjectStore = {
    async put(key, exportKey, content, signal) {
      assertObjectKey(key, form)
      return upload(key, exportKey, content, signal).catch(async (error) => {
        // If the response was lost, the store may have the object. If an export stays, the sweep of orphans removes it.
        await store.remove(key).catch(() => {})
        throw toStoresFault(error)
      })
    },

    async get(key, exportKey, range) {
      assertObjectKey(key, form)
      // The client's own `getObject` would put the customer key into the URL, and so into logs.
      const headers = { ...customerKeyHeaders(exportKey), ...(range && { range: `bytes=${range.start}-${range.end}` }) }
      const request = { method: 'GET', bucketName: bucket, objectName: key, headers }
      const body = await client.makeRequestAsync(request, '', [range ? 206 : 200]).catch((error) => {
        if (/^(NoSuchKey|NotFound)$/.test(error.code)) throw new ObjectNotFoundError(key, error)
        // A denied access may only mean a wrong key.
        throw isDenied(error) ? error : toStoresFault(error)
      })
      // No timeout, because the reader may be slow.
      body.setTimeout(0)
      const size = body.headers['content-range']?.split('/')[1] ?? body.headers['content-length']
      return { size: Number(size), body }
    },

    async has(key) {
      assertObjectKey(key, form)
      // A list needs no customer key.
      const { objects } = await client.listObjectsV2Query(bucket, key, '', '', 1, '')
      return objects.some(({ name }) => name === key)
    },

    async remove(key) {
      assertObjectKey(key, form)
      try {
        for await (const upload of listUploads(key)) {
          if (upload.key !== key) continue
          await client.abortMultipartUpload(bucket, key, upload.uploadId).catch((error) => {
            if (error.code !== 'NoSuchUpload') throw error
          })
        }
        await client.removeObject(bucket, key)
      } catch (error) {
        // The refusal may concern only this object, for example one under a retention lock.
        throw isDenied(error) ? error : toStoresFault(error)
      }
    },

    async *list(before) {
      const isListed = (name: string, at: Date | undefined) =>
        form.matches(name) && (before === undefined || Number(at) < before)
      const readPage = (token: string) => client.listObjectsV2Query(bucket, form.prefix, token, '', 1000, '')
      for await (const { objects } of pages(readPage, (page) => page.nextContinuationToken)) {
        for (const { name = '', lastModified } of objects) if (isListed(name, lastModified)) yield name
      }
      if (form.onlyComplete) return
      for await (const { key, initiated } of listUploads(form.prefix)) if (isListed(key, initiated)) yield key
    },

    async probe() {
      const name = `.probe-${randomUUID()}`
      await client.putObject(bucket, name, '.', 1, customerKeyHeaders(randomBytes(32)))
      await client.removeObject(bucket, name)
    },
    close,
  }
  return store

  /** Starts a new upload. The client's `putObject` would resume an interrupted one, whose headers may differ. */
  async function upload(key: string, exportKey: Uint8Array, content: AsyncIterable<Uint8Array>, signal: AbortSignal) {
    const client = connect(signal)
    const parts: { part: number; etag: string }[] = []
    const buffer = Buffer.allocUnsafe(partBytes)
    let [uploadID, filled] = ['', 0]
    async function sendPart() {
      uploadID ||= await client.initiateNewMultipartUpload(bucket, key, customerKeyHeaders(exportKey))
      const headers = customerKeyHeaders(exportKey)
      const target = { bucketName: bucket, objectName: key, uploadID, partNumber: parts.length + 1, headers }
      parts.push(await client.uploadPart(target, buffer.subarray(0, filled)))
      filled = 0
      return parts
    }
    for await (const piece of content) {
      signal.throwIfAborted()
      for (let rest = piece; rest.length > 0; ) {
        // A full part waits for another byte, so that an object of one part is not sent as a multipart upload.
        if (filled === partBytes) await sendPart()
        const taken = rest.subarray(0, partBytes - filled)
        buffer.set(taken, filled)
        filled += taken.length
        rest = rest.subarray(taken.length)
      }
    }
    const size = parts.length * partBytes + filled
    if (uploadID !== '') await client.completeMultipartUpload(bucket, key, uploadID, await sendPart())
    else await client.putObject(bucket, key, buffer.subarray(0, filled), filled, customerKeyHeaders(exportKey))
    return size
  }

  /** Replaces the client's `listIncompleteUploads`, which fails if an upload is completed meanwhile. */
  async function* listUploads(prefix: string) {
    // The client drops the upload id of the marker, so each page starts at the next name.
    const readPage = (marker: string) => client.listIncompleteUploadsQuery(bucket, prefix, marker, '', '')
    // MinIO leaves out uploads from before its restart, unless `prefix` is their name. It removes them after a day.
    for await (const { uploads } of pages(readPage, (page) => page.nextKeyMarker)) yield* uploads
  }
}

/** Yields the pages of a list. Detects a faulty store that leads back to an earlier page. */
async function* pages<Page extends { isTruncated: boolean }>(
  read: (from: string) => Promise<Page>,
  nextOf: (page: Page) => string,
): AsyncGenerator<Page> {
  const known = new Set<string>()
  for (let from: string | undefined = ''; from !== undefined; ) {
    if (known.has(from)) throw new Error('the object store lists the same page again and again')
    known.add(from)
    const page: Page = await read(from)
    yield page
    from = page.isTruncated ? nextOf(page) : undefined
  }
}

/**
 * Connects to a bucket and runs the check.
 *
 * @throws ConfigError, or ObjectStoreUnavailableError if the store is unreachable
 */
async function connectS3(config: S3Config, check: (client: Client) => Promise<unknown>) {
  const { endpoint, bucket, caFile } = config
  let agent: https.Agent | undefined
  try {
    const ca = caFile && (await readFile(caFile))
    // Throws if the certificate is unreadable; Node would ignore it.
    if (ca) new X509Certificate(ca)
    agent = new https.Agent({ keepAlive: true, ca })
    // The region is set here, because the client would request it again after each refusal.
    const region = await createClient(config, { agent }).getBucketRegionAsync(bucket)
    const connect = (signal?: AbortSignal) => createClient({ ...config, region }, { agent, signal })
    await check(connect())
    return { bucket, connect, close: async () => agent?.destroy() }
  } catch (error) {
    agent?.destroy()
    const at = agent ? `${faultOf(error) ?? 'S3_ENDPOINT'}: ${endpoint}, bucket ${bucket}` : `S3_CA_FILE: ${caFile}`
    const message = `${at}: ${(error as Error).message}`
    throw isUnreachable(error) ? new ObjectStoreUnavailableError(message, { cause: error }) : new ConfigError(message)
  }
}

/** Throws unless objects can be written, and cannot be read without their key. */
async function checkBucket(client: Client, bucket: string): Promise<void> {
  const name = `.probe-${randomUUID()}`
  const [key, otherKey] = [randomBytes(32), randomBytes(32)]
  const unfit = (what: string) => new Error(`${what}; ${required}`)
  const put = (headers = {}) => client.putObject(bucket, name, name, name.length, headers)
  const isReadable = async (headers = {}) => {
    const request = { method: 'GET', bucketName: bucket, objectName: name, headers }
    try {
      return (await text(await client.makeRequestAsync(request))) === name
    } catch (error) {
      if (error instanceof S3Error) return false
      throw error
    }
  }
  try {
    await put(customerKeyHeaders(key)).catch(async (error) => {
      // A refusal hardly says why. If the store accepts the object in plaintext, encryption is the reason.
      if (error instanceof S3Error) await put()
      throw error instanceof S3Error ? unfit(error.message) : error
    })
    if ((await isReadable()) || (await isReadable(customerKeyHeaders(otherKey)))) {
      throw unfit('the store returns objects without their key')
    }
    if (!(await isReadable(customerKeyHeaders(key)))) throw unfit('the store does not return an object with its key')
  } finally {
    await client.removeObject(bucket, name).catch(() => {})
  }
}

/** A client whose requests time out if the store is silent, and reject with errors that are safe to log. */
function createClient(config: S3Config, via: Pick<https.RequestOptions, 'agent' | 'signal'>): Client {
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

/** Replaces S3's error, which may quote the request's headers: a log would then contain the customer key. */
function toStoreError(error: unknown): unknown {
  // The client also throws parsed responses that are not Errors.
  const { name, code, Code, message, Message, syscall } = error as Record<string, unknown>
  if (error instanceof ObjectStoreUnavailableError || error instanceof TypeError || name === 'AbortError') return error
  const [reason, text] = [String(code ?? Code ?? name), String(message ?? Message ?? '')]
  // Error codes of the system and of Node are in upper case.
  if (syscall !== undefined || /^[A-Z\d_]+$/.test(reason)) {
    return new ObjectStoreUnavailableError(`the object store cannot be reached (${text || reason})`, { cause: error })
  }
  return Object.assign(new S3Error(`the object store responded with ${reason}: ${text}`), { code: reason })
}

function isDenied(error: unknown): boolean {
  return error instanceof S3Error && error.code === 'AccessDenied'
}

/** Turns a refusal that concerns all objects into an unavailable store, because it says nothing about this object. */
function toStoresFault(error: unknown): unknown {
  const isStores = error instanceof S3Error && faultOf(error) !== undefined
  return isStores ? new ObjectStoreUnavailableError(error.message, { cause: error }) : error
}

function faultOf(error: unknown): string | undefined {
  return Object.entries(faults).find(([, codes]) => codes.test(codeOf(error)))?.[0]
}

function codeOf(error: unknown): string {
  const { code, cause } = error as { code?: string; cause?: { code?: string } }
  return String(cause?.code ?? code)
}

/**
 * True if the store is unreachable, busy or full, which passes. Other refusals, and servers that are not a store or not
 * trusted, are faults of the configuration.
 */
function isUnreachable(error: unknown): boolean {
  if (temporary.test(codeOf(error))) return true
  return error instanceof ObjectStoreUnavailableError && faultOf(error) === undefined
}

/** Headers for encryption with a customer-provided key (SSE-C). A new object each time: the client modifies it. */
export function customerKeyHeaders(exportKey: Uint8Array): Record<string, string> {
  const key = Buffer.from(hkdfSync('sha256', exportKey, '', 'ebs/sse-c/1', 32))
  return {
    'x-amz-server-side-encryption-customer-algorithm': 'AES256',
    'x-amz-server-side-encryption-customer-key': key.toString('base64'),
    'x-amz-server-side-encryption-customer-key-md5': createHash('md5').update(key).digest('base64'),
  }
}
