import { randomBytes } from 'node:crypto'
import { Client } from 'minio'
import t from 'tap'
import { openClient } from '../../scripts/servers/minio.ts'
import { customerKeyHeaders } from '../../src/service/objects/s3.ts'
import { ObjectNotFoundError } from '../../src/service/objects/store.ts'
import { exportId } from '../exports/fixture.ts'
import { isDeep } from '../support/depth.ts'
import { sharedMinio } from '../support/minio.ts'
import { startRecorder } from '../support/s3-servers.ts'
import { openStore } from '../support/stores.ts'
import { pieces, read } from './content.ts'

const minio = await sharedMinio(t)
if (typeof minio === 'string') t.pass('no MinIO', { skip: minio })
else {
  const partBytes = 8 * 1024 * 1024
  const signal = new AbortController().signal
  const key = `ada.${exportId(1)}.1`
  const exportKey = randomBytes(32)
  const sizes = [1, partBytes - 1, partBytes, partBytes + 1, 20_000_000]

  t.test('the key is HKDF-SHA256 of the export key', async (t) => {
    // Computed with Python's hmac: HKDF of the bytes 0 to 31.
    const headers = customerKeyHeaders(Uint8Array.from({ length: 32 }, (_, index) => index))
    t.strictSame(headers, {
      'x-amz-server-side-encryption-customer-algorithm': 'AES256',
      'x-amz-server-side-encryption-customer-key': 'F+CTD7CIzn0mGclx/E7ShbskK1eQn+ByvdRi1/mhnxc=',
      'x-amz-server-side-encryption-customer-key-md5': 'NZl1Hr6DpNaplYFQr4uWIg==',
    })
  })

  t.test('objects of one or several parts, and of unknown size, are stored', async (t) => {
    const { env, requests } = await startRecorder(t, await minio.createBucket())
    const store = await openStore(t, env)
    for (const [index, size] of sizes.entries()) {
      const [each, content] = [`ada.${exportId(1)}.${index}`, randomBytes(size)]
      requests.length = 0
      t.equal(await store.put(each, exportKey, pieces(content), signal), size)
      const parts = requests.filter(({ method, url }) => method === 'PUT' && url.includes('partNumber='))
      t.equal(parts.length, size > partBytes ? Math.ceil(size / partBytes) : 0, `${size} bytes`)
      t.ok((await read(await store.get(each, exportKey))).equals(content))
      const [start, end] = [Math.floor(size / 2), size - 1]
      const part = await store.get(each, exportKey, { start, end })
      t.equal(part.size, size)
      t.ok((await read(part)).equals(content.subarray(start)))
    }
  })

  t.test('an interrupted unencrypted upload of the same name leaves no readable object, and is removed', async (t) => {
    const env = await minio.createBucket()
    const [store, client] = [await openStore(t, env), await openClient(env)]
    const bucketName = env.S3_BUCKET
    const interrupted = async () => (await client.listIncompleteUploadsQuery(bucketName, key, '', '', '')).uploads
    for (const size of [100, partBytes + 1]) {
      const content = randomBytes(size)
      for (const index of [1, 2]) {
        const uploadID = await client.initiateNewMultipartUpload(bucketName, key, {})
        const part = { bucketName, objectName: key, uploadID, partNumber: 1, headers: {} }
        if (index === 2) await client.uploadPart(part, content.subarray(0, partBytes))
      }
      await t.rejects(store.get(key, exportKey), ObjectNotFoundError)
      t.strictSame([...new Set(await Array.fromAsync(store.list()))], [key], 'the sweep finds the upload')
      await store.put(key, exportKey, pieces(content), signal)
      await t.rejects(client.getObject(bucketName, key), { code: 'InvalidRequest' })
      t.ok((await read(await store.get(key, exportKey))).equals(content))
      t.equal((await interrupted()).length, 2)
      await store.remove(key)
      t.equal((await interrupted()).length, 0, 'all interrupted uploads are removed')
      t.strictSame(await Array.fromAsync(store.list()), [])
    }
  })

  t.test('the wrong key is refused, and not reported as a missing object', async (t) => {
    const store = await openStore(t, await minio.createBucket())
    await store.put(key, exportKey, pieces(randomBytes(100)), signal)
    const refusal = { code: 'AccessDenied', message: 'the object store responded with AccessDenied: Access Denied.' }
    await t.rejects(store.get(key, randomBytes(32)), refusal)
  })

  t.test('an object whose content fails after its first part leaves nothing', async (t) => {
    const store = await openStore(t, await minio.createBucket())
    async function* content() {
      yield randomBytes(partBytes + 1)
      t.strictSame(await Array.fromAsync(store.list()), [key])
      throw new Error('no more')
    }
    await t.rejects(store.put(key, exportKey, content(), signal), { message: 'no more' })
    t.strictSame(await Array.fromAsync(store.list()), [])
  })

  t.test('an abort ends the running request, and leaves nothing', async (t) => {
    for (const [held, size] of [
      [/partNumber=2/, 2 * partBytes],
      [/uploadId=[^&]*$/, 2 * partBytes],
      [/\.1$/, 100],
    ] as const) {
      const abort = new AbortController()
      const { env } = await startRecorder(t, await minio.createBucket(), ({ method, url }) => {
        const holds = !abort.signal.aborted && method !== 'DELETE' && method !== 'GET' && held.test(url)
        if (holds) setImmediate(() => abort.abort())
        return holds
      })
      const store = await openStore(t, env)
      await t.rejects(
        store.put(key, exportKey, pieces(randomBytes(size)), abort.signal),
        { name: 'AbortError' },
        String(held),
      )
      t.strictSame(await Array.fromAsync(store.list()), [])
    }
  })

  t.test('a list may have more than one page', async (t) => {
    const env = await minio.createBucket()
    const [store, client] = [await openStore(t, env), await openClient(env)]
    const query = Client.prototype.listObjectsV2Query
    // MinIO ends a page at the size that the request asks for, so small pages test the same in less time.
    const listed = isDeep ? 1000 : 10
    t.intercept(Client.prototype, 'listObjectsV2Query', {
      value(this: Client, ...[bucket, prefix, token, delimiter, , after]: Parameters<typeof query>) {
        return query.call(this, bucket, prefix, token, delimiter, listed, after)
      },
    })
    const keys = Array.from({ length: listed * 2 + 5 }, (_, index) => `ada.${exportId(index)}.1`)
    for (let first = 0; first < keys.length; first += 15) {
      await Promise.all(keys.slice(first, first + 15).map((each) => client.putObject(env.S3_BUCKET, each, 'x')))
    }
    t.strictSame((await Array.fromAsync(store.list())).sort(), keys)
  })
}
