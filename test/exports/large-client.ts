// A separate process whose memory is measured. It downloads an export with a cookie and opens each bookmark.
import { streamExport } from '../../src/client/export-file/export-file.ts'
import { keys, titleOf } from './large.ts'

const [url = '', cookie = ''] = process.argv.slice(2)
const response = await fetch(url, { headers: { cookie } })
if (!response.ok || !response.body) throw new Error(`the service responds with ${response.status}`)

const before = process.memoryUsage.rss()
let [most, bytes, count] = [before, 0, 0]

async function* counted(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    bytes += piece.length
    most = Math.max(most, process.memoryUsage.rss())
    yield piece
  }
}

const reading = streamExport(counted(response.body), { exportKey: keys.exportKey, keys })
for (;;) {
  const { done, value } = await reading.next()
  if (done) break
  if (value.title !== titleOf(count)) throw new Error(`bookmark ${count} has changed`)
  count += 1
}
process.stdout.write(JSON.stringify({ count, bytes, growth: most - before }))
