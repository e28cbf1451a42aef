// A separate process whose memory is measured: makes the exports of two people in the folder of its argument, and
// prints by how many bytes it grew during each.
import { exportId, openFixture } from './fixture.ts'

export interface Measured {
  /** The peak growth in bytes. */
  growth: number
  /** Turns of the event loop while the export was made. */
  turns: number
  bookmark_count: number | null
}

const fixture = await openFixture(process.argv[2] ?? '')
const worker = fixture.worker()
let [most, turns] = [0, 0]
watch()
// A first export loads all modules, so that their memory is not counted.
await make(exportId(1), 'cyd')
process.stdout.write(JSON.stringify([await make(exportId(2), 'ada'), await make(exportId(3), 'bob')]))
process.exit()

function watch(): void {
  turns++
  most = Math.max(most, process.memoryUsage.rss())
  setImmediate(watch)
}

async function make(id: string, user: string): Promise<Measured> {
  const before = process.memoryUsage.rss()
  most = before
  turns = 0
  await fixture.addExport(id, user)
  worker.wake()
  const { bookmark_count } = await fixture.settled(id, user)
  return { growth: most - before, turns, bookmark_count }
}
