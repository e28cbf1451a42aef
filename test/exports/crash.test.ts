import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { sweepExports } from '../../src/exports/sweep.ts'
import { buildApp } from '../support/app.ts'
import { openFile, secretKey } from './fixture.ts'

const path = '/api/v1/exports'
const count = 5_000
const program = fileURLToPath(new URL('process.ts', import.meta.url))

function start(t: Test, dataDir: string) {
  return buildApp(t, { SECRET_KEY: Buffer.from(secretKey).toString('base64') }, { dataDir })
}

/** Leaves an export that nobody has begun. */
async function prepare(t: Test, dataDir: string): Promise<string> {
  const app = await start(t, dataDir)
  await app.context.exportWorker.close()
  const ada = await app.user('ada')
  const bookmarks = Array.from({ length: count }, (_, index) => ({
    id: `bookmark-${index}`,
    encrypted_data: 'x'.repeat(300),
    data_hash: 'hash',
  }))
  await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks } })
  const { body } = await ada.call('POST', path)
  await app.close()
  return body.id
}

/** Starts a worker in a process of its own and kills it once it hangs at that point. */
async function killAt(t: Test, dataDir: string, task: string): Promise<void> {
  const child = spawn(process.execPath, [program, dataDir, task], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [output] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
  t.equal(String(output), 'hanging')
  child.kill('SIGKILL')
  await once(child, 'exit')
}

for (const [task, rest] of [
  ['hang before the file', []],
  ['hang within the file', ['1.part']],
  ['hang after the file', ['1']],
] as const) {
  t.test(`a process is told to ${task}, and killed: the restarted service finishes the export`, async (t) => {
    const dataDir = t.testdir()
    const id = await prepare(t, dataDir)
    await killAt(t, dataDir, task)
    const files = () => readdir(join(dataDir, 'exports'))
    t.strictSame(
      await files(),
      rest.map((name) => `${id}.${name}`),
    )

    const app = await start(t, dataDir)
    const ada = await app.user('ada')
    const download = () => ada.call('GET', `${path}/${id}`)
    const list = async () => (await ada.call('GET', path)).body.exports
    t.match(await list(), [{ id, status: 'processing', size_bytes: null }])
    t.equal((await download()).status, 400, 'what is there cannot be downloaded')

    app.setClock(Date.now() + 15_000)
    app.context.exportWorker.wake()
    let answer = await download()
    for (; answer.status !== 200; answer = await download()) {
      t.equal(answer.status, 400)
      await sleep(5)
    }
    const key = Buffer.from((await ada.call('GET', '/api/v1/account/export-key')).body.key, 'base64')
    const { bookmarks } = JSON.parse(await openFile(answer.raw, key))
    t.equal(new Set(bookmarks.map((each: { id: string }) => each.id)).size, count)
    t.match(await list(), [{ id, bookmark_count: count }])
    await sweepExports(app.context)
    t.strictSame(await files(), [`${id}.2`], 'what the dead process left is swept')
  })
}
