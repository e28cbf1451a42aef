import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { v7 as uuidv7 } from 'uuid'

/** Rows a second that the driver itself writes, as wide as a record and as durable. */
export async function rawInserts(count: number, encryptedData: string): Promise<number> {
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
