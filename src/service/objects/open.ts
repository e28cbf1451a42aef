import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config/config.ts'
import { openFolderStore } from './folder.ts'
import { type ObjectStore, ObjectStoreUnavailableError } from './store.ts'

const firstPauseMs = 500
const longestPauseMs = 30_000

type StoreConfig = Pick<Config, 's3' | 'exportsDir'>

/**
 * Opens the store for export files, a bucket or a folder. If it is unreachable, opens it later in the background: the
 * rest of the service works without it.
 *
 * @throws ConfigError the folder or bucket cannot be used as it is configured
 */
export async function openObjectStore(config: StoreConfig, log: FastifyBaseLogger): Promise<ObjectStore> {
  try {
    return await connect(config, 'write')
  } catch (error) {
    if (!(error instanceof ObjectStoreUnavailableError)) throw error
    return awaitStore(() => connect(config, 'write'), error, log)
  }
}

/**
 * Loads the S3 client only if it is needed.
 *
 * @param access `read` writes nothing
 */
export async function connect({ s3, exportsDir }: StoreConfig, access: 'read' | 'write'): Promise<ObjectStore> {
  if (!s3) return openFolderStore(exportsDir, access)
  const { openS3Store } = await import('./s3.ts')
  return openS3Store(s3, undefined, access)
}

/** Tries to open an unreachable store. Until then, refuses everything, except to read from a folder on a full disk. */
function awaitStore(
  open: () => Promise<ObjectStore>,
  fault: ObjectStoreUnavailableError,
  log: FastifyBaseLogger,
): ObjectStore {
  const stopping = new AbortController()
  const { signal } = stopping
  let opened: ObjectStore | undefined
  let latest: Error = fault

  async function keepTrying(): Promise<void> {
    log.warn({ err: fault }, 'the object store is unreachable: exports wait for it')
    for (let pauseMs = firstPauseMs; !opened; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {})
      if (signal.aborted) return
      try {
        const store = await open()
        if (signal.aborted) return await store.close()
        opened = store
      } catch (err) {
        const { message } = err as Error
        // The store is reachable and refuses, which only the operator can fix.
        if (!(err instanceof ObjectStoreUnavailableError) && message !== latest.message)
          log.error({ err }, 'the object store cannot be used')
        latest = err as Error
      }
    }
  }

  function store(): ObjectStore {
    if (opened) return opened
    throw new ObjectStoreUnavailableError(latest.message, { cause: latest })
  }

  void keepTrying()
  return {
    put: async (...upload) => store().put(...upload),
    get: async (...object) => (opened ?? fault.readable ?? store()).get(...object),
    has: async (key) => store().has(key),
    remove: async (key) => store().remove(key),
    async *list(before) {
      yield* store().list(before)
    },
    probe: async () => store().probe(),
    // Does not wait for a running attempt to open the store, which may take until its timeout.
    async close() {
      stopping.abort()
      await opened?.close()
    },
  }
}
