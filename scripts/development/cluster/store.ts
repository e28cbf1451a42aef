import { join } from 'node:path'
import { startMinio } from '../servers/minio.ts'
import { NoMinioError } from '../servers/minio-binary.ts'

export interface SharedStore {
  /** What it is, for people. */
  name: string
  /** The variables under which the instances use it. */
  env: Record<string, string>
  close(): Promise<void>
}

/** A MinIO; without one, a folder that all instances see. */
export async function startSharedStore(folder: string): Promise<SharedStore> {
  try {
    const { createBucket, endpoint, close } = await startMinio()
    return { name: `MinIO at ${endpoint}`, env: await createBucket(), close }
  } catch (error) {
    if (!(error instanceof NoMinioError)) throw error
    const exports = join(folder, 'exports')
    return {
      name: `the folder ${exports}, as there is ${error.message}`,
      env: { EXPORTS_DIR: exports },
      async close() {},
    }
  }
}
