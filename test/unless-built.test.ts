import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { unlessBuilt } from '../scripts/package/unless-built.ts'
import { makeOnce } from '../scripts/servers/program.ts'
import { folder } from './support/service.ts'

t.test('A part of dist/ is rebuilt, once for two callers, if sources changed, it is gone or it failed', async (t) => {
  const at = await folder(t)
  const name = `test-${process.pid}`
  t.teardown(async () => {
    for (const file of ['built', 'building']) await rm(`dist/.${file}-${name}`, { force: true })
  })
  const outcome = await folder(t)
  let builds = 0
  const start = async (build: () => Promise<void> = async () => void builds++) => {
    await unlessBuilt(name, [join(at, '*')], build, outcome)
    return builds
  }
  await writeFile(join(at, 'one'), '1')
  t.same([await start(), await start()], [1, 1])
  await writeFile(join(at, 'one'), '2')
  await t.rejects(start(() => Promise.reject(new Error('no build'))))
  t.same([await start(), await start()], [2, 2])
  await writeFile(join(at, 'two'), await readFile(join(at, 'one')))
  t.same([await start(), await start()], [3, 3])
  await rm(join(at, 'one'))
  t.same([await start(), await start()], [4, 4])
  await rm(outcome, { recursive: true })
  const remake = async () => {
    builds++
    await mkdir(outcome)
  }
  t.same([await start(remake), await start(remake)], [5, 5])
  await writeFile(join(at, 'two'), 'by two at once')
  t.same(await Promise.all([start(), start()]), [6, 6])
})

t.test('Two callers that need a cached program at the same time make it once', async (t) => {
  const cache = await folder(t)
  let makes = 0
  const make = async (at: string) => {
    makes++
    await writeFile(join(at, 'program'), '', { mode: 0o755 })
    return join(at, 'program')
  }
  const one = () => makeOnce('tool', 'Making a tool', make, { XDG_CACHE_HOME: cache })
  t.same(await Promise.all([one(), one()]), Array(2).fill(join(cache, 'encrypted-bookmark-sync/tool')))
  t.equal(makes, 1)
})
