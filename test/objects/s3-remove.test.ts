import t from 'tap'
import { exportSweeps } from '../../src/service/upkeep/exports.ts'
import { buildFixture, exportId } from '../exports/fixture.ts'
import { createFakeS3, refusal, startTlsServer } from '../support/s3-servers.ts'
import { openStore } from '../support/stores.ts'
import { sweepOrphans } from '../support/sweeps.ts'

const key = `ada.${exportId(1)}.1`

/** A fake store that behaves like Amazon, unlike MinIO: it lists uploads by prefix, in pages. */
t.test('only uploads with the exact name are removed, on every page of a list by prefix', async (t) => {
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
    // An upload that something else removed meanwhile counts as removed.
    return response.writeHead(404).end(refusal('NoSuchUpload', 'The specified upload does not exist.'))
  })
  const store = await openStore(t, env)
  t.strictSame(await Array.fromAsync(store.list()), [key, key, `${key}0`, `${key}1`])
  await store.remove(key)
  t.strictSame(
    removed,
    ['a', 'b'].map((id) => `DELETE /exports/${key}?uploadId=${id}`),
  )
})

t.test('a store that refuses every request is reported as unavailable, and stops a sweep', async (t) => {
  for (const code of ['NoSuchBucket', 'InvalidAccessKeyId', 'RequestTimeTooSkewed']) {
    let refuses = false
    const objects = createFakeS3({ ssec: 'kept' })
    const env = await startTlsServer(t, (request, response) => {
      if (refuses) return response.writeHead(403).end(refusal(code, 'Not today.'))
      return objects(request, response)
    })
    const store = await openStore(t, env)
    refuses = true
    const away = { name: 'ObjectStoreUnavailableError', message: new RegExp(code) }
    await t.rejects(store.remove(key), away)
    await t.rejects(store.get(key, Buffer.alloc(32)), away)
  }
})

t.test('if the store denies access to one object, both sweeps still remove the others', async (t) => {
  const [denied, ...others] = [1, 2, 3].map((index) => `ada.${exportId(index)}.1`) as [string, string, string]
  const removed: string[] = []
  const objects = createFakeS3({ ssec: 'kept' })
  const env = await startTlsServer(t, (request, response) => {
    const { method, url = '' } = request
    if (url.includes('?uploads'))
      return response.end('<ListMultipartUploadsResult><Bucket>exports</Bucket></ListMultipartUploadsResult>')
    if (url.includes('list-type=2')) {
      const listed = [denied, ...others]
        .map((key) => `<Contents><Key>${key}</Key><LastModified>2026-11-21T08:00:00Z</LastModified></Contents>`)
        .join('')
      return response.end(`<ListBucketResult>${listed}</ListBucketResult>`)
    }
    if (url === `/exports/${denied}`) return response.writeHead(403).end(refusal('AccessDenied', 'It is locked.'))
    if (method === 'DELETE' && !url.includes('.probe')) removed.push(url.replace('/exports/', ''))
    return objects(request, response)
  })
  const fixture = await buildFixture(t, await openStore(t, env))
  const { signal } = new AbortController()
  const unfinished = { name: 'UnfinishedSweep', removed: 2 }
  await t.rejects(fixture.objects.remove(denied), { name: 'S3Error', message: /AccessDenied/ })
  await t.rejects(fixture.objects.get(denied, Buffer.alloc(32)), { name: 'S3Error', message: /AccessDenied/ })
  await t.rejects(sweepOrphans(fixture), unfinished)
  t.strictSame(removed.splice(0), others)
  for (const index of [1, 2, 3]) await fixture.addExport(exportId(index), 'ada')
  for (const [index, object_key] of [denied, ...others].entries())
    await fixture.edit(exportId(index + 1), { status: 'completed', object_key, expires_at: fixture.now })
  await t.rejects(exportSweeps['expired exports'](fixture, signal), unfinished)
  t.strictSame(removed.toSorted(), others)
  t.equal(fixture.lines.filter((line) => line.includes('It is locked.')).length, 2)
})

t.test('a list that leads in circles ends with an error', async (t) => {
  for (const next of [['again'], ['one', 'other'], ['']]) {
    for (const listed of ['objects', 'uploads']) {
      let asked = 0
      const fake = createFakeS3({ ssec: 'kept' })
      const page = (name: string, token: string, isListed: boolean) => {
        const isTruncated = isListed && ++asked < 50
        const marker = `<${token}>${next[asked % next.length]}</${token}>`
        return `<${name}><Name>exports</Name>${isTruncated ? `<IsTruncated>true</IsTruncated>${marker}` : ''}</${name}>`
      }
      const env = await startTlsServer(t, (request, response) => {
        const { url = '' } = request
        if (url.includes('?uploads'))
          return response.end(page('ListMultipartUploadsResult', 'NextKeyMarker', listed === 'uploads'))
        if (!url.includes('list-type=2')) return fake(request, response)
        return response.end(page('ListBucketResult', 'NextContinuationToken', listed === 'objects'))
      })
      const store = await openStore(t, env)
      await t.rejects(Array.fromAsync(store.list()), {
        message: 'the object store lists the same page again and again',
      })
      t.ok(asked < 5, `${listed}: ${asked} pages`)
    }
  }
})
