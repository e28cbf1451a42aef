import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { openClient, type S3Environment } from '../../scripts/servers/minio.ts'
import { customerKeyHeaders } from '../../src/service/objects/s3.ts'
import { exportId } from '../exports/fixture.ts'
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
  const keyHeader = 'x-amz-server-side-encryption-customer-key'

  t.test('keys are never in URLs; each request for an object’s content has the key in its headers', async (t) => {
    const { env, requests } = await startRecorder(t, await minio.createBucket())
    const store = await openStore(t, env)
    for (const size of [100, partBytes + 1]) {
      await store.put(key, exportKey, pieces(randomBytes(size)), signal)
      await read(await store.get(key, exportKey))
      await read(await store.get(key, exportKey, { start: 1, end: 9 }))
      await store.remove(key)
    }
    await Array.fromAsync(store.list())
    await store.probe()
    const keys = new Set(requests.map(({ headers }) => headers[keyHeader]).filter((each) => each !== undefined))
    t.ok(keys.size > 1, 'probes use separate keys')
    keys.add(Buffer.from(exportKey).toString('base64'))
    for (const { url } of requests) {
      t.notMatch(url, /server-side|customer/i)
      for (const each of keys) t.notOk(containsSecret(url, Buffer.from(String(each), 'base64')), url)
    }
    const { [keyHeader]: own } = customerKeyHeaders(exportKey)
    const ofContent = requests.filter(
      ({ method, url }) =>
        url.includes(`/${key}`) && (method === 'GET' || method === 'PUT' || url.endsWith('?uploads')),
    )
    t.equal(ofContent.filter(({ headers }) => headers[keyHeader] !== own).length, 0)
    t.ok(ofContent.length >= 8)
  })

  t.test("neither the disk nor the bucket's credentials are enough to read an object", async (t) => {
    const env = await minio.createBucket()
    const [store, client] = [await openStore(t, env), await openClient(env)]
    for (const [index, size] of [100, 300_000, partBytes + 1].entries()) {
      const [each, content] = [`ada.${exportId(2)}.${index}`, Buffer.concat([Buffer.from('EBSX'), randomBytes(size)])]
      await store.put(each, exportKey, pieces(content), signal)
      for (const { path, file } of await filesOf(minio.dataDir, env, each)) {
        for (const start of [0, 32, Math.floor(size / 2), size - 16]) {
          t.notOk(file.includes(content.subarray(start, start + 16)), `${path} of ${size} bytes at ${start}`)
        }
        t.notOk(file.includes(content.subarray(0, 8)), 'the first bytes of an export file')
      }
      const get = (headers: Record<string, string>, method = 'GET') =>
        client.makeRequestAsync({ method, bucketName: env.S3_BUCKET, objectName: each, query: '', headers })
      await t.rejects(get({}), { code: 'InvalidRequest' }, 'without the key')
      await t.rejects(get({ range: 'bytes=0-31' }), { code: 'InvalidRequest' }, 'not even the header of the file')
      await t.rejects(get({}, 'HEAD'), 'nor its size')
      await t.rejects(get(customerKeyHeaders(randomBytes(32))), { code: 'AccessDenied' }, 'with another key')
      t.ok((await buffer(await get(customerKeyHeaders(exportKey)))).equals(content), 'with the key')
    }
  })
}

async function filesOf(dataDir: string, { S3_BUCKET }: S3Environment, object: string) {
  const entries = await readdir(join(dataDir, S3_BUCKET, object), { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  if (files.length === 0) throw new Error(`${object} has no file`)
  return Promise.all(files.map(async (path) => ({ path, file: await readFile(path) })))
}

/** True if the URL contains the secret in base64, base64url or hexadecimal. */
function containsSecret(url: string, secret: Buffer): boolean {
  const forms = [secret.toString('base64'), secret.toString('base64url'), secret.toString('hex')]
  return forms.some((form) => decodeURIComponent(url).includes(form.replace(/=+$/, '')))
}
