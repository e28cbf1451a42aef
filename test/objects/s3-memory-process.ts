// A separate process that is measured: it stores as many bytes as its argument says, in the store of its environment.
import { randomBytes } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { readConfig } from '../../src/service/config/config.ts'
import { openObjectStore } from '../../src/service/objects/open.ts'
import { exportId } from '../exports/fixture.ts'
import { silent } from '../support/log.ts'

const total = Number(process.argv[2])
const store = await openObjectStore(readConfig(process.env), silent)
const piece = randomBytes(65_568)
const before = process.memoryUsage.rss()
let most = before

async function* content() {
  for (let sent = 0; sent < total; sent += piece.length) {
    yield piece
    most = Math.max(most, process.memoryUsage.rss())
    await turn()
  }
}

const watch = setInterval(() => {
  most = Math.max(most, process.memoryUsage.rss())
}, 1)
const signal = new AbortController().signal
const size = await store.put(`${exportId(1)}.1`, piece.subarray(0, 32), content(), signal)
clearInterval(watch)
await store.close()
process.stdout.write(JSON.stringify({ size, growth: most - before }))
