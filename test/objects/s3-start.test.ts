import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeCertificate } from '../../scripts/servers/certificate.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { ConfigError } from '../../src/service/config/values.ts'
import { openObjectStore } from '../../src/service/objects/open.ts'
import { silent } from '../support/log.ts'
import { sharedMinio } from '../support/minio.ts'
import { createFakeS3, refusal, startTlsServer } from '../support/s3-servers.ts'

const minio = await sharedMinio(t)

async function refused(t: Test, env: Record<string, string>, beginning: string): Promise<string> {
  const error = await openObjectStore(readConfig(env), silent).then(
    (store) => store.close(),
    (error) => error,
  )
  t.type(error, ConfigError)
  t.equal(String(error?.message).slice(0, beginning.length), beginning)
  return String(error?.message)
}

t.test('a store that ignores the keys (SSE-C) is refused', async (t) => {
  const env = await startTlsServer(t, createFakeS3({ ssec: 'ignored' }))
  const message = await refused(t, env, 'S3_ENDPOINT: ')
  t.match(message, /the store returns objects without their key;.*SSE-C/)
})

t.test('a store that refuses an object to its own key is refused', async (t) => {
  const env = await startTlsServer(t, createFakeS3({ ssec: 'lost' }))
  t.match(await refused(t, env, 'S3_ENDPOINT: '), 'the store does not return an object with its key')
})

t.test('a bucket that does not allow SSE-C is refused, with a hint about Amazon’s', async (t) => {
  const env = await startTlsServer(t, createFakeS3({ ssec: 'refused' }))
  const message = await refused(t, env, 'S3_ENDPOINT: ')
  t.match(
    message,
    /the object store responded with AccessDenied.*April 2026.*PutBucketEncryption.*BlockedEncryptionTypes NONE/,
  )
})

t.test(
  'a start that cannot use the store names the variable',
  { skip: typeof minio === 'string' && minio },
  async (t) => {
    if (typeof minio === 'string') return
    const env = await minio.createBucket()
    const other = await makeCertificate(t.testdir())
    const { close } = await openObjectStore(readConfig(env), silent)
    await close()
    await refused(t, { ...env, S3_BUCKET: 'nobodys' }, 'S3_BUCKET: ')
    await refused(t, { ...env, S3_BUCKET: 'nobodys', S3_REGION: 'us-east-1' }, 'S3_BUCKET: ')
    await refused(t, { ...env, S3_BUCKET: 'a..b' }, 'S3_BUCKET: ')
    await refused(t, { ...env, S3_ACCESS_KEY: 'nobody' }, 'S3_ACCESS_KEY: ')
    await refused(t, { ...env, S3_SECRET_KEY: 'guessed!' }, 'S3_ACCESS_KEY, S3_SECRET_KEY: ')
    await refused(t, { ...env, S3_CA_FILE: other.caFile }, 'S3_CA_FILE: ')
    await refused(t, { ...env, S3_CA_FILE: '' }, 'S3_CA_FILE: ')
  },
)

t.test('a start waits for a store that does not answer, fails or is full', async (t) => {
  const refusals = [refusal('SlowDown', 'Busy'), refusal('QuotaExceeded', 'Full')]
  const env = await startTlsServer(t, (_request, response) =>
    response.writeHead(refusals.length > 1 ? 503 : 403).end(refusals.shift()),
  )
  for (const S3_ENDPOINT of [env.S3_ENDPOINT, env.S3_ENDPOINT, 'https://localhost:9', 'https://nowhere.invalid']) {
    const store = await openObjectStore(readConfig({ ...env, S3_ENDPOINT }), silent)
    const message = new RegExp(`^S3_ENDPOINT: ${S3_ENDPOINT}, bucket exports: `)
    await t.rejects(store.probe(), { name: 'ObjectStoreUnavailableError', message })
    await store.close()
  }
  t.same(refusals, [])
})

t.test('a store that does not implement encryption with customer keys is refused', async (t) => {
  const store = createFakeS3({ ssec: 'kept' })
  const env = await startTlsServer(t, (request, response) => {
    const isKeyed = Object.keys(request.headers).some((name) => name.includes('customer-key'))
    if (isKeyed) response.writeHead(501).end(refusal('NotImplemented', 'A header is not implemented'))
    else store(request, response)
  })
  t.match(await refused(t, env, 'S3_ENDPOINT: '), /NotImplemented.*SSE-C/)
})

t.test('a region that is not the bucket’s names S3_REGION', async (t) => {
  const env = await startTlsServer(t, (_request, response) =>
    response.writeHead(400).end(refusal('AuthorizationHeaderMalformed', 'the region is wrong')),
  )
  await refused(t, { ...env, S3_REGION: 'mars-north-1' }, 'S3_REGION: ')
})

t.test('a file that is not a certificate names S3_CA_FILE', async (t) => {
  const env = await startTlsServer(t, createFakeS3({ ssec: 'ignored' }))
  const file = join(t.testdir(), 'ca.pem')
  await refused(t, { ...env, S3_CA_FILE: file }, `S3_CA_FILE: ${file}: `)
  await writeFile(file, 'no certificate')
  await refused(t, { ...env, S3_CA_FILE: file }, `S3_CA_FILE: ${file}: `)
})

t.test('a server without TLS, and one that is not a store, are refused', async (t) => {
  const plain = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1')
  await new Promise((done) => plain.once('listening', done))
  t.teardown(() => plain.close())
  const env = await startTlsServer(t, (_request, response) => response.end('hello'))
  const { port } = plain.address() as { port: number }
  await refused(t, { ...env, S3_ENDPOINT: `https://localhost:${port}` }, 'S3_ENDPOINT: ')
  await refused(t, env, 'S3_ENDPOINT: ')
})

t.test('a refusal that quotes the request does not put keys into the message', async (t) => {
  const keys: string[] = []
  const env = await startTlsServer(t, (request, response) => {
    const key = request.headers['x-amz-server-side-encryption-customer-key']
    if (key) keys.push(String(key))
    const quoted = `<CanonicalRequest>x-amz-server-side-encryption-customer-key:${key}</CanonicalRequest>`
    response.writeHead(403).end(refusal('SignatureDoesNotMatch', 'The signature does not match', quoted))
  })
  const error = await openObjectStore(readConfig({ ...env, S3_REGION: 'us-east-1' }), silent).catch((error) => error)
  t.match(error.message, /^S3_ACCESS_KEY, S3_SECRET_KEY: /)
  t.not(keys.length, 0)
  for (const key of keys) t.notMatch(JSON.stringify(allOf(error)), key)
})

/** All parts of an error that a logger may print. */
function allOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  return { ...error, message: error.message, stack: error.stack, cause: allOf(error.cause) }
}
