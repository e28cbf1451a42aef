import t from 'tap'
import { readConfig } from '../../src/config/config.ts'
import { connectS3, type S3Config } from '../../src/objects/s3-client.ts'
import { listUploads, removeUploads } from '../../src/objects/s3-remove.ts'
import { exportId } from '../exports/fixture.ts'
import { refusal, startTlsServer } from '../support/s3-servers.ts'

const key = `${exportId(1)}.1`

/** Amazon's way, which MinIO has not: a name begins others, and a list has pages. */
t.test('of the uploads whose names begin alike, those of the name itself are removed, on every page', async (t) => {
  const removed: string[] = []
  const upload = (name: string, id: string) =>
    `<Upload><Key>${name}</Key><UploadId>${id}</UploadId><Initiated>2026-11-21T08:00:00Z</Initiated></Upload>`
  const page = (uploads: string, next = '') =>
    `<ListMultipartUploadsResult>${uploads}<IsTruncated>${next !== ''}</IsTruncated>` +
    `<NextKeyMarker>${next}</NextKeyMarker></ListMultipartUploadsResult>`
  const env = await startTlsServer(t, ({ method, url = '' }, response) => {
    if (method === 'GET') {
      const isSecond = url.includes('key-marker=')
      return response.end(
        isSecond
          ? page(upload(`${key}1`, 'd'))
          : page(upload(key, 'a') + upload(key, 'b') + upload(`${key}0`, 'c'), `${key}0`),
      )
    }
    removed.push(url)
    // What somebody else removed in between is as good as removed.
    return response.writeHead(404).end(refusal('NoSuchUpload', 'The specified upload does not exist.'))
  })
  const s3 = await connectS3(readConfig({ ...env, S3_REGION: 'us-east-1' }).s3 as S3Config)
  t.teardown(s3.close)
  await removeUploads(s3, key)
  t.strictSame(
    removed,
    ['a', 'b'].map((id) => `/exports/${key}?uploadId=${id}`),
  )
  const all = await Array.fromAsync(listUploads(s3, ''), (each) => each.uploadId)
  t.strictSame(all, ['a', 'b', 'c', 'd'])
})
