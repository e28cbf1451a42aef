import type { Config } from '../config/config.ts'
import { openFolderStore } from './folder.ts'
import { openS3Store } from './s3.ts'
import type { ObjectStore } from './store.ts'

/** Opens the configured store for export files: a bucket or a folder. */
export function openObjectStore({ s3, exportsDir }: Config): Promise<ObjectStore> {
  return s3 ? openS3Store(s3) : openFolderStore(exportsDir)
}
