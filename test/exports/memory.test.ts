import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { depth } from '../support/depth.ts'
import { bookmark, openFixture } from './fixture.ts'
import type { Measured } from './memory-process.ts'

const program = fileURLToPath(new URL('memory-process.ts', import.meta.url))
const small = depth(10_000, 50_000)
const large = 400

t.test(`${small} bookmarks, or ${large} of the largest, are exported, growing the process by < 64 MB`, async (t) => {
  const dir = t.testdir()
  const fixture = await openFixture(dir)
  for (const user of ['ada', 'bob', 'cyd']) await fixture.addUser(user)
  for (let first = 0; first < small; first += 5_000) {
    await fixture.addBookmarks(Array.from({ length: 5_000 }, (_, i) => bookmark('ada', first + i, 'x'.repeat(780))))
  }
  await fixture.addBookmarks(Array.from({ length: large }, (_, i) => bookmark('bob', i, 'x'.repeat(262_144))))
  await fixture.database.close()
  const { stdout } = await promisify(execFile)(process.execPath, [program, dir])
  const [ofSmall, ofLarge] = JSON.parse(stdout) as [Measured, Measured]
  t.same([ofSmall.bookmark_count, ofLarge.bookmark_count], [small, large])
  t.comment(`grew by ${ofSmall.growth / 1e6} and ${ofLarge.growth / 1e6} MB`)
  t.ok(ofSmall.growth < 64e6)
  t.ok(ofLarge.growth < 64e6)
  t.ok(ofSmall.turns > small / 80, `the event loop has a turn for each chunk: ${ofSmall.turns}`)
})
