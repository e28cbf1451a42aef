import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { type RecordRow, saveRecords } from '../../src/service/db/tables/records.ts'
import { ObjectNotFoundError } from '../../src/service/objects/store.ts'
import { buildApp } from '../support/app.ts'
import { endLeases, finishedExport } from '../support/exports.ts'
import { folder } from '../support/service.ts'
import { testOnStoresInDepth } from '../support/stores.ts'
import { sweepExports } from '../support/sweeps.ts'
import type { Point } from './crash-process.ts'
import { bookmark, exportKey, largeBookmarks, openObject, pastFirstPart, secretKey } from './fixture.ts'

const path = '/api/v1/exports'
const program = fileURLToPath(new URL('crash-process.ts', import.meta.url))

testOnStoresInDepth(t, (t, store) => {
  t.test('after a kill before, within or after writing a file, the next start finishes the exports', async (t) => {
    const dataDir = await folder(t)
    const env = {
      ...(await store.env(t)),
      DATA_DIR: dataDir,
      DATABASE_URL: `sqlite:${dataDir}/bookmarks.db`,
      SECRET_KEY: Buffer.from(secretKey).toString('base64'),
    }
    const operator = await store.operate(env)
    const asked = await prepare(t, env, dataDir)
    const [before, within, after] = asked.map(({ id }) => id) as [string, string, string]
    const keyOf = (wanted: string) => `${asked.find(({ id }) => id === wanted)?.person.userId}.${wanted}`
    await killWhenAt(t, env, { [before]: 'before the file', [within]: 'within the file', [after]: 'after the file' })
    t.strictSame(
      [await operator.objects(), await operator.leftovers()],
      [[`${keyOf(after)}.1`], [`${keyOf(within)}.1`]],
    )

    prolongLeases(dataDir)
    const app = await buildApp(t, env, { dataDir })
    const { objects } = app.context
    await t.rejects(objects.get(`${keyOf(before)}.1`, exportKey), ObjectNotFoundError)
    await t.rejects(objects.get(`${keyOf(within)}.1`, exportKey), ObjectNotFoundError)
    for (const { id, person } of asked) {
      const { body } = await app.as(person).call('GET', path)
      t.match(
        body.exports.find((one: { id: string }) => one.id === id),
        { status: 'processing', size_bytes: null },
      )
      t.equal((await app.as(person).call('GET', `${path}/${id}`)).status, 400, 'an unfinished export has no download')
    }

    await endLeases(app.context)
    app.context.exportWorker.wake()
    for (const { id, person, count } of asked) {
      t.match(await finishedExport(app.as(person), id), { status: 'completed', bookmark_count: count })
      const { bookmarks } = JSON.parse(await openObject(objects, `${keyOf(id)}.2`))
      t.equal(new Set(bookmarks.map((each: { id: string }) => each.id)).size, count)
    }
    await sweepExports(app.context)
    const made = asked.map(({ id }) => `${keyOf(id)}.2`).sort()
    t.strictSame([await operator.objects(), await operator.leftovers()], [made, []], 'the rest was swept')
  })
})

/** Requests three exports that no worker begins. The second is large enough to kill a process within its file. */
async function prepare(t: Test, env: Record<string, string>, dataDir: string) {
  const { context, user, close } = await buildApp(t, env, { dataDir })
  await context.exportWorker.close()
  const { database } = context
  const key = Buffer.from(exportKey).toString('base64')
  const signUp = async (name: string, rowsOf: (userId: string) => RecordRow[]) => {
    const person = await user(name)
    await person.call('PUT', '/api/v1/account/export-key', { body: { key } })
    const rows = rowsOf(person.userId)
    await database.write((trx) => saveRecords(trx, rows))
    return { person, count: rows.length }
  }
  const ada = await signUp('ada', largeBookmarks)
  const bob = await signUp('bob', (userId) => [bookmark(userId, 1), bookmark(userId, 2)])
  const ask = async (owner: typeof ada) => {
    const { body } = await owner.person.call('POST', path)
    return { ...owner, id: body.id as string }
  }
  const asked = [await ask(bob), await ask(ada), await ask(bob)]
  await close()
  return asked
}

/** Makes leases last as long as the service accepts, so that the next start always finds them unexpired. */
function prolongLeases(dataDir: string): void {
  const database = new Sqlite(`${dataDir}/bookmarks.db`)
  database.prepare('update exports set lease_until = ?').run(Date.now() + 29_000)
  database.close()
}

/** Starts workers in a separate process, and kills it when each export of `points` hangs. */
async function killWhenAt(t: Test, env: Record<string, string>, points: Record<string, Point>): Promise<void> {
  const hang = { HANG: JSON.stringify(points), HANG_AFTER: String(pastFirstPart) }
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, ...env, ...hang },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  for await (const text of child.stdout.setEncoding('utf8')) {
    output += text
    if (output.length === Object.keys(points).length) break
  }
  t.equal(output, '...')
  child.kill('SIGKILL')
  await once(child, 'exit')
}
