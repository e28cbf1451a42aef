/** On Postgres, erased ciphertexts can stay in the server's files until the operator runs the guide's commands. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import t from 'tap'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { isDeep } from '../support/depth.ts'
import { until } from '../support/until.ts'

const guide = new URL('../../docs/operating/users.md', import.meta.url)

if (!isDeep) t.plan(0, '`npm test -- --deep` runs it: it starts a server of its own')
else {
  t.test('After the commands of the guide, no file of the server contains purged or deleted data', async (t) => {
    const server = await startPostgres()
    t.teardown(() => server.close())
    const admin = await connect(`${server.url}/postgres`)
    for (const command of ['create database erased', ...commandsOf(await readFile(guide, 'utf8')).once]) {
      await admin.query(command)
    }
    await admin.end()
    await server.stop()
    await server.start()

    const { user } = await buildApp(t, { DATABASE_URL: `${server.url}/erased`, LOG_LEVEL: 'error' })
    const db = await connect(`${server.url}/erased`)
    t.teardown(() => db.end())
    const [{ data_directory: dir }] = (await db.query('show data_directory')).rows
    const left = async () => {
      await db.query('checkpoint')
      const files = await Promise.all(['base', 'pg_wal'].map((folder) => textsIn(join(dir, folder))))
      const secrets = files.flat().flatMap((text) => text.match(/secret-of-(ada|bob|purged)/g) ?? [])
      return [...new Set(secrets)].sort()
    }
    const [ada, bob] = [await user('ada'), await user('bob')]
    await push(ada, 'secret-of-ada')
    await push(bob, 'secret-of-bob')
    await push(bob, 'secret-of-purged', 'p')
    t.same(await left(), ['secret-of-ada', 'secret-of-bob', 'secret-of-purged'])
    // A busy database runs `analyze` by itself.
    await db.query('analyze')
    const samples = "concat(most_common_vals::text, histogram_bounds::text) ~ 'secret-of'"
    t.same(
      (await db.query(`select tablename, attname from pg_stats where ${samples}`)).rows,
      [],
      'the statistics contain no sample of it',
    )

    await bob.call('POST', '/api/v1/sync/push', {
      body: { changes: ids('p').map((entity_id) => change({ entity_id, operation: 'delete' })) },
    })
    for (const id of ids('p')) await bob.call('DELETE', `/api/v1/trash/${id}`)
    await ada.call('DELETE', '/api/v1/account')
    const others = (table: string) => `select 1 from ${table} where encrypted_data !~ 'bob'`
    const remaining = async () => (await db.query(`${others('records')} union all ${others('ciphertexts')}`)).rowCount
    await until(async () => (await remaining()) === 0)
    t.match(await left(), ['secret-of-ada'], 'Postgres does not overwrite deleted rows')

    for (const _ of ['once', 'twice'])
      for (const command of commandsOf(await readFile(guide, 'utf8')).afterwards) await db.query(command)
    t.same(await left(), ['secret-of-bob'])
  })
}

const ids = (prefix: string) => Array.from({ length: 50 }, (_, index) => `${prefix}${index}`)

async function push(user: TestUser, secret: string, prefix = 'x'): Promise<void> {
  const changes = ids(prefix).map((entity_id, index) =>
    change({ entity_id, encrypted_data: `${secret};`.repeat(1 + index * 3) }),
  )
  const { body } = await user.call('POST', '/api/v1/sync/push', { body: { changes } })
  if (body.accepted !== changes.length) throw new Error(JSON.stringify(body))
}

/** The two SQL blocks of the guide: the settings to make once, and the commands to run after erasing. */
function commandsOf(text: string): { once: string[]; afterwards: string[] } {
  const blocks = [...text.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql = '']) => sql.split(';\n').filter(Boolean))
  const [once = [], afterwards = []] = blocks
  return { once, afterwards }
}

async function textsIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'latin1').catch(() => '')))
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  return client
}
