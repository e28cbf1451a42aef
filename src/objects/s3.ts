import { assertObjectKey, isObjectKey } from './object-key.ts'
import { checkS3, probeS3 } from './s3-check.ts'
import { connectS3, type S3Config } from './s3-client.ts'
import { getObject } from './s3-get.ts'
import { customerKeyHeaders } from './s3-key.ts'
import { putObject } from './s3-put.ts'
import { listObjects, listUploads, removeObject, removeUploads } from './s3-remove.ts'
import type { ObjectStore } from './store.ts'

/**
 * A bucket whose objects are under server-side encryption with customer-provided keys (SSE-C): the store holds no key, so
 * neither its disks nor its credentials give an export away. Checked before it is used.
 */
export async function openS3Store(config: S3Config): Promise<ObjectStore> {
  const s3 = await connectS3(config)
  try {
    await checkS3(s3, config)
  } catch (error) {
    s3.close()
    throw error
  }
  return {
    async put(key, exportKey, content, signal) {
      assertObjectKey(key)
      return putObject(s3, key, exportKey, content, signal)
    },

    async get(key, exportKey, range) {
      assertObjectKey(key)
      return getObject(s3, key, customerKeyHeaders(exportKey), range)
    },

    async remove(key) {
      assertObjectKey(key)
      await removeUploads(s3, key)
      await removeObject(s3, key)
    },

    async *list() {
      for await (const name of listObjects(s3)) if (isObjectKey(name)) yield name
      for await (const { key } of listUploads(s3, '')) if (isObjectKey(key)) yield key
    },

    probe: () => probeS3(s3),
    async close() {
      s3.close()
    },
  }
}
