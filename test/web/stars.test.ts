import type { ServerResponse } from 'node:http'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { createClient, createSync, deriveKeys, memoryStore, type Sync } from '../../src/client/index.ts'
import { startService } from '../../src/service/testing.ts'
import { GitHubError, readStarFile, readStars, type Star } from '../../src/web/stars/github.ts'
import { idOf, missingStars, storeStars, withoutUser } from '../../src/web/stars/stars.ts'
import { depth } from '../support/depth.ts'
import { type GitHub, repository, starred, startGitHub } from '../support/github.ts'

const github = await startGitHub(t)
const now = Date.UTC(2026, 10, 29)
const day = 86_400_000

/** The waits of the last import in ms. In this test they take no time. */
let waits: number[] = []

const clock = {
  now: () => now,
  async sleep(ms: number) {
    waits.push(ms)
  },
}

async function read(user: string, { token, signal }: { token?: string; signal?: AbortSignal } = {}) {
  const stars: Star[] = []
  const until: number[] = []
  waits = []
  const source = { apiUrl: github.apiUrl, user, token, signal: signal ?? new AbortController().signal, clock }
  const pages = readStars({ ...source, onWait: (time) => until.push(time) })
  for (;;) {
    const { done, value } = await pages.next()
    if (done) return { stars, until, isComplete: value }
    stars.push(...value.stars)
  }
}

/** Returns the fault of an import whose next request gets this answer. */
async function faultOf(answer: GitHub['answers'][number] | undefined, user = 'ada', token?: string): Promise<unknown> {
  if (answer) github.answers.push(answer)
  return read(user, token === undefined ? {} : { token }).then(
    () => undefined,
    (error: unknown) => (error instanceof GitHubError ? error.fault : error),
  )
}

function say(status: number, headers: Record<string, string> = {}, body: unknown = { message: 'no' }) {
  return (response: ServerResponse) => response.writeHead(status, headers).end(JSON.stringify(body))
}

t.test('All pages of stars are read in order', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: depth(450, 2000) }), async (count) => {
      github.stars.set(
        'many',
        Array.from({ length: count }, (_, index) => starred(count - index)),
      )
      const { stars, isComplete } = await read('many')
      return (
        isComplete === (count !== 100) &&
        stars.length === count &&
        stars.every(({ repository: { id } }, index) => id === count - index)
      )
    }),
    { numRuns: depth(8, 50), examples: [[0], [1], [100], [101], [200]] },
  )
  t.match(await read('MANY'), { isComplete: true })
})

t.test('At a rate limit the import waits as long as GitHub says, then goes on at the same page', async (t) => {
  github.stars.set(
    'ada',
    Array.from({ length: 150 }, (_, index) => starred(150 - index)),
  )
  const reset = now / 1000 + 1200
  const limits = {
    'the hourly one': [say(403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${reset}` }), 1_201_000],
    'the same as 429': [say(429, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${reset}` }), 1_201_000],
    'a limit of parallel requests': [say(403, { 'retry-after': '30' }), 30_000],
    'without a time': [say(429), 60_000],
    'by a clock that is ahead': [say(403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1' }), 60_000],
    'longer than an hour': [say(429, { 'retry-after': '1e9' }), 3_660_000],
  } as const
  for (const [name, [answer, ms]] of Object.entries(limits)) {
    github.answers.push(answer)
    const { stars, until, isComplete } = await read('ada')
    t.match(
      { stars, isComplete, until, waits },
      { stars: { length: 150 }, isComplete: true, until: [now + ms], waits: [ms] },
      name,
    )
  }
})

t.test('Refusals by GitHub are reported by kind, and hidden or invalid entries are skipped', async (t) => {
  github.stars.set('ada', [starred(2), starred(1)])
  github.tokens.set('ada-token', 'Ada')
  t.equal(await faultOf(undefined, 'nobody'), 'no-user')
  t.equal(await faultOf(undefined, 'ada', 'stale'), 'bad-token')
  t.equal(await faultOf(undefined, 'bob', 'ada-token'), 'other-token')
  t.equal(await faultOf(say(403)), 'refused')
  const page = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Wi-Fi')
  github.answers.push(page, page)
  t.equal(await faultOf(page), 'away', 'a captive portal')
  github.answers.push(say(502), (response) => response.destroy())
  t.match(await read('ada'), { isComplete: true, stars: { length: 2 } }, 'two errors are retried')
  t.equal(
    await faultOf(say(200, { link: '<https://elsewhere.example/stars>; rel="next"' }, [])),
    'away',
    'no other host gets a request',
  )

  github.stars.set(
    'long',
    Array.from({ length: 250 }, (_, index) => starred(index + 1)),
  )
  const pages = readStars({ apiUrl: github.apiUrl, user: 'long', signal: new AbortController().signal, onWait() {} })
  await pages.next()
  github.answers.push(say(422))
  t.same(await pages.next(), { done: true, value: false }, '422 ends the list, which counts as incomplete')
  github.stars.set(
    'full',
    Array.from({ length: 100 }, (_, index) => starred(index + 1)),
  )
  github.stars.set('odd', [starred(1), { starred_at: 'x', repo: null } as never])
  t.match(await read('odd'), { isComplete: false, stars: { length: 1 } }, 'an invalid entry is skipped')
  t.match(await read('full'), { isComplete: false }, 'a full page without a Link header counts as incomplete')
  github.answers.push(say(429, { 'retry-after': '1e-9' }), say(403, { 'retry-after': '0.001' }))
  t.match([await read('ada'), waits], [{ isComplete: true }, [1000, 1000]], 'at most one request a second')
  t.match(await read('ada', { token: 'ada-token' }), { isComplete: true, stars: { length: 2 } })
  t.ok(github.requests.at(-1)?.path === '/user/starred' && github.requests.at(-1)?.isAuthorized, 'private ones, too')
  await t.rejects(read('ada', { signal: AbortSignal.abort(new Error('enough')) }), { message: 'enough' })
})

t.test('A file written by the gh tool is read in each of its forms', async (t) => {
  const [one, two] = [repository(1), repository(2)]
  const forms: Record<string, string> = {
    'one page': JSON.stringify([one, two]),
    'pages without separator': `${JSON.stringify([one])}${JSON.stringify([two])}`,
    'a page per line': `${JSON.stringify([one])}\n${JSON.stringify([two])}\n`,
    slurped: JSON.stringify([[one], [two]]),
    'with dates': JSON.stringify([starred(1), starred(2)]),
    'brackets in texts': JSON.stringify([{ ...one, description: '][ "\\' }, two]),
  }
  for (const [name, text] of Object.entries(forms)) {
    t.match(readStarFile(text), [{ repository: { id: 1 } }, { repository: { id: 2 } }], name)
  }
  t.match(readStarFile(forms['with dates'] ?? ''), [{ starredAt: '2026-01-01T00:01:00.000Z' }])
  t.same(readStarFile('[][]'), [])
  for (const text of ['', '{}', 'x', '[1', '[{"id":1}]', '[[]', '["x"]'])
    t.throws(() => readStarFile(text), SyntaxError, text)
})

const keys = deriveKeys(new Uint8Array(32).fill(7))

/** Devices of one person with these names. */
async function devices<const Names extends string[]>(
  t: Test,
  ...names: Names
): Promise<{ [Index in keyof Names]: Sync }> {
  const service = await startService()
  t.teardown(() => service.close())
  const open = async (deviceId: string) => {
    const connection = await service.connect('ada')
    const client = createClient({ ...connection, deviceId })
    const sync = createSync({ ...connection, client, keys, deviceId, store: memoryStore() })
    t.teardown(() => sync.stop())
    await sync.syncNow()
    return sync
  }
  return Promise.all(names.map(open)) as Promise<{ [Index in keyof Names]: Sync }>
}

const { apiUrl } = github
const withIds = (stars: readonly Star[]) => stars.map((star) => [idOf(keys, apiUrl, star), star] as const)

async function storeFrom(sync: Sync, user: string, time = now) {
  const { stars } = await read(user)
  return storeStars(sync, withIds(stars), { apiUrl, user }, time)
}

const starsOf = (sync: Sync) =>
  [...sync.bookmarks().values()].sort((one, other) => (one.title < other.title ? -1 : 1)).map((star) => ({ ...star }))

t.test('Two devices that import stars before the first sync have each star once', async (t) => {
  const [laptop, phone] = await devices(t, 'laptop', 'phone')
  github.stars.set('ada', [
    starred(3, { owner: null as never }),
    starred(2, { description: null, language: null }),
    starred(1),
  ])
  t.same(await storeFrom(laptop, 'Ada'), { added: 3, changed: 0 })
  t.same(await storeFrom(phone, 'ada'), { added: 3, changed: 0 })
  for (const sync of [laptop, phone, laptop]) await sync.syncNow()
  t.match(starsOf(phone), [
    {
      ...{ source: 'stars', title: 'owner/repository-1', name: 'repository-1', full_name: 'owner/repository-1' },
      ...{ url: 'https://github.example/owner/repository-1', domain: 'github.example', stargazers_count: 10 },
      ...{ description: 'Number 1', dateAdded: '2026-01-01T00:01:00.000Z' },
      owner: { login: 'owner', avatar_url: 'https://avatars.example/u/1' },
    },
    { description: null },
    { owner: undefined },
  ])
  t.same(starsOf(laptop), starsOf(phone))
  t.same([laptop.conflicts(), phone.conflicts()], [[], []])
  const seen = phone.seen()
  for (const sync of [laptop, phone])
    t.same(await storeFrom(sync, 'ADA'), { added: 0, changed: 0 }, 'a second import writes nothing')
  for (const sync of [laptop, phone]) await sync.syncNow()
  t.equal(phone.seen(), seen)
})

t.test('Changes at GitHub are imported, and fields that the person has set stay', async (t) => {
  const [sync] = await devices(t, 'laptop')
  github.stars.set('ada', [starred(1), starred(2), starred(3)])
  await storeFrom(sync, 'ada')
  const [plain = '', edited = '', counted = ''] = withIds((await read('ada')).stars).map(([id]) => id)
  const own = { title: 'Mine', description: 'My note', tags: ['work'] }
  await sync.update(edited, own)
  // Another client may have written invalid data.
  await sync.update(plain, ({ extra }) => ({ extra: { ...extra, github_users: 5 } }))
  const moved = { full_name: 'new/place', description: 'Better', stargazers_count: 7 }
  github.stars.set('ada', [starred(1, moved), starred(2, moved), starred(3, { stargazers_count: 31 })])
  t.same(await storeFrom(sync, 'ada', now + day), { added: 0, changed: 2 }, 'more stars are not an edit')
  t.match(sync.get(plain), { ...moved, title: 'new/place', name: 'place', url: 'https://github.example/new/place' })
  t.match(sync.get(edited), {
    ...own,
    full_name: 'new/place',
    stargazers_count: 7,
    url: 'https://github.example/new/place',
  })
  t.match(sync.get(counted), { stargazers_count: 30 })
  t.same(await storeFrom(sync, 'ada', now + 29 * day), { added: 0, changed: 0 })
  t.same(await storeFrom(sync, 'ada', now + 30 * day), { added: 0, changed: 1 })
  t.match(sync.get(counted), { stargazers_count: 31 })
})

t.test('Only stars of the same GitHub user count as gone, except those that the person keeps', async (t) => {
  const [sync] = await devices(t, 'laptop')
  github.stars.set('ada', [starred(1), starred(2)])
  github.stars.set('bob', [starred(2), starred(3)])
  for (const user of ['ada', 'bob']) await storeFrom(sync, user)
  const gone = (user: string, ids: string[] = []) =>
    missingStars(sync, { apiUrl, user }, new Set(ids))
      .map(({ title }) => title)
      .sort()
  t.same(gone('Ada'), ['owner/repository-1', 'owner/repository-2'])
  const [[first = ''] = []] = withIds((await read('ada')).stars)
  t.same(gone('ada', [first]), ['owner/repository-2'])
  await sync.update(first, (star) => withoutUser(star, 'Ada'))
  t.same(gone('ada'), ['owner/repository-2'])
  t.same(gone('bob'), ['owner/repository-2', 'owner/repository-3'])
  t.same(gone('carol'), [])
  const other = { apiUrl: 'https://github.example/api/v3', user: 'ada' }
  t.same(missingStars(sync, other, new Set()), [], 'stars of another server do not count')
})
