import type { S3 } from './s3-client.ts'
import { answered, S3RefusalError } from './s3-errors.ts'

export async function removeObject({ client, bucket }: S3, key: string): Promise<void> {
  await answered(client.removeObject(bucket, key))
}

/** The client's own `removeIncompleteUpload` takes the newest alone, and fails when there is none. */
export async function removeUploads(s3: S3, key: string): Promise<void> {
  for await (const upload of listUploads(s3, key)) if (upload.key === key) await abortUpload(s3, key, upload.uploadId)
}

export async function abortUpload({ client, bucket }: S3, key: string, uploadId: string): Promise<void> {
  try {
    await answered(client.abortMultipartUpload(bucket, key, uploadId))
  } catch (error) {
    if (!(error instanceof S3RefusalError && error.code === 'NoSuchUpload')) throw error
  }
}

export async function* listObjects({ client, bucket }: S3): AsyncGenerator<string> {
  for (let continuation = '', more = true; more; ) {
    const page = await answered(client.listObjectsV2Query(bucket, '', continuation, '', 1000, ''))
    for (const { name } of page.objects) if (name !== undefined) yield name
    continuation = page.nextContinuationToken
    more = page.isTruncated
  }
}

/**
 * The interrupted ones among them. Not `listIncompleteUploads`, which fails when one is completed meanwhile. MinIO tells
 * of all of them until it is restarted, later of those of one name; what nobody asks for by name, it removes after a day.
 */
export async function* listUploads({ client, bucket }: S3, prefix: string) {
  for (let marker = '', more = true; more; ) {
    // The client loses the second half of the marker, so a page begins with the next name.
    const page = await answered(client.listIncompleteUploadsQuery(bucket, prefix, marker, '', ''))
    yield* page.uploads
    marker = page.nextKeyMarker
    more = page.isTruncated
  }
}
