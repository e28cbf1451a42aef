import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { spawnService } from '../scripts/demo/service.ts'
import { readBookmarkFile } from '../src/client/bookmark-file/read.ts'
import type { Schemas } from '../src/contract/schemas.ts'
import { FILES, readSample, sequenceOf } from './client/bookmark-file/samples.ts'
import { startProxy, type Tampering } from './support/tampering-proxy.ts'

// The runner's own limit is for the whole file; a file run alone would have 30 s.
t.setTimeout(240_000)
const root = new URL('../', import.meta.url)
const folder = t.testdir()
const service = await spawnService(folder)
t.teardown(() => service.stop())
await service.ready()

for (const name of FILES) {
  t.test(`${name}: from the file to the second device, through conflicts, into the backup and back`, async (t) => {
    const copy = join(t.testdir(), 'copy.htm')
    const { code, output, errors } = await runDemo([sample(name), copy], { BASE_URL: service.url.origin })
    t.equal(errors, '')
    t.equal(code, 0)
    const items = readSample(name).match(/<(a|h3|hr)[\s>]/gi)?.length
    t.match(output, new RegExp(`It encrypts and imports .* records: ${items},`))
    t.match(output, new RegExp(`It pulls, decrypts and compares .* records: ${items}, .* in every field: ${items}\\n`))
    t.match(output, /by WebSocket .* ms from the edit to the phone/)
    t.match(output, /the loser comes second .* the phone's push says: Last write wins: .* by laptop is newer/)
    t.match(output, /the loser comes first .* flagged last_write_wins and still has ".*\(phone\)"/)
    t.match(output, new RegExp(`An export is made .* bookmarks: ${items}, bytes: `))
    t.match(output, /16\. Both devices sign out .*\n\nNo difference\.\n$/)
    t.same(sequenceOf(readBookmarkFile(readFileSync(copy, 'utf8'))), sequenceOf(readBookmarkFile(readSample(name))))
  })
}

t.test('Without BASE_URL it starts a service of its own, and leaves nothing behind', async (t) => {
  const TMPDIR = t.testdir()
  const { code, output, errors } = await runDemo([sample('shaarli.htm')], { TMPDIR })
  t.equal(errors, '')
  t.equal(code, 0)
  await t.rejects(fetch(originIn(output)), 'its service has stopped')
  t.same(readdirSync(TMPDIR), [])
})

t.test('Stopped in the middle, it stops its service too', async (t) => {
  const TMPDIR = t.testdir()
  const demo = startDemo([sample('shaarli.htm')], { TMPDIR })
  const [line] = await once(demo.stdout as NonNullable<ChildProcess['stdout']>, 'data')
  demo.kill('SIGTERM')
  t.same(await once(demo, 'exit'), [1, null])
  await t.rejects(fetch(originIn(String(line))), 'its service has stopped')
  t.same(readdirSync(TMPDIR), [])
})

type PullResponse = Schemas['PullResponse']
type PushResponse = Schemas['PushResponse']

const pulls = { method: 'POST', path: '/api/v1/sync/pull' }
const pushes = { method: 'POST', path: '/api/v1/sync/push' }
const downloads = { method: 'GET', path: '/api/v1/exports/' }

const tamperings: Record<string, { by: Tampering; says: RegExp }> = {
  'records that are swapped': {
    by: { ...pulls, alter: json<PullResponse>(({ changes: [one, other] }) => swap(one, other, 'encrypted_data')) },
    says: /^FAILED at 4\. It encrypts and imports: Record \S+ does not open as bookmark: it was altered, .*\n$/,
  },
  'a record that is withheld': {
    by: { ...pulls, alter: json<PullResponse>(({ changes }) => changes.splice(1, 1)) },
    says: /^FAILED at 7\. It pulls, decrypts and compares: On the phone: ".+" is missing\n$/,
  },
  'a record whose hash is altered': {
    by: { ...pulls, alter: json<PullResponse>(({ changes: [one] }) => one && Object.assign(one, { data_hash: 'x' })) },
    says: /^FAILED at 4\. It encrypts and imports: Record \S+ has a data_hash that is not the hash of its content\n$/,
  },
  'a conflict that is hushed up': {
    by: {
      ...pushes,
      alter: json<PushResponse>((answer) => Object.assign(answer, { accepted: 1, conflicts: [] })),
    },
    says: /^FAILED at 9\. .*: The phone's accepted edits is 1 instead of 0\n$/,
  },
  'an overwritten version that is not flagged': {
    by: {
      ...pulls,
      alter: json<PullResponse>(({ changes }) =>
        changes.map((event) => Object.assign(event, { conflict_resolved: false })),
      ),
    },
    says: /^FAILED at 10\. .*: The event that overwrote the phone is missing instead of ".+"\n$/,
  },
  'an export with one flipped bit': {
    by: {
      ...downloads,
      alter(file) {
        file.writeUInt8(file.readUInt8(1000) ^ 1, 1000)
        return file
      },
    },
    says: /^FAILED at 13\. It is downloaded and opened: .*damaged.*\n$/,
  },
}

for (const [what, { by, says }] of Object.entries(tamperings)) {
  t.test(`It notices ${what}, and exits 1`, async (t) => {
    const BASE_URL = await startProxy(t, service.url, by)
    const { code, errors } = await runDemo([sample('netscape_nested.htm')], { BASE_URL })
    t.match(errors, says)
    t.equal(code, 1)
  })
}

for (const [what, args, says] of [
  ['no file is named', [], /^Usage: npm run demo -- FILE\.htm \[COPY\.htm\]\n$/],
  ['the file is missing', ['missing.htm'], /^FAILED at 3\. It reads the file: ENOENT.*missing\.htm.*\n$/],
  ['the file is no bookmark file', ['package.json'], /^FAILED at 3\. .*: This is not a bookmark file: .*\n$/],
] as const) {
  t.test(`One clear line when ${what}`, async (t) => {
    const { code, errors } = await runDemo([...args], { BASE_URL: service.url.origin })
    t.match(errors, says)
    t.equal(code, 1)
  })
}

t.test('One clear line when nobody answers at BASE_URL', async (t) => {
  const { code, errors } = await runDemo([sample('shaarli.htm')], { BASE_URL: 'http://127.0.0.1:1' })
  t.match(errors, /^FAILED at 1\. .*: fetch failed: .*\n$/)
  t.equal(code, 1)
})

function sample(name: string): string {
  return `test/fixtures/bookmarks/${name}`
}

function startDemo(args: string[], env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, ['scripts/demo.ts', ...args], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
}

async function runDemo(args: string[], env: Record<string, string>) {
  const demo = startDemo(args, env)
  const [output, errors, [code]] = await Promise.all([
    text(demo.stdout as NonNullable<ChildProcess['stdout']>),
    text(demo.stderr as NonNullable<ChildProcess['stderr']>),
    once(demo, 'exit'),
  ])
  return { code: code as number, output, errors }
}

function originIn(output: string): string {
  return /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0] ?? 'no origin'
}

function json<Body>(alter: (body: Body) => unknown): Tampering['alter'] {
  return (bytes) => {
    const body = JSON.parse(bytes.toString()) as Body
    alter(body)
    return JSON.stringify(body)
  }
}

function swap<T extends object>(one: T | undefined, other: T | undefined, field: keyof T): void {
  if (one && other) [one[field], other[field]] = [other[field], one[field]]
}
