// A process of its own that is measured: prints by how many bytes it grows while it makes ada's export, `memory-process.ts FOLDER`.
import { exportId, openFixture } from './fixture.ts'

const fixture = await openFixture(process.argv[2] ?? '')
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
