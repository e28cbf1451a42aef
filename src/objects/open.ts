import type { Config } from '../config/config.ts'
import { openFolderStore } from './folder.ts'
import type { ObjectStore } from './store.ts'

/** Opens the configured store for export files: a bucket or a folder. The client of S3 is loaded if it is needed. */
export async function openObjectStore({ s3, exportsDir }: Config): Promise<ObjectStore> {
  if (!s3) return openFolderStore(exportsDir)
  const { openS3Store } = await import('./s3.ts')
  return openS3Store(s3)
}
