import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { createReport } from '../scripts/demo/play.ts'
import { playStory } from '../scripts/demo/story.ts'
import { spawnService } from '../scripts/servers/service.ts'
import { bundleCache, bundleMain } from '../scripts/test/build.ts'
import type { Schemas } from '../src/service/contract/schemas.ts'
import { bookmarksIn, FILES, readSample, sequenceOf } from './client/bookmark-file/samples.ts'
import { compileCache } from './support/compile-cache.ts'
import { deep, isDeep } from './support/depth.ts'
import { startProxy, type Tampering } from './support/tampering-proxy.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const folder = t.testdir()
const service = await spawnService(folder, bundleCache, bundleMain)
t.teardown(() => service.stop())
await service.ready()

/** Other tests read, encrypt and write every file, so in the quick depth the richest one stands for all here. */
const [first = '', ...others] = isDeep ? FILES : ['firefox_nested.htm']

t.test(`${first}, without BASE_URL: the demo starts a service of its own, and leaves nothing behind`, async (t) => {
  const folder = t.testdir({ tmp: {} })
  const TMPDIR = join(folder, 'tmp')
  const copy = join(folder, 'copy.htm')
  const { code, output, errors } = await runDemo([sample(first), copy], { TMPDIR })
  t.equal(errors, '')
  t.equal(code, 0)
  const [title, , ...lines] = output.split('\n')
  t.match(title, new RegExp(`^${first} on http://127\\.0\\.0\\.1:\\d+$`))
  t.same(lines.splice(-5), ['', 'No difference.', `Written: ${copy}`, 'The same in a browser: npm start', ''])
  expectStory(t, first, lines, readFileSync(copy, 'utf8'))
  await t.rejects(fetch(originIn(output)), 'its service has stopped')
  t.same(readdirSync(TMPDIR), [])
})

for (const name of others) {
  t.test(`The demo plays its whole story with ${name}`, async (t) => {
    const { steps, copy } = await play(t, sample(name))
    expectStory(t, name, steps, copy)
  })
}

deep(t, 'A demo that is stopped in the middle stops its service, too', async (t) => {
  const TMPDIR = t.testdir()
  const demo = startDemo([sample('shaarli.htm')], { TMPDIR })
  // The line is undefined if the demo ends by itself.
  const { value: line } = await demo.stdout.iterator({ destroyOnReturn: false }).next()
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

/** The deep test of a failing demo in a separate process uses this one, too. */
const withheld = {
  by: { ...pulls, alter: json<PullResponse>(({ changes }) => changes.splice(1, 1)) },
  says: 'FAILED at 7\\. It pulls, decrypts and compares: On the phone: ".+" is missing',
}

const tamperings: Record<string, { by: Tampering; says: string }> = {
  'a record that is withheld': withheld,
  'records that are swapped': {
    by: { ...pulls, alter: json<PullResponse>(({ changes: [one, other] }) => swap(one, other, 'encrypted_data')) },
    says: 'FAILED at 7\\. .*: Record \\S+ cannot be decrypted as bookmark: it was altered, .*',
  },
  'a record whose hash is altered': {
    by: { ...pulls, alter: json<PullResponse>(({ changes: [one] }) => one && Object.assign(one, { data_hash: 'x' })) },
    says: 'FAILED at 7\\. .*: Record \\S+ has a data_hash that is not the hash of its content',
  },
  'a conflict that is not reported': {
    by: {
      ...pushes,
      alter: json<PushResponse>((answer) => {
        const ids = answer.conflicts.map(({ event_id }) => event_id)
        if (ids.length > 0) Object.assign(answer, { accepted: 1, accepted_ids: ids, conflicts: [] })
      }),
    },
    says: "FAILED at 9\\. .*: The phone's accepted edits is 1 instead of 0",
  },
  'an overwritten version that is not flagged': {
    by: { ...pulls, alter: events((event) => Object.assign(event, { conflict_resolved: false })) },
    says: 'FAILED at 10\\. .*: Its conflict_resolved is false instead of true',
  },
  'an overwritten version that is not named': {
    by: { ...pulls, alter: events((event) => delete event.overwritten) },
    says: 'FAILED at 10\\. .*: What the phone is told is \\[\\] instead of .*',
  },
  'a backup with one flipped bit': {
    by: {
      ...downloads,
      alter(file) {
        file.writeUInt8(file.readUInt8(1000) ^ 1, 1000)
        return file
      },
    },
    says: 'FAILED at 13\\. A backup is made and downloaded: .*damaged.*',
  },
}

/** A run plays the story up to the tampering: in the quick depth, at step 7. The client's tests find the others. */
const played = Object.entries(tamperings).filter((_, index) => isDeep || index < 2)
for (const [what, { by, says }] of played) {
  t.test(`The demo notices ${what}`, async (t) => {
    const baseUrl = new URL(await startProxy(t, service.url, by))
    await t.rejects(play(t, sample('netscape_nested.htm'), baseUrl), { message: new RegExp(`^${says}$`) })
  })
}

for (const [what, file, says] of [
  ['is missing', 'missing.htm', /^FAILED at 3\. It reads the file: ENOENT.*missing\.htm.*$/],
  ['is not a bookmark file', 'package.json', /^FAILED at 3\. .*: This is not a bookmark file$/],
] as const) {
  t.test(`The demo says that the file ${what}`, async (t) => {
    await t.rejects(play(t, join(root, file)), { message: says })
  })
}

t.test('The demo says that nothing responds at BASE_URL', async (t) => {
  const nobody = new URL('http://127.0.0.1:1')
  await t.rejects(play(t, sample('shaarli.htm'), nobody), { message: /^FAILED at 1\. .*: fetch failed: .*$/ })
})

deep(t, 'A failing demo prints one clear line and exits with 1', async (t) => {
  const BASE_URL = await startProxy(t, service.url, withheld.by)
  const withholding = await runDemo([sample('netscape_nested.htm')], { BASE_URL })
  t.match(withholding, { code: 1, errors: new RegExp(`^${withheld.says}\n$`) })
})

function sample(name: string): string {
  return join(root, 'test/fixtures/bookmarks', name)
}

/** The story in this process, as `npm run demo` prints it. */
async function play(t: Test, file: string, baseUrl = service.url): Promise<{ steps: string[]; copy: string }> {
  const steps: string[] = []
  const copy = join(t.testdir(), 'copy.htm')
  await playStory(
    { baseUrl, file, copy },
    createReport((line) => steps.push(line)),
  )
  return { steps, copy: readFileSync(copy, 'utf8') }
}

function expectStory(t: Test, name: string, steps: string[], copy: string): void {
  const items = readSample(name).match(/<(a|h3|hr)[\s>]/gi)?.length
  t.match(steps, [
    /^ 1\. The laptop signs in through the provider's page .* user \S+$/,
    /^ 2\. It makes a keyring and registers the export key .* recovery code \S+$/,
    /^ 3\. It reads the file .* links: \d+/,
    new RegExp(`^ 4\\. It encrypts and imports .* records: ${items}, characters of ciphertext: \\d+, requests: 1$`),
    /^ 5\. The phone signs in, with cookies of its own .* user \S+$/,
    /^ 6\. It opens the keyring with the passphrase .* nothing else had to be brought from the laptop$/,
    new RegExp(
      `^ 7\\. It pulls, decrypts and compares .* records: ${items}, pages: [23], .* in every field: ${items}$`,
    ),
    /^ 8\. The laptop edits, the phone hears it by WebSocket .* ms from the edit to the phone$/,
    /^ 9\. .* the loser comes second .* the phone's push says: Last write wins: .* by laptop is newer$/,
    /^10\. .* the loser comes first .* flagged last_write_wins and still has ".*\(phone\)"$/,
    new RegExp(`^11\\. The laptop undoes it all, the phone pulls .* on both: ${items}$`),
    /^12\. Tab groups and history go along .* the visits of both devices to one page$/,
    /^13\. A backup is made and downloaded .* bytes: \d+$/,
    new RegExp(`^14\\. It is opened .* in every field: ${items}$`),
    new RegExp(`^15\\. It is written back as a bookmark file .* in the same sequence: ${items}$`),
    /^16\. Both devices sign out /,
  ])
  t.equal(steps.length, 16)
  t.same(sequenceOf(bookmarksIn(copy)), sequenceOf(bookmarksIn(readSample(name))))
}

function startDemo(args: string[], env: Record<string, string>): ChildProcessByStdio<null, Readable, Readable> {
  return spawn(process.execPath, [join(root, 'scripts/demo.ts'), ...args], {
    env: { ...compileCache, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function runDemo(args: string[], env: Record<string, string>) {
  const demo = startDemo(args, env)
  const [output, errors, [code]] = await Promise.all([text(demo.stdout), text(demo.stderr), once(demo, 'exit')])
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

function events(alter: (event: PullResponse['changes'][number]) => unknown): Tampering['alter'] {
  return json<PullResponse>(({ changes }) => changes.map(alter))
}

function swap<T extends object>(one: T | undefined, other: T | undefined, field: keyof T): void {
  if (one && other) [one[field], other[field]] = [other[field], one[field]]
}
