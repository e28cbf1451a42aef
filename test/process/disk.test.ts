/** A disk that is full or returns something else than was written, while the probe's own write still succeeds. */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { buildApp, type TestApp } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { folder } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test('A full disk: writes are 503, the service is not ready, and is so again a minute later', async (t) => {
  const app = await buildApp(t)
  const { db } = app.context.database
  const ada = await app.user('ada')
  const push = (entity_id: string) => {
    const changes = [change({ entity_id, encrypted_data: 'x'.repeat(200_000) })]
    return ada.call('POST', '/api/v1/sync/push', { body: { changes } })
  }
  t.equal((await push('before')).status, 200)
  await sql`pragma max_page_count = 1`.execute(db)
  const refused = await push('too much')
  t.match([refused.status, refused.headers['retry-after']], [503, '1'])
  await notReady(t, app)
  t.ok(app.log.some((line) => line.includes('the database is unreachable') && line.includes('SQLITE_FULL')))

  await sql`pragma max_page_count = 100000`.execute(db)
  t.equal((await push('after')).status, 200)
  letMinutePass(t)
  await until(async () => (await app.app.inject('/readyz')).statusCode === 200)
})

t.test('A corrupt page: its readers get 503, the service is not ready and logs why', async (t) => {
  const dataDir = await folder(t)
  const before = await buildApp(t, {}, { dataDir })
  const ada = await before.user('ada')
  await ada.call('POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id: 'a' })] } })
  const { rows } = await sql<{ root: number; size: number }>`
    select rootpage as root, page_size as size from sqlite_master, pragma_page_size where name = 'ciphertexts'
  `.execute(before.context.database.db)
  await sql`pragma wal_checkpoint(truncate)`.execute(before.context.database.db)
  await before.close()
  const { root, size } = rows[0] as { root: number; size: number }
  {
    await using file = await open(join(dataDir, 'bookmarks.db'), 'r+')
    await file.write(Buffer.alloc(size, 0xff), 0, size, (root - 1) * size)
  }

  const app = await buildApp(t, {}, { dataDir })
  await until(async () => (await app.app.inject('/readyz')).json().status === 'degraded')
  const refused = await app.as(ada).call('POST', '/api/v1/sync/pull')
  t.match([refused.status, refused.headers['retry-after']], [503, '1'])
  t.ok(app.log.some((line) => line.includes('"level":50') && line.includes('SQLITE_CORRUPT')))
  await notReady(t, app)
})

async function notReady(t: Test, { app }: TestApp): Promise<void> {
  await until(async () => (await app.inject('/readyz')).statusCode === 503)
  t.match((await app.inject('/readyz')).json(), { status: 'unhealthy', down: ['database', 'provider'] })
}

function letMinutePass(t: Test): void {
  const { now } = performance
  t.teardown(() => Object.assign(performance, { now }))
  performance.now = () => now.call(performance) + 61_000
}
