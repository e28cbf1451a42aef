import type { S3 } from './s3-client.ts'
import { answered, S3RefusalError } from './s3-errors.ts'
import { type ByteRange, ObjectNotFoundError, type StoredObject } from './store.ts'

/** The client's own `getObject` would write the customer key into the URL, and so into everybody's logs. */
export async function getObject(
  { client, bucket }: S3,
  key: string,
  customerKey: Record<string, string>,
  range?: ByteRange,
): Promise<StoredObject> {
  const headers = { ...customerKey, ...(range && { range: `bytes=${range.start}-${range.end}` }) }
  const request = { method: 'GET', bucketName: bucket, objectName: key, query: '', headers }
  try {
    const body = await answered(client.makeRequestAsync(request, '', [range ? 206 : 200]))
    // Whoever reads it may be slow.
    body.setTimeout(0)
    const size = range ? body.headers['content-range']?.split('/')[1] : body.headers['content-length']
    return { size: Number(size), body }
  } catch (error) {
    const isMissing = error instanceof S3RefusalError && /^(NoSuchKey|NotFound)$/.test(error.code)
    throw isMissing ? new ObjectNotFoundError(key, error) : error
  }
}
