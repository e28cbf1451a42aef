import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import { readGuides } from '../../scripts/contract/documents/guides.ts'
import type { Contract } from '../../scripts/contract/openapi.ts'
import { listedErrors } from '../../scripts/contract/texts.ts'
import vectors from '../vectors/export-file.json' with { type: 'json' }

const folder = new URL('../../docs/', import.meta.url)
const contract = openapi as unknown as Contract
const read = (name: string) => readFile(new URL(name, folder), 'utf8')

t.test('The bytes of the export file are those of the test vector', async (t) => {
  const guide = await read('encryption.md')
  const file = Buffer.from(vectors.file, 'base64')
  const rows = [...guide.matchAll(/^([\da-f]{8}) {2}((?:[\da-f]{2} ){15}[\da-f]{2})/gm)]
  t.equal(rows.length, 4)
  const shown = rows.map(
    ([, offset = '', bytes = '']) => [Number.parseInt(offset, 16), bytes.replaceAll(' ', '')] as const,
  )
  t.same(
    shown,
    shown.map(([start]) => [start, file.subarray(start, start + 16).toString('hex')]),
  )
  t.equal(Number(shown.at(-1)?.[0]) + 16, file.length, 'the tag ends the file')
  t.ok(guide.includes(vectors.export_key) && guide.includes(vectors.prefix))
  const [, begin = ''] = /plaintext begins with\n+```json\n(.*)\n```/.exec(guide) ?? []
  t.ok(begin.length > 30 && vectors.json.startsWith(begin))
  t.ok(guide.includes(`${file.length.toLocaleString('en')} bytes`) && guide.includes('1,943 bytes of ciphertext'))
  t.equal(Buffer.byteLength(vectors.json), 1943)
})

t.test('The guide to versioning says what each major version demands of those who use a client', async (t) => {
  const guide = await read('versioning.md')
  const majors = Array.from({ length: Number.parseInt(openapi.info.version, 10) - 1 }, (_, index) => index + 1)
  t.same(
    majors.filter((major) => !guide.includes(`\n## From ${major} to ${major + 1}\n`)),
    [],
  )
})

t.test('Every error text of the contract is in the guide to errors', async (t) => {
  const { http } = await readGuides(folder, contract)
  const rows = http.split('\n').filter((line) => /^\| [45]\d\d \| `/.test(line))
  const errors = listedErrors(contract)
  t.ok(errors.length > 25, `${errors.length} texts`)
  t.same(
    errors.filter(
      ({ status, text, remedy }) =>
        !rows.some(
          (row) => row.startsWith(`| ${status} |`) && row.includes(`\`${text}\``) && row.endsWith(`| ${remedy} |`),
        ),
    ),
    [],
  )
})

t.test('A broken link, and a guide without a place in the order, stop the build', async (t) => {
  const copy = await mkdtemp(join(tmpdir(), 'ebs-guides-'))
  t.teardown(() => rm(copy, { recursive: true, force: true }))
  await cp(folder, copy, { recursive: true })
  const guides = pathToFileURL(`${copy}/`)
  await t.resolves(readGuides(guides, contract))
  for (const link of ['../openapi.yaml#operation/nothing', '#nothing', 'nothing.md', 'sync.md#nothing']) {
    await writeFile(join(copy, 'limits.md'), `# Limits\n\n[x](${link})\n`)
    await t.rejects(readGuides(guides, contract), { message: `docs/limits.md has a link to ${link}, which is nowhere` })
  }
  await writeFile(join(copy, 'limits.md'), '# Limits\n')
  await writeFile(join(copy, 'operating/backups.md'), '# Backups\n\n[x](../nothing.md)\n')
  await t.rejects(readGuides(guides, contract), {
    message: 'docs/operating/backups.md has a link to ../nothing.md, which is nowhere',
  })
  await writeFile(join(copy, 'operating/backups.md'), '# Backups\n\n## Copies\n\n[a](#copies) [b](../limits.md)\n')
  t.match(
    (await readGuides(guides, contract)).operating,
    '[a](#section/Backups/Copies) [b](./#section/Limits)',
    'links lead to the page of their guide',
  )
  await writeFile(join(copy, 'more.md'), '# More\n')
  await t.rejects(readGuides(guides, contract), /docs\/more\.md/)
})
