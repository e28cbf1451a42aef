import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { spawnService } from '../../scripts/servers/service.ts'
import { bundleCache, bundleMain } from '../../scripts/test/build.ts'

t.test('The five curl calls of the first guide sign in and sync', async (t) => {
  if (spawnSync('curl', ['--version']).error) return t.comment('SKIPPED: no curl here')
  const folder = t.testdir()
  const service = await spawnService(folder, bundleCache, bundleMain)
  t.teardown(() => service.stop())
  await service.ready()
  const guide = readFileSync(new URL('../../docs/start.md', import.meta.url), 'utf8')
  const [, script = ''] = /```sh\n(.*?)```/s.exec(guide) ?? []
  t.equal(script.match(/\bcurl -/g)?.length, 5)
  const { stdout, stderr } = spawnSync('sh', ['-e', '-u'], {
    input: script.replaceAll('http://127.0.0.1:3000', service.url.origin),
    encoding: 'utf8',
    cwd: folder,
    env: { PATH: process.env.PATH },
  })
  t.equal(stderr, '')
  const [session, bookmark, page] = stdout
    .replaceAll('}{', '}\n{')
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(session, { authenticated: true, user: { name: 'Ada' } })
  const [, shown = ''] = /```json\n(.*?)```/s.exec(guide) ?? []
  t.same(
    shown
      .trim()
      .split('\n')
      .map((line) => shapeOf(JSON.parse(line))),
    [session, bookmark, page].map(shapeOf),
    'the guide shows these responses',
  )
  t.match(page, { changes: [{ entity_id: bookmark.id, device_id: 'laptop', operation: 'create' }], has_more: false })
})

/** The field names and types of a value. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value !== 'object' || value === null) return value === null ? null : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, shapeOf(field)]))
}
