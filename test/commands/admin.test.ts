import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { buildApp } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { runCommand } from '../support/command.ts'
import { databaseUrl } from '../support/database-url.ts'
import { countUsage } from '../support/usage.ts'

t.test('npm run admin -- recount corrects only wrong counters, while a user goes on writing', async (t) => {
  const { context, user, dataDir } = await buildApp(t)
  const [ada, bob] = [await user('ada'), await user('bob')]
  const push = (entity_id: string, operation: 'create' | 'delete' = 'create') =>
    ada.call('POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id, operation })] } })
  for (const id of ['a', 'b', 'gone']) await push(id)
  await push('gone', 'delete')
  await bob.call('POST', '/api/v1/sync/push', {
    body: { changes: [change({ entity_id: 'x', encrypted_data: 'AAAA' })] },
  })
  const counters = () =>
    context.database.db
      .selectFrom('users')
      .select(['id', 'live_bookmarks', 'stored_bytes', 'stored_records', 'digest'])
      .orderBy('id')
      .execute()
  const right = await counters()
  await context.database.db
    .updateTable('users')
    .set({ live_bookmarks: 9, stored_bytes: 1, digest: '9'.repeat(32) })
    .where('id', '=', bob.userId)
    .execute()

  let [over, pushes] = [false, 0]
  const writing = (async () => {
    for (; !over; pushes += 1) {
      await push('b')
      await sleep(10)
    }
  })()
  const env = { DATA_DIR: dataDir, DATABASE_URL: await databaseUrl(dataDir) }
  const { code, stdout, stderr } = await runCommand(t, 'admin', ['recount'], env)
  over = true
  await writing
  t.same([code, stderr], [0, ''])
  t.match(
    stdout,
    `${bob.userId}  was live_bookmarks 9, stored_bytes 1, version_bytes 0, stored_records 1, empty_tombstones 0, stored_versions 0, digest 99999999999999999999999999999999  is live_bookmarks 1, stored_bytes 4,`,
  )
  t.match(stdout, /recounted 2 users, corrected 1\n$/)
  t.ok(pushes > 0)
  const ofAda = (await counters()).find(({ id }) => id === ada.userId)
  t.match(ofAda, { live_bookmarks: 2, stored_records: 3, stored_bytes: (await countUsage(context, ada.userId)).bytes })
  const ofBob = (rows: typeof right) => rows.find(({ id }) => id === bob.userId)
  t.same(ofBob(await counters()), ofBob(right))
})
