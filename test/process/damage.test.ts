/** A damaged page of SQLite with the rows of a few users: the service starts, and commands go on with the other users. */
import { cp, open } from 'node:fs/promises'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { listUsers } from '../../src/service/commands/accounts.ts'
import { examine } from '../../src/service/commands/doctor.ts'
import { openForCommand } from '../../src/service/db/for-command.ts'
import { checkUsers } from '../../src/service/upkeep/check.ts'
import { recount } from '../../src/service/upkeep/recount.ts'
import { reseal } from '../../src/service/upkeep/reseal.ts'
import { buildApp, type TestUser, unusedProvider } from '../support/app.ts'
import { createdExport } from '../support/exports.ts'
import { replaceKeyring } from '../support/keyrings.ts'
import { silent } from '../support/log.ts'
import { pick } from '../support/pick.ts'
import { folder } from '../support/service.ts'

const key = Buffer.alloc(32, 7)
const env = { SECRET_KEY: key.toString('base64') }
const base = await folder(t)
const users: TestUser[] = []

t.before(async () => {
  const app = await buildApp(t, env, { dataDir: base })
  for (let n = 0; n < 40; n++) users.push(await app.user(`user ${n}`))
  const [first] = users as [TestUser]
  await createdExport(first)
  await replaceKeyring(first, 2)
  await app.close()
})

const tables = ['users', 'logins', 'exports', 'keyring_versions', 'limits_in_force']

for (const table of tables)
  t.test(`With a damaged page of ${table}, the service starts, logs it, and serves everybody else`, async (t) => {
    const { dataDir, hurt } = await damage(t, table)
    const app = await buildApp(t, env, { dataDir })
    t.match(app.log.join(''), 'a part of the database is damaged: requests that need it get 503')
    t.match(app.log.join(''), /the check of [\w ]+ was not completed, because .* check names whose it is/)
    const others = users.filter(({ userId }) => !hurt.includes(userId))
    t.ok(others.length > 20, `${others.length} are served`)
    for (const user of others) t.equal((await app.as(user).call('POST', '/api/v1/sync/pull')).status, 200)
  })

for (const table of ['users', 'logins'])
  t.test(`With a damaged page of ${table}, commands name its users, and do the rest`, async (t) => {
    const { dataDir, hurt } = await damage(t, table)
    const url = `sqlite:${join(dataDir, 'bookmarks.db')}`
    const database = await openForCommand(url, silent)
    t.teardown(() => database.close())
    const checked = await Array.fromAsync(checkUsers(database))
    t.same(pick(checked, 'userId').sort(), pick(users, 'userId').sort())
    const found = checked.filter(({ damaged }) => damaged.length > 0)
    t.same(pick(found, 'userId'), hurt)
    for (const { damaged } of found) t.same(damaged[0], [table, 'SQLITE_CORRUPT'])

    const [listed, warned] = [t.capture(console, 'log'), t.capture(console, 'error')]
    await listUsers(database)
    t.equal(process.exitCode, 1)
    process.exitCode = 0
    t.equal(warned.args().length, hurt.length)
    t.equal(listed.args().length, users.length - hurt.length + 1, 'the others, and their sum')

    const counted = await Array.fromAsync(recount(database))
    t.equal(counted.length, users.length)
    t.same(
      counted.flatMap((one) => (one && 'damage' in one ? [one.id] : [])),
      table === 'users' ? hurt : [],
    )
    const { current, unreadable } = await reseal(database, [key])
    t.equal(unreadable.length, hurt.length)
    for (const one of unreadable) t.match(one, { table, damage: { code: 'SQLITE_CORRUPT' } })
    t.ok(current >= users.length - (table === 'users' ? hurt.length : 0))

    const findings = await examine({ ...env, ...unusedProvider, DATA_DIR: dataDir, DATABASE_URL: url })
    const [about] = findings.filter(({ says }) => says.includes('damaged'))
    t.match(about, { about: 'database', state: 'error', todo: /check.* names whose it is/ })
    t.ok(
      findings.some(({ about }) => about === 'clock'),
      'the rest is checked',
    )
  })

/** Copies the database and overwrites a page of the table. `hurt` are the users with rows on it, by id. */
async function damage(t: Test, table: string) {
  const dataDir = await folder(t)
  await cp(base, dataDir, { recursive: true })
  const path = join(dataDir, 'bookmarks.db')
  using opened = new DisposableStack()
  const sqlite = opened.adopt(new Sqlite(path), (it) => void it.close())
  const leaves = `select pageno from dbstat where name = ? and pagetype = 'leaf' order by pageno`
  const pages = sqlite.prepare<[string], number>(leaves).pluck().all(table)
  const size = Number(sqlite.pragma('page_size', { simple: true }))
  await using file = await open(path, 'r+')
  const content = Buffer.alloc(size)
  const at = ((pages[Math.floor(pages.length / 2)] ?? 1) - 1) * size
  await file.read(content, 0, size, at)
  const text = content.toString('latin1')
  const hurt = pick(users, 'userId').filter((id) => text.includes(id))
  await file.write(Buffer.alloc(size, 0xff), 0, size, at)
  return { dataDir, hurt: hurt.sort() }
}
