import t from 'tap'
import { exportId } from '../exports/fixture.ts'
import { createFakeS3, refusal, startTlsServer } from '../support/s3-servers.ts'
import { openS3 } from '../support/s3-store.ts'

const key = `${exportId(1)}.1`

/** As on Amazon, unlike MinIO: other names may begin with a name, and a list has pages. */
t.test('of the uploads whose names begin alike, only those of the exact name are removed, on every page', async (t) => {
  const removed: string[] = []
  const upload = (name: string, id: string) =>
    `<Upload><Key>${name}</Key><UploadId>${id}</UploadId><Initiated>2026-11-21T08:00:00Z</Initiated></Upload>`
  const page = (uploads: string, next = '') =>
    `<ListMultipartUploadsResult>${uploads}<IsTruncated>${next !== ''}</IsTruncated>` +
    `<NextKeyMarker>${next}</NextKeyMarker></ListMultipartUploadsResult>`
  const objects = createFakeS3({ ssec: 'kept' })
  const env = await startTlsServer(t, (request, response) => {
    const { method, url = '' } = request
    if (url.includes('list-type=2')) return response.end('<ListBucketResult><Name>exports</Name></ListBucketResult>')
    if (url.includes('?uploads')) {
      const isSecond = url.includes('key-marker=')
      return response.end(
        isSecond
          ? page(upload(`${key}1`, 'd'))
          : page(upload(key, 'a') + upload(key, 'b') + upload(`${key}0`, 'c'), `${key}0`),
      )
    }
    if (!url.includes('uploadId=')) return objects(request, response)
    removed.push(`${method} ${url}`)
    // What somebody else removed in between counts as removed.
    return response.writeHead(404).end(refusal('NoSuchUpload', 'The specified upload does not exist.'))
  })
  const store = await openS3(t, env)
  t.strictSame(await Array.fromAsync(store.list()), [key, key, `${key}0`, `${key}1`])
  await store.remove(key)
  t.strictSame(
    removed,
    ['a', 'b'].map((id) => `DELETE /exports/${key}?uploadId=${id}`),
  )
})

t.test(
  'a store that refuses everyone says so when something is removed or read: no other object can be either',
  async (t) => {
    for (const code of ['AccessDenied', 'NoSuchBucket', 'InvalidAccessKeyId', 'RequestTimeTooSkewed']) {
      let refuses = false
      const objects = createFakeS3({ ssec: 'kept' })
      const env = await startTlsServer(t, (request, response) => {
        if (refuses) return response.writeHead(403).end(refusal(code, 'Not today.'))
        return objects(request, response)
      })
      const store = await openS3(t, env)
      refuses = true
      const away = { name: 'ObjectStoreUnavailableError', message: new RegExp(code) }
      await t.rejects(store.remove(key), away)
      // Of an object's content, it may also be the key that is wrong.
      const name = code === 'AccessDenied' ? 'S3Error' : away.name
      await t.rejects(store.get(key, Buffer.alloc(32)), { ...away, name })
    }
  },
)
