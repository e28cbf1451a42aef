import https from 'node:https'
import type { Test } from 'tap'
import { type MinioServer, makeBucket, startMinio } from '../../scripts/servers/minio.ts'
import { NoMinioError } from '../../scripts/servers/minio-binary.ts'

export type SharedMinio = Pick<MinioServer, 'dataDir' | 'createBucket'>

/** The shared server of the run, or a separate one. Without MinIO returns the reason, or throws if CI is set. */
export async function sharedMinio(t: Pick<Test, 'teardown'>): Promise<SharedMinio | string> {
  waitForStores(t)
  const shared = process.env.TEST_MINIO
  if (!shared || shared === 'none') return ownMinio(t)
  if (!shared.startsWith('{')) return withoutMinio(new NoMinioError(shared))
  const server: MinioServer = JSON.parse(shared)
  return { dataDir: server.dataDir, createBucket: () => makeBucket(server) }
}

/** Removes the timeouts of requests to stores: on a busy machine, MinIO may take longer. */
function waitForStores(t: Pick<Test, 'teardown'>): void {
  const { request } = https
  const withoutTimeout = (value: unknown) =>
    value instanceof Object && 'timeout' in value ? { ...value, timeout: 0 } : value
  Object.assign(https, { request: (...values: unknown[]) => Reflect.apply(request, https, values.map(withoutTimeout)) })
  t.teardown(() => Object.assign(https, { request }))
}

/** A separate server, for tests that stop it and for runs without a shared one. */
export async function ownMinio(t: Pick<Test, 'teardown'>): Promise<MinioServer | string> {
  if (process.env.TEST_MINIO === 'none') throw new Error('scripts/test/plan.ts lacks this file among those on MinIO')
  try {
    const server = await startMinio()
    t.teardown(() => server.close())
    return server
  } catch (error) {
    if (error instanceof NoMinioError) return withoutMinio(error)
    throw error
  }
}

function withoutMinio(error: NoMinioError): string {
  if (process.env.CI) throw error
  console.error(`\nNOT TESTED: ${error.message}\n`)
  return error.message
}
