import { randomBytes, randomUUID, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import { text } from 'node:stream/consumers'
import { type Client, S3Error } from 'minio'
import { ConfigError } from '../config/values.ts'
import { createClient, customerKeyHeaders, type S3Config } from './s3-client.ts'
import { ObjectStoreUnavailableError } from './store.ts'

const required =
  'exports are encrypted with customer-provided keys (SSE-C), which the bucket must allow. ' +
  'Amazon has disabled SSE-C for new buckets since April 2026: enable it by PutBucketEncryption with BlockedEncryptionTypes NONE'
/** The variable to correct, by the error codes of S3 and TLS that make the bucket unusable for everyone. */
const faults = {
  S3_BUCKET: /^(NoSuchBucket|InvalidBucketName(Error)?)$/,
  S3_ACCESS_KEY: /^(AccessDenied|InvalidAccessKeyId)$/,
  'S3_ACCESS_KEY, S3_SECRET_KEY': /^SignatureDoesNotMatch$/,
  S3_REGION: /^AuthorizationHeaderMalformed$/,
  S3_CA_FILE: /SELF_SIGNED_CERT|UNABLE_TO_(VERIFY|GET_ISSUER)/,
  S3_ENDPOINT: /^(AccountProblem|ExpiredToken|QuotaExceeded|RequestTimeTooSkewed|EPROTO|ERR_(SSL|TLS)_.*)$/,
}
/** Refusals that end without a change of the configuration. */
const passing = /^(AccountProblem|QuotaExceeded)$/

export function faultOf(error: unknown): string | undefined {
  return Object.entries(faults).find(([, codes]) => codes.test(codeOf(error)))?.[0]
}

function codeOf(error: unknown): string {
  const { code, cause } = error as { code?: string; cause?: { code?: string } }
  return String(cause?.code ?? code)
}

/**
 * A store that does not answer, is busy or full is away, which ends by itself. Any other refusal, and a server that is no
 * store or not trusted, is a fault of the configuration.
 */
function isAway(error: unknown): boolean {
  if (passing.test(codeOf(error))) return true
  return error instanceof ObjectStoreUnavailableError && faultOf(error) === undefined
}

/**
 * Connects to a bucket, after checking that it is writable and refuses objects to anyone without their key.
 * @throws ConfigError, or ObjectStoreUnavailableError if the store is away
 */
export async function connectS3(config: S3Config) {
  const { endpoint, bucket, caFile } = config
  let agent: Agent | undefined
  try {
    const ca = caFile && (await readFile(caFile))
    // Throws if the certificate is unreadable: Node would ignore it.
    if (ca) new X509Certificate(ca)
    agent = new Agent({ keepAlive: true, ca })
    // A client without the region requests it again after each refusal.
    const region = await createClient(config, { agent }).getBucketRegionAsync(bucket)
    const connect = (signal?: AbortSignal) => createClient({ ...config, region }, { agent, signal })
    await checkBucket(connect(), bucket)
    return { bucket, connect, close: async () => agent?.destroy() }
  } catch (error) {
    agent?.destroy()
    const at = agent ? `${faultOf(error) ?? 'S3_ENDPOINT'}: ${endpoint}, bucket ${bucket}` : `S3_CA_FILE: ${caFile}`
    const message = `${at}: ${(error as Error).message}`
    throw isAway(error) ? new ObjectStoreUnavailableError(message, { cause: error }) : new ConfigError(message)
  }
}

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
      // A refusal says little about its reason; whether the store accepts the same object in plaintext tells more.
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
