import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { openDatabase } from '../../src/db/open.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { databaseUrl, isPostgres } from '../support/database-url.ts'
import { silent } from '../support/log.ts'
import { folder } from '../support/service.ts'

if (!isPostgres) t.comment('`npm test` runs this file on Postgres')
else {
  const url = await databaseUrl(await folder(t))
  const asking = (setting: string) => `${url}?options=-c%20synchronous_commit%3D${setting}`

  t.test('Every connection waits for the disk at a commit, whatever the database or the URL has set', async (t) => {
    const settings = ['off', 'local', 'remote_write', 'on', 'remote_apply']
    const used = await Promise.all(settings.map((setting) => settingOf(asking(setting))))
    t.same(used, ['on', 'on', 'on', 'on', 'remote_apply'])
  })

  t.test('The start is refused where the setting cannot be changed', async (t) => {
    const link = await startMeddlingLink(t, new URL(asking('off')))
    await t.rejects(openDatabase(link, silent), {
      name: 'ConfigError',
      message: 'DATABASE_URL: synchronous_commit stays off, so confirmed writes could be lost',
    })
  })
}

async function settingOf(url: string): Promise<string | undefined> {
  const { db, close } = openPostgres(url, silent)
  try {
    const { rows } = await sql<{ synchronous_commit: string }>`show synchronous_commit`.execute(db)
    return rows[0]?.synchronous_commit
  } finally {
    await close()
  }
}

/** A way to the database that turns `on` into `off`, as a pooler might that gives each statement another session. */
async function startMeddlingLink(t: Test, database: URL): Promise<string> {
  const server = createServer((near) => {
    const far = connect(Number(database.port), database.hostname)
    near.on('data', (data) => far.write(Buffer.from(data.toString('latin1').replace('= on', '=off'), 'latin1')))
    far.pipe(near)
    near.on('close', () => far.destroy())
    for (const socket of [near, far]) socket.on('error', () => {})
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = new URL(database)
  url.port = String((server.address() as AddressInfo).port)
  return url.href
}
