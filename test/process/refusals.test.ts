import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { freePort } from '../../scripts/servers/free-port.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { ConfigError } from '../../src/service/config/values.ts'
import { openContext } from '../../src/service/context.ts'
import { buildApp, production } from '../support/app.ts'
import { isDeep } from '../support/depth.ts'
import { silent } from '../support/log.ts'
import { folder, type Run, run, serving } from '../support/service.ts'
import { until } from '../support/until.ts'

type Env = Record<string, string>
type Fault = [what: string, env: Env, line: RegExp]

/** Checks that the process exits with 1 after one line, and returns its message. In production the line is JSON. */
async function refusalOf(t: Test, env: Env, cwd?: string): Promise<string> {
  const ports = { PORT: String(await freePort()), DEV_IDP_PORT: String(await freePort()) }
  const settings = { DATA_DIR: await folder(t), SERVE_APP: 'false', ...ports, ...env }
  const { exited, stdout, stderr } = run(t, settings, cwd === undefined ? {} : { cwd })
  t.same(await exited, { code: 1, signal: null })
  t.match(stderr(), /^[^\n]+\n$/, `one line: ${stderr().trim()}`)
  t.notMatch(stdout(), /documents|\n\s+at /, 'no other output')
  return (env.NODE_ENV ?? 'development') === 'development' ? stderr() : JSON.parse(stderr()).msg
}

/** Like `refusalOf`, in this process: runs the parts of the start whose errors `src/service/main.ts` prints. */
async function refusalHere(t: Test, env: Env): Promise<string> {
  try {
    const context = await openContext(readConfig({ DATA_DIR: await folder(t), ...env }), { log: silent })
    await context.close()
    return 'none'
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
}

const refusal = isDeep ? refusalOf : refusalHere

/** Creates unusable data in this folder. Returns the settings that use it, and the expected refusals. */
async function makeFaultyData(cwd: string): Promise<Fault[]> {
  await mkdir(join(cwd, 'folder'))
  await writeFile(join(cwd, 'folder/secret.key'), 'cut off')
  await writeFile(join(cwd, 'text'), 'This is no database, but it is long enough to be taken for one. '.repeat(20))
  makeDatabase(join(cwd, 'foreign.db'), 'create table notes (name text)')
  makeDatabase(
    join(cwd, 'newer.db'),
    'create table applied_migrations (name text, is_required integer, applied_at bigint)',
  )
  makeDatabase(join(cwd, 'newer.db'), "insert into applied_migrations values ('9999-later', 1, 0)")
  makeDatabase(join(cwd, 'older.db'), 'create table kysely_migration (name text primary key, timestamp text)')
  return [
    ['a database that is a folder', { DATABASE_URL: `sqlite:${cwd}/folder` }, /^DATABASE_URL: .*folder /],
    ['a file that is not a database', { DATABASE_URL: `sqlite:${cwd}/text` }, /^DATABASE_URL: .*text .*not a database/],
    [
      'a database of another program',
      { DATABASE_URL: `sqlite:${cwd}/foreign.db` },
      /^DATABASE_URL: .*does not belong to this service: it has the table notes; start with an empty one/,
    ],
    [
      'a database from a newer version',
      { DATABASE_URL: `sqlite:${cwd}/newer.db` },
      /^DATABASE_URL: .*newer version .*9999-later/,
    ],
    [
      'a database from before 3.0.0',
      { DATABASE_URL: `sqlite:${cwd}/older.db` },
      /^DATABASE_URL: .*before 3\.0\.0.*; start with an empty one/,
    ],
    [
      'a database below a file',
      { DATABASE_URL: `sqlite:${cwd}/text/bookmarks.db` },
      /^DATABASE_URL: .*text\/bookmarks.db cannot be/,
    ],
    ['a data folder below a file', { DATA_DIR: `${cwd}/text/data` }, /^DATA_DIR: .*text\/data cannot be written/],
    [
      'an export folder below a file',
      { EXPORTS_DIR: `${cwd}/text/exports` },
      /^EXPORTS_DIR: .*text\/exports cannot be/,
    ],
    ['a damaged secret file', { DATA_DIR: `${cwd}/folder` }, /^SECRET_KEY: .*folder\/secret.key/],
  ]
}

function makeDatabase(path: string, sql: string): void {
  const sqlite = new Sqlite(path)
  sqlite.exec(sql)
  sqlite.close()
}

t.test('A start on unusable data is refused in one line that begins with the variable', async (t) => {
  const cwd = await folder(t)
  const faults = await makeFaultyData(cwd)
  const said: Record<string, string> = {}
  const filesOf = () => Promise.all(['foreign', 'older'].map((name) => readFile(join(cwd, `${name}.db`))))
  const before = await filesOf()
  for (const [what, env] of faults) said[what] = await refusal(t, env)
  t.same(await filesOf(), before, 'not even the journal mode is changed')
  t.match(said, Object.fromEntries(faults.map(([what, , line]) => [what, line])))
  t.same(
    Object.values(said).filter((line) => line.trim().includes('\n')),
    [],
  )
})

t.test('The process exits with 1 if the database is in memory, where it cannot be durable', async (t) => {
  const line = await refusalOf(t, { DATABASE_URL: 'sqlite::memory:' }, await folder(t))
  t.match(line, /^DATABASE_URL: .*WAL.*FULL/)
})

t.test('The process exits with 1 if its clock is 40 days ahead of the database', async (t) => {
  const later = 'data:text/javascript,const%20now=Date.now;Date.now=()=>now()%2B3456e6'
  const line = await refusalOf(t, { NODE_OPTIONS: `--import=${later}` })
  t.equal(line, "DATABASE_URL: this machine's clock is 3456000 s ahead of the database's; synchronize both clocks\n")
})

/** test/commands/doctor.test.ts covers a port in use at PORT and ADMIN_PORT, and the address of another machine. */
t.test("If the development provider's port is in use, the error names DEV_IDP_PORT", async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const taken = String((server.address() as AddressInfo).port)
  t.equal(await refusalHere(t, { DEV_IDP_PORT: taken }), `DEV_IDP_PORT: port ${taken} is in use: set another`)
})

t.test('The process exits with 1 if another one uses the database, which goes on', async (t) => {
  const first = await buildApp(t)
  const line = await refusalOf(t, { DATA_DIR: first.dataDir })
  t.match(line, /^DATABASE_URL: .*bookmarks\.db is in use by another process/)
  t.equal((await first.call('GET', '/api/v1/health')).status, 200)
})

/** A module that, at SIGUSR2, causes a warning by Node and then an uncaught error. */
const warnAndThrow = `data:text/javascript,process.on('SIGUSR2',()=>{
  process.emitWarning('old',{code:'DEP0000'});setImmediate(()=>{throw%20new%20Error('lost',{cause:new%20Error('why')})})})`

function lines({ stdout, stderr }: Run) {
  return `${stdout()}${stderr()}`
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { level: number; time: number; msg: string; err?: { cause?: object } })
}

t.test('In production every line is JSON, also warnings and errors that Node would print as text', async (t) => {
  const dataDir = await folder(t)
  const ports = { PORT: String(await freePort()), DATA_DIR: dataDir }
  const service = run(t, { ...production, ...ports, NODE_OPTIONS: `--import=${warnAndThrow.replace(/\n */g, '')}` })
  await serving(service)
  await fetch(`http://127.0.0.1:${ports.PORT}/api/v1/health`)
  await until(() => /"request"/.test(service.stdout()))
  const ended = await service.kill('SIGUSR2')
  const said = lines(service)
  t.match(ended, { code: 1 })
  t.match(
    said.find(({ msg }) => msg === 'serving'),
    { level: 30, environment: 'production', address: production.PUBLIC_URL },
  )
  t.match(
    said.filter(({ msg }) => ['old', 'lost'].includes(msg)),
    [
      { level: 40, msg: 'old' },
      { level: 60, msg: 'lost', err: { stack: /^Error: lost\n/, cause: { message: 'why' } } },
    ],
  )
  t.same(
    said.filter(({ time }) => !Number.isInteger(time)),
    [],
  )
})

t.test('In production a refusal to start is a JSON line, too', async (t) => {
  const refused = run(t, { ...production, SECRET_KEY: '' })
  t.match(await refused.exited, { code: 1 })
  t.match(lines(refused), [{ level: 60, msg: 'SECRET_KEY is required in production' }])
})
