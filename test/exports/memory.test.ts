import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { bookmark, openFixture } from './fixture.ts'

const program = fileURLToPath(new URL('memory-process.ts', import.meta.url))
const mebibyte = 1024 * 1024

async function measure(dir: string) {
  const { stdout } = await promisify(execFile)(process.execPath, [program, dir])
  return JSON.parse(stdout)
}

t.test('50,000 bookmarks are exported with the process growing by less than 64 MB', async (t) => {
  const dir = t.testdir()
  const fixture = await openFixture(dir)
  for (const user of ['ada', 'bob']) await fixture.addUser(user)
  for (let first = 0; first < 50_000; first += 5_000) {
    await fixture.addBookmarks(Array.from({ length: 5_000 }, (_, i) => bookmark('ada', first + i, 'x'.repeat(780))))
  }
  await fixture.database.close()
  const { growth, turns, bookmark_count } = await measure(dir)
  t.equal(bookmark_count, 50_000)
  t.comment(`grew by ${(growth / 1e6).toFixed(1)} MB; the event loop turned ${turns} times meanwhile`)
  t.ok(growth < 64e6)
  t.ok(turns > 600, 'the event loop has a turn for each chunk')
})

t.test('so are 400 of the largest', async (t) => {
  const dir = t.testdir()
  const fixture = await openFixture(dir)
  for (const user of ['ada', 'bob']) await fixture.addUser(user)
  await fixture.addBookmarks(Array.from({ length: 400 }, (_, i) => bookmark('ada', i, 'x'.repeat(mebibyte / 4))))
  await fixture.database.close()
  const { growth, bookmark_count } = await measure(dir)
  t.equal(bookmark_count, 400)
  t.comment(`grew by ${(growth / 1e6).toFixed(1)} MB`)
  t.ok(growth < 64e6)
})
