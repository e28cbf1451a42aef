// A process of its own that is killed: it works on exports, with the service's variables, until it hangs where `HANG` says.

import { readConfig } from '../../src/config/config.ts'
import { openDatabase } from '../../src/db/open.ts'
import { startExportWorker } from '../../src/exports/worker.ts'
import { openObjectStore } from '../../src/objects/open.ts'
import type { ObjectStore } from '../../src/objects/store.ts'
import { createSeal } from '../../src/seal/seal.ts'
import { silent } from '../support/log.ts'
import { pastFirstPart } from './fixture.ts'

const config = readConfig(process.env)
const objects = await openObjectStore(config)

const puts: Record<string, ObjectStore['put']> = {
  'before the file': hang,
  'within the file': (key, exportKey, content, signal) => objects.put(key, exportKey, begin(content), signal),
  async 'after the file'(...args) {
    await objects.put(...args)
    return hang()
  },
}

async function* begin(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pieces = 0
  for await (const piece of content) {
    yield piece
    if (++pieces === pastFirstPart) await hang()
  }
}

function hang(): Promise<never> {
  process.stdout.write('hanging')
  return new Promise(() => {})
}

startExportWorker({
  database: await openDatabase(config.databaseUrl, silent),
  objects: { ...objects, put: puts[process.env.HANG ?? ''] ?? objects.put },
  seal: createSeal(config.secretKeys ?? []),
  log: silent,
  clock: Date.now,
})
// Whoever was to kill it is gone.
process.stdin.resume().on('end', () => process.exit())
