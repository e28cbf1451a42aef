// A separate process for tests to kill. It makes exports with the service's variables, and hangs where `HANG` says.

import { readConfig } from '../../src/service/config/config.ts'
import { openDatabase } from '../../src/service/db/open.ts'
import { startExportWorker } from '../../src/service/exports/worker.ts'
import { createLimits } from '../../src/service/load/rates.ts'
import { createNotices } from '../../src/service/notices/notices.ts'
import { openObjectStore } from '../../src/service/objects/open.ts'
import type { ObjectStore } from '../../src/service/objects/store.ts'
import { createSeal } from '../../src/service/seal/seal.ts'
import { silent } from '../support/log.ts'

export type Point = 'before the file' | 'within the file' | 'after the file'

/** The number of pieces to write before hanging within the file. */
const pieces = Number(process.env.HANG_AFTER)
const points: Record<string, Point> = JSON.parse(process.env.HANG ?? '{}')
const config = readConfig(process.env)
const objects = await openObjectStore(config, silent)

const puts: Record<Point, ObjectStore['put']> = {
  'before the file': hang,
  'within the file': (key, exportKey, content, signal) => objects.put(key, exportKey, begin(content), signal),
  async 'after the file'(...args) {
    await objects.put(...args)
    return hang()
  },
}

async function* begin(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let count = 0
  for await (const piece of content) {
    yield piece
    if (++count === pieces) await hang()
  }
}

function hang(): Promise<never> {
  process.stdout.write('.')
  return new Promise(() => {})
}

function putOf(key: string): ObjectStore['put'] {
  const point = points[key.split('.')[1] ?? '']
  return point ? puts[point] : objects.put
}

const parts = {
  database: await openDatabase(config.databaseUrl, silent),
  objects: { ...objects, put: ((key, ...others) => putOf(key)(key, ...others)) as ObjectStore['put'] },
  seal: createSeal(config.secretKeys ?? []),
  log: silent,
  clock: Date.now,
  limits: createLimits(config),
  notices: createNotices(silent),
}
// A worker makes two exports at a time, so two workers can hang at three points.
startExportWorker(parts)
startExportWorker(parts)
// The end of stdin means that the test has ended without killing this process.
process.stdin.resume().on('end', () => process.exit())
