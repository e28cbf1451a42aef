import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { databaseUrl } from '../support/database-url.ts'
import { depth } from '../support/depth.ts'
import { sharedMinio } from '../support/minio.ts'
import { folder } from '../support/service.ts'
import type { Task } from './differential/side.ts'

/**
 * Callers cannot tell SQLite from Postgres, or a folder from MinIO. Both sides play the same random scripts of
 * requests, and must give the same responses and store the same data. A failure prints DIFFERENTIAL_SEED and
 * DIFFERENTIAL_PATH, which play its script again.
 */

const scripts = depth(12, 2000)
const { DIFFERENTIAL_SEED, DIFFERENTIAL_PATH } = process.env
// Each worker loads the service separately.
const workers = DIFFERENTIAL_SEED === undefined ? depth(1, 2) : 1

const minio = await sharedMinio(t)
t.test(`${scripts} random scripts get the same responses on both sides`, async (t) => {
  // All workers must have ended before Postgres and MinIO are stopped, even if one fails.
  const compared = await Promise.allSettled(Array.from({ length: workers }, () => compareInWorker(t)))
  for (const result of compared) {
    if (result.status === 'rejected') t.error(result.reason)
    else t.ok(result.value > 0, `${result.value} steps`)
  }
})

async function compareInWorker(t: Test): Promise<number> {
  const path = await folder(t)
  const bucket = typeof minio === 'string' ? {} : await minio.createBucket()
  const task: Task = {
    sides: {
      'SQLite and a folder': { DATABASE_URL: `sqlite:${join(path, 'bookmarks.db')}` },
      'Postgres and MinIO': { DATABASE_URL: await databaseUrl(path), ...bucket },
    },
    parameters: {
      numRuns: Math.ceil(scripts / workers),
      ...(DIFFERENTIAL_SEED !== undefined && { seed: Number(DIFFERENTIAL_SEED) }),
      ...(DIFFERENTIAL_PATH !== undefined && { path: DIFFERENTIAL_PATH }),
    },
  }
  // In a separate thread, because tap tracks every promise of this one, which takes half of the time.
  const worker = new Worker(new URL('./differential/side.ts', import.meta.url), { workerData: task })
  const [steps] = await once(worker, 'message')
  await once(worker, 'exit')
  return steps
}
