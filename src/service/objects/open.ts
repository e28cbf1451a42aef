import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config/config.ts'
import { awaitStore } from './await-store.ts'
import { openFolderStore } from './folder.ts'
import { type ObjectStore, ObjectStoreUnavailableError } from './store.ts'

type StoreConfig = Pick<Config, 's3' | 'exportsDir'>

/**
 * Opens the configured store for export files, a bucket or a folder. One that is away is waited for in the background: the
 * rest of the service does without.
 * @throws ConfigError
 */
export async function openObjectStore(config: StoreConfig, log: FastifyBaseLogger): Promise<ObjectStore> {
  try {
    return await connect(config)
  } catch (error) {
    if (!(error instanceof ObjectStoreUnavailableError)) throw error
    return awaitStore(() => connect(config), error, log)
  }
}

/** The client of S3 is loaded if it is needed. */
async function connect({ s3, exportsDir }: StoreConfig): Promise<ObjectStore> {
  if (!s3) return openFolderStore(exportsDir)
  const { openS3Store } = await import('./s3.ts')
  return openS3Store(s3)
}
