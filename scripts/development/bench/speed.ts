import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { v7 as uuidv7 } from 'uuid'
import { measureSecondDevice } from './second-device.ts'
import { startBenchService } from './service.ts'

const batch = 10_000
const batches = 5
const ciphertext = 'x'.repeat(700)

/** How fast the service is on this machine, as ratios between things measured in the same run. */
export async function measureSpeed(): Promise<void> {
  await using service = await startBenchService()
  const { call, change } = service

  const raw = await rawInserts(batch * batches, ciphertext)
  report('raw better-sqlite3, one transaction each 10,000 rows', raw, 'rows/s')

  const pushed = await rate(batch * batches, async () => {
    for (let done = 0; done < batches; done += 1) {
      const changes = Array.from({ length: batch }, () => change(ciphertext))
      await call('POST', '/api/v1/sync/push', { changes })
    }
  })
  report('push over HTTP, 10,000 changes a request', pushed, 'changes/s', pushed / raw, 'of raw')

  const pulled = await rate(batch * batches, async () => {
    let since = 0
    for (let more = true; more; ) {
      const page = await call('POST', '/api/v1/sync/pull', { since, limit: 10_000 })
      since = page.last_sync_timestamp
      more = page.has_more
    }
  })
  report('pull over HTTP, 10,000 changes a page', pulled, 'changes/s', pulled / pushed, 'of push')

  const body = { encrypted_data: ciphertext, data_hash: 'h' }
  const alone = await rate(500, async () => {
    for (let done = 0; done < 500; done += 1) await call('POST', '/api/v1/bookmarks', body)
  })
  report('durable creates, one connection', alone, 'a second')

  const together = await rate(64 * 50, async () => {
    const client = async () => {
      for (let done = 0; done < 50; done += 1) await call('POST', '/api/v1/bookmarks', body)
    }
    await Promise.all(Array.from({ length: 64 }, client))
  })
  report('durable creates, 64 connections', together, 'a second', together / alone, 'of one connection')

  const listed = await rate(200, async () => {
    for (let page = 1; page <= 200; page += 1) await call('GET', `/api/v1/bookmarks?page=${page}`)
  })
  report('GET bookmarks, 100 a page', listed, 'pages/s')

  await measureSecondDevice(service.origin, await service.newSession(), report)
}

async function rate(count: number, work: () => Promise<void>): Promise<number> {
  const start = performance.now()
  await work()
  return (count * 1000) / (performance.now() - start)
}

function report(name: string, figure: number, unit: string, ratio?: number, of?: string): void {
  const comparison = ratio === undefined ? '' : `   ${ratio.toFixed(2)} ${of}`
  console.log(`${name.padEnd(56)}${Math.round(figure).toString().padStart(9)} ${unit}${comparison}`)
}

/** Rows per second that the driver alone writes, as large as records and as durable. */
async function rawInserts(count: number, encryptedData: string): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'ebs-bench-'))
  const db = new Sqlite(join(folder, 'raw.db'))
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.exec(
    'CREATE TABLE records (user_id TEXT, id TEXT, data TEXT, hash TEXT, stamp INTEGER, PRIMARY KEY (user_id, id))',
  )
  const insert = db.prepare('INSERT INTO records VALUES (?, ?, ?, ?, ?)')
  const user = uuidv7()
  const start = performance.now()
  for (let done = 0; done < count; done += 10_000) {
    db.transaction(() => {
      for (let row = done; row < done + 10_000; row += 1) insert.run(user, uuidv7(), encryptedData, 'h'.repeat(64), row)
    })()
  }
  const rate = (count * 1000) / (performance.now() - start)
  db.close()
  await rm(folder, { recursive: true })
  return rate
}
