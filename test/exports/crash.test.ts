import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { sweepExports } from '../../src/exports/sweep.ts'
import { ObjectNotFoundError } from '../../src/objects/store.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { databaseUrl } from '../support/database-url.ts'
import { endLeases, finishedExport } from '../support/exports.ts'
import { folder } from '../support/service.ts'
import { testOnEachStore } from '../support/stores.ts'
import { exportKey, largeImport, openFile, secretKey } from './fixture.ts'

const path = '/api/v1/exports'
const count = largeImport().bookmarks.length
const program = fileURLToPath(new URL('crash-process.ts', import.meta.url))

testOnEachStore(t, (t, store) => {
  /** What all processes have in common. */
  async function environment(t: Test, dataDir: string) {
    return {
      ...(await store.env(t)),
      DATA_DIR: dataDir,
      DATABASE_URL: await databaseUrl(dataDir),
      SECRET_KEY: Buffer.from(secretKey).toString('base64'),
    }
  }

  for (const [point, isWhole, isLeft] of [
    ['before the file', false, false],
    ['within the file', false, true],
    ['after the file', true, false],
  ] as const) {
    t.test(`a process is killed ${point}: the restarted service finishes the export`, async (t) => {
      const dataDir = await folder(t)
      const env = await environment(t, dataDir)
      const operator = await store.operate(env)
      const id = await prepare(t, env, dataDir)
      await killAt(t, env, point)
      t.strictSame(await operator.objects(), isWhole ? [`${id}.1`] : [])
      t.strictSame(await operator.leftovers(), isLeft ? [`${id}.1`] : [])

      const app = await buildApp(t, env, { dataDir })
      const ada = await app.user('ada')
      if (!isWhole) await t.rejects(app.context.objects.get(`${id}.1`, exportKey), ObjectNotFoundError)
      t.match((await ada.call('GET', path)).body.exports, [{ id, status: 'processing', size_bytes: null }])
      t.equal((await ada.call('GET', `${path}/${id}`)).status, 400, 'what is there cannot be downloaded')

      await endLeases(app.context)
      app.context.exportWorker.wake()
      t.match(await finishedExport(ada, id), { status: 'completed', bookmark_count: count })
      t.equal(await countOpened(ada, id), count)
      await sweepExports(app.context)
      t.strictSame(await operator.objects(), [`${id}.2`], 'what the dead process left is swept')
      t.strictSame(await operator.leftovers(), [])
    })
  }
})

/** Leaves an export that nobody has begun. */
async function prepare(t: Test, env: Record<string, string>, dataDir: string): Promise<string> {
  const app = await buildApp(t, env, { dataDir })
  await app.context.exportWorker.close()
  const ada = await app.user('ada')
  await ada.call('POST', '/api/v1/sync/import', { body: largeImport() })
  const { body } = await ada.call('POST', path)
  await app.close()
  return body.id
}

/** Starts a worker in a process of its own and kills it once it hangs at that point. */
async function killAt(t: Test, env: Record<string, string>, point: string): Promise<void> {
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, ...env, HANG: point },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [output] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
  t.equal(String(output), 'hanging')
  child.kill('SIGKILL')
  await once(child, 'exit')
}

async function countOpened(user: TestUser, id: string): Promise<number> {
  const key = Buffer.from((await user.call('GET', '/api/v1/account/export-key')).body.key, 'base64')
  const { bookmarks } = JSON.parse(await openFile((await user.call('GET', `${path}/${id}`)).raw, key))
  return new Set(bookmarks.map((each: { id: string }) => each.id)).size
}
