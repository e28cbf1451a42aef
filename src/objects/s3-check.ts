import { randomBytes, randomUUID } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { ConfigError } from '../config/values.ts'
import type { S3, S3Config } from './s3-client.ts'
import { answered, S3RefusalError } from './s3-errors.ts'
import { getObject } from './s3-get.ts'
import { customerKeyHeaders } from './s3-key.ts'
import { removeObject } from './s3-remove.ts'

const content = 'encrypted-bookmark-sync'
const required =
  'exports are stored under keys that the store does not keep (SSE-C), so its bucket must allow them. ' +
  'Amazon turned SSE-C off for new buckets in April 2026: PutBucketEncryption with BlockedEncryptionTypes NONE allows it'

/** Shows that the bucket can be used and that it keeps its objects from those who do not have their key. */
export async function checkS3(s3: S3, config: S3Config): Promise<void> {
  const key = randomBytes(32)
  const name = probeName()
  try {
    s3.client.region ??= await answered(s3.client.getBucketRegionAsync(s3.bucket))
    try {
      await putEncrypted(s3, name, key)
      for (const headers of [{}, customerKeyHeaders(randomBytes(32))]) {
        if (await isReadable(s3, name, headers)) {
          throw new ConfigError(`S3_ENDPOINT: the store gives objects to those who do not have their key; ${required}`)
        }
      }
      if (!(await isReadable(s3, name, customerKeyHeaders(key)))) {
        throw new ConfigError(`S3_ENDPOINT: the store does not give an object to who has its key; ${required}`)
      }
    } finally {
      await removeObject(s3, name).catch(() => {})
    }
  } catch (error) {
    throw toConfigError(error, config)
  }
}

/** Rejects when the bucket cannot be written. */
export async function probeS3(s3: S3): Promise<void> {
  const name = probeName()
  await put(s3, name, customerKeyHeaders(randomBytes(32)))
  await removeObject(s3, name)
}

/** Of its own: several instances share a bucket. */
function probeName(): string {
  return `.probe-${randomUUID()}`
}

async function put({ client, bucket }: S3, name: string, headers: Record<string, string>): Promise<void> {
  await answered(client.putObject(bucket, name, Buffer.from(content), content.length, headers))
}

/** A refusal says little about its reason; whether the store takes the same object in the clear tells more. */
async function putEncrypted(s3: S3, name: string, key: Uint8Array): Promise<void> {
  try {
    await put(s3, name, customerKeyHeaders(key))
  } catch (error) {
    if (!(error instanceof S3RefusalError)) throw error
    await put(s3, name, {})
    throw new ConfigError(`S3_ENDPOINT: ${error.message}; ${required}`)
  }
}

async function isReadable(s3: S3, name: string, headers: Record<string, string>): Promise<boolean> {
  try {
    const { body } = await getObject(s3, name, headers)
    return (await text(body)) === content
  } catch (error) {
    if (error instanceof S3RefusalError) return false
    throw error
  }
}

const variables: Record<string, string> = {
  NoSuchBucket: 'S3_BUCKET',
  InvalidBucketName: 'S3_BUCKET',
  InvalidBucketNameError: 'S3_BUCKET',
  AccessDenied: 'S3_ACCESS_KEY',
  InvalidAccessKeyId: 'S3_ACCESS_KEY',
  SignatureDoesNotMatch: 'S3_ACCESS_KEY, S3_SECRET_KEY',
  AuthorizationHeaderMalformed: 'S3_REGION',
}
/** Nobody whom we trust vouches for the store's certificate. */
const untrusted = /SELF_SIGNED_CERT|UNABLE_TO_(VERIFY|GET_ISSUER)/

function toConfigError(error: unknown, { endpoint, bucket }: S3Config): ConfigError {
  if (error instanceof ConfigError) return error
  const { message, cause } = error as Error
  const code = error instanceof S3RefusalError ? error.code : String((cause as NodeJS.ErrnoException)?.code)
  const variable = untrusted.test(code) ? 'S3_CA_FILE' : (variables[code] ?? 'S3_ENDPOINT')
  return new ConfigError(`${variable}: ${endpoint} with the bucket ${bucket}: ${message}`)
}
