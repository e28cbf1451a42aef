import { spawnSync } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import { readGuides } from '../../scripts/contract/documents/guides.ts'
import type { Contract } from '../../scripts/contract/openapi.ts'
import { spawnService } from '../../scripts/development/servers/service.ts'
import vectors from '../vectors/export-file.json' with { type: 'json' }

const folder = new URL('../../docs/', import.meta.url)
const contract = openapi as unknown as Contract
const read = (name: string) => readFile(new URL(name, folder), 'utf8')

t.test('The five calls of the first guide sign in and sync', async (t) => {
  const service = await spawnService(t.testdir())
  t.teardown(() => service.stop())
  await service.ready()
  const [, script = ''] = /```sh\n(.*?)```/s.exec(await read('start.md')) ?? []
  t.equal(script.match(/\bcurl -/g)?.length, 5)
  const { stdout, stderr } = spawnSync('sh', ['-e', '-u'], {
    input: script.replaceAll('http://127.0.0.1:3000', service.url.origin),
    encoding: 'utf8',
    cwd: t.testdir({}),
  })
  t.equal(stderr, '')
  t.match(stdout, /"authenticated":true.*"encrypted_data":"AWVuY3J5cHRlZA==".*"has_more":false/s)
})

t.test('The bytes of the export file are those of the test vector', async (t) => {
  const guide = await read('encryption.md')
  const file = Buffer.from(vectors.file, 'base64')
  const rows = [...guide.matchAll(/^([\da-f]{8}) {2}((?:[\da-f]{2} ){15}[\da-f]{2})/gm)]
  t.equal(rows.length, 4)
  for (const [row, offset = '', bytes = ''] of rows) {
    const start = Number.parseInt(offset, 16)
    t.equal(bytes.replaceAll(' ', ''), file.subarray(start, start + 16).toString('hex'), row)
  }
  t.equal(Number.parseInt(rows.at(-1)?.[1] ?? '', 16) + 16, file.length, 'the tag ends the file')
  t.ok(guide.includes(vectors.export_key) && guide.includes(vectors.prefix))
  const [, begin = ''] = /plaintext begins with\n+```json\n(.*)\n```/.exec(guide) ?? []
  t.ok(begin.length > 30 && vectors.json.startsWith(begin))
  t.ok(guide.includes(`${file.length.toLocaleString('en')} bytes`) && guide.includes('1,943 bytes of ciphertext'))
  t.equal(Buffer.byteLength(vectors.json), 1943)
})

t.test('Every error text of the contract is in the guide to errors', async (t) => {
  const guide = await read('errors.md')
  const texts = new Set<string>()
  JSON.stringify(openapi, (key, value) => {
    if (key === 'error' && Array.isArray(value?.enum)) for (const text of value.enum) texts.add(text)
    if ((key === 'x-invalid' || key === 'x-not-found') && typeof value === 'string') texts.add(value)
    return value
  })
  t.ok(texts.size > 25, `${texts.size} texts`)
  t.same(
    [...texts].filter((text) => !guide.includes(`\`${text}\``)),
    [],
  )
})

t.test('A link to what is nowhere, and a guide that nobody ordered, stop the build', async (t) => {
  const copy = await mkdtemp(join(tmpdir(), 'ebs-guides-'))
  t.teardown(() => rm(copy, { recursive: true, force: true }))
  await cp(folder, copy, { recursive: true })
  const guides = pathToFileURL(`${copy}/`)
  await t.resolves(readGuides(guides, contract))
  for (const link of ['#operation/nothing', 'nothing.md', 'sync.md#nothing']) {
    await writeFile(join(copy, 'limits.md'), `# Limits\n\n[x](${link})\n`)
    await t.rejects(readGuides(guides, contract), { message: `docs/limits.md has a link to ${link}, which is nowhere` })
  }
  await writeFile(join(copy, 'limits.md'), '# Limits\n')
  await writeFile(join(copy, 'more.md'), '# More\n')
  await t.rejects(readGuides(guides, contract), /docs\/more\.md/)
})
