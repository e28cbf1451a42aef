// A process of its own, for the tests that kill one or measure one: `process.ts FOLDER TASK`.
import { setInterval as every } from 'node:timers/promises'
import type { ObjectStore } from '../../src/exports/objects/store.ts'
import { exportId, openFixture } from './fixture.ts'

const [dir = '', task = ''] = process.argv.slice(2)
const fixture = await openFixture(dir)
fixture.now = Date.now()

const tasks: Record<string, () => Promise<void>> = {
  'hang before the file': () => work(hang),
  'hang within the file': () =>
    work((key, exportKey, content, signal) => fixture.objects.put(key, exportKey, begin(content), signal)),
  'hang after the file': () =>
    work(async (...args) => {
      await fixture.objects.put(...args)
      return hang()
    }),
  measure,
}
await tasks[task]?.()

/** Takes jobs until it is killed. */
async function work(put: ObjectStore['put']): Promise<void> {
  fixture.worker({ ...fixture.objects, put })
  for await (const _ of every(1000));
}

async function* begin(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pieces = 0
  for await (const piece of content) {
    yield piece
    if (++pieces === 10) await hang()
  }
}

function hang(): Promise<never> {
  process.stdout.write('hanging')
  return new Promise(() => {})
}

/** Prints by how many bytes the process grows while it makes ada's export. */
async function measure(): Promise<void> {
  const worker = fixture.worker()
  await fixture.addExport(exportId(1), 'bob')
  worker.wake()
  await fixture.settled(exportId(1), 'bob')

  const before = process.memoryUsage.rss()
  let most = before
  let turns = 0
  const watch = () => {
    turns++
    most = Math.max(most, process.memoryUsage.rss())
    setImmediate(watch)
  }
  watch()
  await fixture.addExport(exportId(2), 'ada')
  worker.wake()
  const { bookmark_count } = await fixture.settled(exportId(2), 'ada')
  process.stdout.write(JSON.stringify({ growth: most - before, turns, bookmark_count }))
  process.exit()
}
