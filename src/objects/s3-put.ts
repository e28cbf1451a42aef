import type { Client } from 'minio'
import type { S3 } from './s3-client.ts'
import { answered, blameStore } from './s3-errors.ts'
import { customerKeyHeaders } from './s3-key.ts'
import { abortUpload, removeObject } from './s3-remove.ts'

/** What an upload holds in memory. S3 wants 5 MiB in each part but the last. */
const partBytes = 8 * 1024 * 1024

interface Upload {
  id: string
  parts: { part: number; etag: string }[]
}

/**
 * Every upload is begun anew: given a stream, the client's own `putObject` goes on with an interrupted upload of the same
 * name under that one's headers, which may have been none.
 */
export async function putObject(
  s3: S3,
  key: string,
  exportKey: Uint8Array,
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<number> {
  const writer = createWriter(s3.clientUntil(signal), s3.bucket, key, exportKey)
  try {
    for await (const piece of content) {
      signal.throwIfAborted()
      await writer.write(piece)
    }
    signal.throwIfAborted()
    return await writer.end()
  } catch (error) {
    await discard(s3, key, writer.uploadId())
    throw blameStore(error)
  }
}

function createWriter(client: Client, bucket: string, key: string, exportKey: Uint8Array) {
  const part = Buffer.allocUnsafe(partBytes)
  let filled = 0
  let size = 0
  let upload: Upload | undefined

  async function sendPart(): Promise<Upload> {
    upload ??= {
      id: await answered(client.initiateNewMultipartUpload(bucket, key, customerKeyHeaders(exportKey))),
      parts: [],
    }
    const partNumber = upload.parts.length + 1
    const headers = customerKeyHeaders(exportKey)
    const target = { bucketName: bucket, objectName: key, uploadID: upload.id, partNumber, headers }
    const { etag } = await answered(client.uploadPart(target, part.subarray(0, filled)))
    upload.parts.push({ part: partNumber, etag })
    filled = 0
    return upload
  }

  return {
    uploadId: () => upload?.id,
    async write(piece: Uint8Array): Promise<void> {
      for (let start = 0; start < piece.length; ) {
        // A full part waits until a byte follows it: what fits into one is sent at once.
        if (filled === partBytes) await sendPart()
        const taken = piece.subarray(start, start + partBytes - filled)
        part.set(taken, filled)
        filled += taken.length
        start += taken.length
      }
      size += piece.length
    },
    async end(): Promise<number> {
      if (upload) {
        const { id, parts } = await sendPart()
        await answered(client.completeMultipartUpload(bucket, key, id, parts))
      } else {
        await answered(client.putObject(bucket, key, part.subarray(0, filled), filled, customerKeyHeaders(exportKey)))
      }
      return size
    },
  }
}

/** Also the object: a store that was cut off while it answered may have it whole. What fails here, the sweep does. */
async function discard(s3: S3, key: string, uploadId: string | undefined): Promise<void> {
  try {
    if (uploadId !== undefined) await abortUpload(s3, key, uploadId)
    await removeObject(s3, key)
  } catch {}
}
