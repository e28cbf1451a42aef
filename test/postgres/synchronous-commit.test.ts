import { sql } from 'kysely'
import t from 'tap'
import { openPostgres } from '../../src/service/db/engine/postgres/open.ts'
import { openDatabase } from '../../src/service/db/open.ts'
import { databaseUrl, isPostgres } from '../support/database-url.ts'
import { silent } from '../support/log.ts'
import { folder } from '../support/service.ts'
import { startLink } from './link.ts'

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
    const link = await startLink(t, new URL(asking('off')), meddle)
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

/** Turns `on` into `off`, as a pooler might that gives each statement another session. */
function meddle(data: Buffer): Buffer {
  return Buffer.from(data.toString('latin1').replace('= on', '=off'), 'latin1')
}
