import { readdir } from 'node:fs/promises'
import { sql } from 'kysely'
import t from 'tap'
import { saveUser } from '../../src/service/db/tables/users.ts'
import { sealExportKey } from '../../src/service/exports/key.ts'
import { runCommand } from '../support/command.ts'
import { isPostgres } from '../support/database-url.ts'
import { depth } from '../support/depth.ts'
import { newer, older, openRotation } from '../support/rotation.ts'
import { until } from '../support/until.ts'

const count = depth(1_000, 2_000)
const both = `${newer},${older}`

t.test(`kill -9 among ${count} values, and once more: all of them are resealed`, async (t) => {
  const service = await openRotation(t)
  const { context } = await service.start(`${older},${newer}`)
  const { database, seal } = context
  const ids = Array.from({ length: count }, (_, index) => `user-${String(index).padStart(6, '0')}`)
  const profile = { issuer: 'http://test', email: '', name: '', avatar_url: '', email_verified: 0, created_at: 1 }
  await database.write(async (trx) => {
    for (const id of ids) {
      const export_key_sealed = sealExportKey(seal, id, id, new Uint8Array(32))
      await saveUser(trx, { id, subject: id, ...profile, export_key_sealed })
    }
  })
  const first = () =>
    database.db.selectFrom('users').select('export_key_sealed').where('id', '=', 'user-000000').executeTakeFirst()
  const keys = [newer, older]
  for (let isKilled = false; !isKilled; ) {
    const before = await first()
    const command = service.reseal(keys.join())
    await until(async () => (await first())?.export_key_sealed !== before?.export_key_sealed)
    command.kill('SIGKILL')
    const { signal, stdout } = await command.result
    // One that was done before the signal has left nothing to go on with: back again.
    isKilled = signal === 'SIGKILL'
    if (isKilled) t.equal(stdout, '')
    else keys.reverse()
  }

  const { code, stdout } = await service.reseal(keys.join()).result
  t.equal(code, 0)
  const [resealed = 0, current = 0, unreadable] = (stdout.match(/\d+/g) ?? []).map(Number)
  t.ok(resealed > 0 && current > 0, stdout)
  t.same([resealed + current, unreadable], [count, 0])
  const alone = await service.reseal(`${keys[0]}`).result
  t.same([alone.code, alone.stdout], [0, `resealed 0, already current ${count}, unreadable 0\n`])
})

t.test('Nothing is done without keys, without a database, or on that of another version', async (t) => {
  const service = await openRotation(t)
  const { context } = await service.start(older)
  const { env } = service
  const nowhere = isPostgres ? 'postgres://ebs:hidden@127.0.0.1:1/bookmarks' : `sqlite:${env.DATA_DIR}/missing.db`
  const empty = isPostgres ? `${process.env.TEST_POSTGRES}/postgres` : `sqlite:${env.DATA_DIR}/empty.db`
  const refused = async (what: string, changes: Record<string, string>, line: RegExp) => {
    const { code, stdout, stderr } = await runCommand(t, 'reseal', [], { ...env, SECRET_KEY: both, ...changes })
    t.same([code, stdout], [1, ''], what)
    t.match(stderr, line)
    t.match(stderr, /^[^\n]+\n$/, 'one line')
    t.notMatch(stderr, /hidden/)
  }
  await refused('no keys', { SECRET_KEY: '' }, /^SECRET_KEY is required here/)
  await refused('no key', { SECRET_KEY: 'short' }, /^SECRET_KEY must be 32 bytes/)
  await refused('no database', { DATABASE_URL: nowhere }, /^DATABASE_URL: .*(cannot be opened|cannot be used)/)
  t.notOk((await readdir(env.DATA_DIR ?? '')).includes('missing.db'))
  if (isPostgres)
    await refused('an empty database', { DATABASE_URL: empty }, /^DATABASE_URL: .*does not belong to this service/)
  await sql`insert into kysely_migration (name, timestamp) values ('9999-later', '')`.execute(context.database.db)
  await refused('a newer version', {}, /^DATABASE_URL: the database has another version/)
})
