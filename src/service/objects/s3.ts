import { randomBytes, randomUUID } from 'node:crypto'
import { S3Error } from 'minio'
import { assertObjectKey, exportObjects } from './object-key.ts'
import { connectS3, faultOf } from './s3-check.ts'
import { customerKeyHeaders, type S3Config } from './s3-client.ts'
import { ObjectNotFoundError, type ObjectStore, ObjectStoreUnavailableError } from './store.ts'

/** How much an upload holds in memory. S3 requires at least 5 MiB for each part except the last. */
const partBytes = 8 * 1024 * 1024

/** A bucket with SSE-C: the store keeps no key, so neither its disks nor its credentials reveal an export. */
export async function openS3Store(config: S3Config, form = exportObjects): Promise<ObjectStore> {
  const { bucket, connect, close } = await connectS3(config)
  const client = connect()
  const store: ObjectStore = {
    async put(key, exportKey, content, signal) {
      assertObjectKey(key, form)
      return upload(key, exportKey, content, signal).catch(async (error) => {
        // If the response was lost, the store may have the whole object. If removing it fails, the sweep will.
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
        // Access is denied with a wrong key, too.
        throw isDenied(error) ? error : toStoresFault(error)
      })
      // No timeout: the reader may be slow.
      body.setTimeout(0)
      const size = body.headers['content-range']?.split('/')[1] ?? body.headers['content-length']
      return { size: Number(size), body }
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
        // It may be this object alone that nobody may remove.
        throw isDenied(error) ? error : toStoresFault(error)
      }
    },

    async *list() {
      const readPage = (token: string) => client.listObjectsV2Query(bucket, form.prefix, token, '', 1000, '')
      for await (const { objects } of pages(readPage, (page) => page.nextContinuationToken)) {
        for (const { name = '' } of objects) if (form.matches(name)) yield name
      }
      for await (const { key } of listUploads(form.prefix)) if (form.matches(key)) yield key
    },

    async probe() {
      const name = `.probe-${randomUUID()}`
      await client.putObject(bucket, name, '.', 1, customerKeyHeaders(randomBytes(32)))
      await client.removeObject(bucket, name)
    },
    close,
  }
  return store

  /** Always starts a new upload: the client's `putObject` would resume an interrupted one, with its headers or none. */
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
        // A full part is held until a byte follows it: an object of just one part is sent without a multipart upload.
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

  /** The client's own `listIncompleteUploads` fails if one of them is completed in the meantime. */
  async function* listUploads(prefix: string) {
    // The client loses the second half of the marker, so each page begins with the next name.
    const readPage = (marker: string) => client.listIncompleteUploadsQuery(bucket, prefix, marker, '', '')
    // After a restart, MinIO lists uploads only by exact name. It removes the others after a day.
    for await (const { uploads } of pages(readPage, (page) => page.nextKeyMarker)) yield* uploads
  }
}

/** The pages of a list. A store at fault, which leads back to a page, would be asked without end. */
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

function isDenied(error: unknown): boolean {
  return error instanceof S3Error && error.code === 'AccessDenied'
}

/** What the store refuses to everyone says nothing about the object. */
function toStoresFault(error: unknown): unknown {
  const isStores = error instanceof S3Error && faultOf(error) !== undefined
  return isStores ? new ObjectStoreUnavailableError(error.message, { cause: error }) : error
}
