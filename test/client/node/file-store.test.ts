import { execFile, spawn } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { type Row, StorageFullError, StoreVersionError } from '../../../src/client/index.ts'
import { fileStore } from '../../../src/client/node/file-store.ts'
import { StoreInUseError } from '../../../src/client/node.ts'
import { blankRow } from '../../../src/client/sync/store/row.ts'
import { metaOf } from '../../../src/client/testing/store-cases.ts'

const module = new URL('../../../src/client/node/file-store.ts', import.meta.url).href
const meta = metaOf('ann')

t.test('A store is one file that only its owner may read, even if everybody could read it before', async (t) => {
  const folder = t.testdir({ 'wide.db': '' })
  for (const name of ['new.db', 'wide.db']) {
    const store = fileStore(join(folder, name))
    await store.write([rowOfSize('a', 10)], meta)
    store.close()
  }
  const modes = readdirSync(folder).map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)])
  t.same(modes, [
    ['new.db', '600'],
    ['wide.db', '600'],
  ])
})

t.test('Signing out deletes the file, and the erased store does not create it again', async (t) => {
  const folder = t.testdir()
  const store = fileStore(join(folder, 'a.db'))
  await store.write([rowOfSize('a', 10)], meta)
  await store.wipe()
  t.same(readdirSync(folder), [])
  await t.rejects(store.write([rowOfSize('a', 10)], meta), { name: 'InvalidStateError' })
  await t.rejects(store.load(), { name: 'InvalidStateError' })
  t.same(readdirSync(folder), [])
})

t.test('A second process is refused, until the first has closed the file', async (t) => {
  const path = join(t.testdir(), 'a.db')
  const store = fileStore(path)
  await store.load()
  const code = `
    import { fileStore } from '${module}'
    await fileStore(process.argv[1]).load().then(() => console.log('read'), ({ message }) => console.log(message))`
  const open = async () =>
    (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code, path])).stdout.trim()
  const refusal = `${path} is in use, perhaps by another process`
  t.equal(await open(), refusal)
  const inUse = { constructor: StoreInUseError, message: refusal }
  await t.rejects(fileStore(path).load(), inUse, 'the same process cannot open it twice')
  t.equal(await open(), refusal, 'the second attempt has not released the lock')
  store.close()
  t.equal(await open(), 'read')
})

t.test('A full disk gives StorageFullError and writes nothing; later writes succeed', async (t) => {
  const database = spyOnDatabase(t)
  const store = fileStore(join(t.testdir(), 'a.db'))
  await store.write([rowOfSize('a', 10)], meta)
  const { page_count: pages } = database().prepare('pragma page_count').get() as { page_count: number }
  database().exec(`pragma max_page_count = ${pages + 2}`)
  const rows = [rowOfSize('a', 11), rowOfSize('b', 10), rowOfSize('c', 100_000)]
  await t.rejects(store.write(rows, { ...meta, cursor: 8 }), StorageFullError)
  t.same(await store.load(), { meta, rows: [rowOfSize('a', 10)] })
  database().exec('pragma max_page_count = 100000')
  await store.write(rows, { ...meta, cursor: 8 })
  t.same(await store.load(), { meta: { ...meta, cursor: 8 }, rows })
  store.close()
})

t.test('A process killed during a write leaves complete writes, at least the confirmed ones', async (t) => {
  const path = join(t.testdir(), 'a.db')
  const code = `
    import { fileStore } from '${module}'
    const [store, meta] = [fileStore(process.argv[1]), ${JSON.stringify(meta)}]
    const row = (id, title) => ({ id, version: { title }, waiting: [], held: null, unreadable: null })
    for (let round = 1; ; round++) {
      await store.write(['a', 'b', 'c'].map((id) => row(id, round + 'x'.repeat(20_000))), { ...meta, cursor: round })
      process.stdout.write(round + '\\n')
      await new Promise(setImmediate)
    }`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code, path])
  let printed = ''
  for await (const chunk of child.stdout) {
    printed += chunk
    if (printed.split('\n').length > 10) child.kill('SIGKILL')
  }
  const store = fileStore(path)
  const stored = await store.load()
  const rounds = stored.rows.map(({ version }) => Number.parseInt((version as unknown as { title: string }).title, 10))
  const { cursor = 0 } = stored.meta ?? {}
  t.same(rounds, [cursor, cursor, cursor])
  t.ok(cursor >= Number(printed.trim().split('\n').at(-1)))
  store.close()
})

t.test('A file that a newer version has changed is refused, and stays unchanged until it is erased', async (t) => {
  const folder = t.testdir()
  const path = join(folder, 'a.db')
  const old = fileStore(path)
  await old.write([rowOfSize('a', 10)], meta)
  old.close()
  const database = new DatabaseSync(path)
  database.exec('pragma user_version = 2')
  database.close()
  const before = readFileSync(path)
  const store = fileStore(path)
  await t.rejects(store.load(), StoreVersionError)
  t.same(readFileSync(path), before)
  await store.wipe()
  t.same(readdirSync(folder), [])
})

t.test("A text file and another program's database are refused and stay unchanged", async (t) => {
  const folder = t.testdir()
  const [text, foreign] = [join(folder, 'notes.txt'), join(folder, 'foreign.db')]
  writeFileSync(text, 'not a database, but a text of somebody who mistyped a path'.repeat(20), { mode: 0o644 })
  const database = new DatabaseSync(foreign)
  database.exec('create table notes (note text)')
  database.close()
  const before = [readFileSync(text), readFileSync(foreign), statSync(text).mode]
  await t.rejects(fileStore(text).load(), { message: 'file is not a database' })
  await t.rejects(fileStore(foreign).load(), { message: `${foreign} is another program's database` })
  t.same([readFileSync(text), readFileSync(foreign), statSync(text).mode], before)
})

/** Returns a function that returns the database that was used last. */
function spyOnDatabase(t: Test): () => DatabaseSync {
  let last: DatabaseSync | undefined
  const { prepare } = DatabaseSync.prototype
  DatabaseSync.prototype.prepare = function (...args) {
    last = this
    return prepare.apply(this, args)
  }
  t.teardown(() => {
    DatabaseSync.prototype.prepare = prepare
  })
  return () => last as DatabaseSync
}

/** A row of about this size. */
function rowOfSize(id: string, bytes: number): Row {
  const bookmark = { id, title: 'x'.repeat(bytes), source: 'bookmarks' as const }
  const version = { event_id: id, timestamp: 1, device_id: 'd', operation: 'create' as const, data_hash: 'ab' }
  return { ...blankRow(id), version: { ...version, bookmark, confirmed: true } }
}
