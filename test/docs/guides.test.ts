import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import type { Contract } from '../../scripts/contract/openapi.ts'
import { listedErrors } from '../../scripts/contract/texts.ts'
import { readApi } from '../../scripts/docs/api.ts'
import { linksBetween, readGuides, withLinks } from '../../scripts/docs/guides.ts'
import vectors from '../vectors/export-file.json' with { type: 'json' }
import saved from '../vectors/saved-backup.json' with { type: 'json' }

const root = new URL('../../', import.meta.url)
const contract = openapi as unknown as Contract
const api = readApi()
const read = (name: string) => readFile(new URL(`docs/${name}`, root), 'utf8')

/** The rows of 16 bytes of the hex dump in a guide, as offset and bytes. */
function dumpedIn(guide: string) {
  const rows = [...guide.matchAll(/^([\da-f]{8}) {2}((?:[\da-f]{2} ){15}[\da-f]{2})/gm)]
  return rows.map(([, offset = '', bytes = '']) => [Number.parseInt(offset, 16), bytes.replaceAll(' ', '')] as const)
}

t.test("The guide's bytes of an export file and a saved backup match the test vectors", async (t) => {
  const [guide = '', ofBackup = ''] = (await read('encryption.md')).split('## A saved backup')
  const file = Buffer.from(vectors.file, 'base64')
  const shown = dumpedIn(guide)
  t.equal(shown.length, 4)
  for (const [rows, bytes] of [
    [shown, file],
    [dumpedIn(ofBackup), Buffer.from(saved.file, 'base64')],
  ] as const) {
    t.same(
      rows,
      rows.map(([start]) => [start, bytes.subarray(start, start + 16).toString('hex')]),
    )
  }
  const [head, keyring, checksum, exported] = dumpedIn(ofBackup).map(([start]) => start)
  t.same([head, keyring, exported], [0, 8 + saved.user_id.length, Number(checksum) + 32])
  t.ok(ofBackup.includes(`SHA-256 of the ${checksum} bytes`))
  t.equal(Number(shown.at(-1)?.[0]) + 16, file.length, 'the tag ends the file')
  t.ok(guide.includes(vectors.export_key) && guide.includes(vectors.prefix))
  const [, begin = ''] = /plaintext begins with\n+```json\n(.*)\n```/.exec(guide) ?? []
  t.ok(begin.length > 30 && vectors.json.startsWith(begin))
  t.ok(guide.includes(`${file.length.toLocaleString('en')} bytes`) && guide.includes('1,943 bytes of ciphertext'))
  t.equal(Buffer.byteLength(vectors.json), 1943)
})

t.test('The guide to versioning says what each major version requires of client users', async (t) => {
  const guide = await read('versioning.md')
  const majors = Array.from({ length: Number.parseInt(openapi.info.version, 10) - 1 }, (_, index) => index + 1)
  t.same(
    majors.filter((major) => !guide.includes(`\n## From ${major} to ${major + 1}\n`)),
    [],
  )
})

t.test('Every error text of the contract is in the guide to errors', async (t) => {
  const guides = await readGuides(root, contract)
  const text = guides.find(({ path }) => path === 'docs/errors.md')?.text ?? ''
  const rows = text.split('\n').filter((line) => /^\| [45]\d\d \| `/.test(line))
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

t.test('A broken link, or a guide that is not in the order, stops the build', async (t) => {
  const copy = await mkdtemp(join(tmpdir(), 'ebs-guides-'))
  t.teardown(() => rm(copy, { recursive: true, force: true }))
  for (const part of ['docs', 'README.md', 'src/client/README.md', 'src/web/README.md'])
    await cp(new URL(part, root), join(copy, part), { recursive: true })
  const build = async () => {
    const guides = await readGuides(pathToFileURL(`${copy}/`), contract)
    const resolveIn = linksBetween(guides, contract, api)
    return Object.fromEntries(guides.map(({ path, text }) => [path, withLinks(text, resolveIn(path))]))
  }
  await t.resolves(build())
  for (const link of ['../openapi.yaml#operation/nothing', '#nothing', 'nothing.md', 'sync.md#nothing']) {
    await writeFile(join(copy, 'docs/limits.md'), `# Limits\n\n[x](${link})\n`)
    await t.rejects(build(), { message: `docs/limits.md has a link to ${link}, which is nowhere` })
  }
  await writeFile(join(copy, 'docs/limits.md'), '# Limits\n')
  const backups =
    '# Backups\n\n## Copies\n\n[a](#copies) [b](../limits.md) [c](../../openapi.yaml#operation/pullChanges) [d](../../src/service/app.ts)\n\n## Postgres\n\n## One account\n'
  await writeFile(join(copy, 'docs/operating/backups.md'), backups)
  t.match(
    (await build())['docs/operating/backups.md'],
    '[a](backups.html#copies) [b](limits.html) [c](http.html#operation/pullChanges) d\n',
    'links lead to built pages; links to other files become text',
  )
  await writeFile(join(copy, 'docs/more.md'), '# More\n')
  await t.rejects(build(), { message: 'docs/more.md is not in the order of the guides' })
})

t.test('Every entry of the client package, and every name that it exports, has a description', async (t) => {
  const names = api.flatMap(({ specifier, symbols }) => symbols.map(({ name, text }) => ({ name, specifier, text })))
  t.ok(names.length > 100, `${names.length} names`)
  t.same(
    names.filter(({ text }) => !/\w\W*$/.test(text)),
    [],
  )
  t.same(
    api.filter(({ text }) => text === ''),
    [],
  )
  const error = api.flatMap(({ symbols }) => symbols).find(({ name }) => name === 'RecordError')
  t.match(error, { code: 'class RecordError extends Error', members: [{ code: 'readonly fault: RecordFault' }] })
  const calls = api.find(({ name }) => name === '/calls')
  t.match(
    calls?.elsewhere.find(({ name }) => name === 'SendRequest'),
    { page: 'api.html' },
  )
})

t.test('The changelog has a section for the version of the contract, before those of earlier ones', async (t) => {
  const versions = (await readFile(new URL('CHANGELOG.md', root), 'utf8')).match(/(?<=^## )\S+$/gm) ?? []
  t.equal(versions[0], openapi.info.version)
  t.same(
    versions,
    versions.toSorted((one, other) => other.localeCompare(one, 'en', { numeric: true })),
  )
})
