// A process of its own for the tests that kill one, or measure one: `process.ts FOLDER TASK`.
import { setInterval as every } from 'node:timers/promises'
import type { ObjectStore } from '../../src/exports/objects/store.ts'
import { exportId, openFixture } from './fixture.ts'

const [dir = '', task = ''] = process.argv.slice(2)
const fixture = await openFixture(dir)

const never = new Promise<never>(() => {})
const hang = () => {
  process.stdout.write('hanging\n')
  return never
}
const stores: Record<string, ObjectStore['put']> = {
  'before the file': hang,
  'in the middle of the file': (key, content, signal) => fixture.objects.put(key, until(content, 20), signal),
  'after the file': async (key, content, signal) => {
    await fixture.objects.put(key, content, signal)
    return hang()
  },
}
const put = stores[task]
if (put) {
  fixture.worker({ ...fixture.objects, put })
  for await (const _ of every(1000));
}
await measure()

async function* until(content: AsyncIterable<Uint8Array>, count: number) {
  let pieces = 0
  for await (const piece of content) {
    if (pieces++ === count) await hang()
    yield piece
  }
}

/** How much memory the process takes at most while it makes an export, in bytes more than before. */
async function measure(): Promise<void> {
  await fixture.addExport(exportId(1), 'bob')
  const worker = fixture.worker()
  await fixture.settled(exportId(1), 'bob')
  globalThis.gc?.()
  const before = process.memoryUsage()
  const most = { ...before }
  const timer = setInterval(() => {
    const now = process.memoryUsage()
    for (const key of ['rss', 'heapUsed', 'heapTotal', 'external', 'arrayBuffers'] as const) most[key] = Math.max(most[key], now[key])
  }, 2)
  await fixture.addExport(exportId(2), 'ada')
  const t0 = performance.now()
  worker.wake()
  await fixture.settled(exportId(2), 'ada')
  clearInterval(timer)
  for (const key of Object.keys(before) as (keyof typeof before)[]) console.log(key, before[key], (most[key] - before[key]) / 1e6)
  console.log(performance.now() - t0, (await fixture.find(exportId(2), 'ada'))?.size_bytes)
  await worker.close()
  await fixture.database.close()
}
