/** Bookmarks that a faulty program keeps overwriting can be restored: the shortest-lived versions are erased. */
import t from 'tap'
import { quotas } from '../../generated/limits.ts'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { countUsage, usage } from '../support/usage.ts'

type Version = Schemas['Version']
type Change = Schemas['Change']

const [minuteMs, hourMs] = [60_000, 3_600_000]
const dayMs = 24 * hourMs
const { versionsOfRecord, newestVersionsOfRecord } = quotas
const app = await buildApp(t)
let people = 0

/** A different user for each test, with a clock of their own. */
async function open() {
  const name = `ada ${++people}`
  let now = Date.now() - 20 * dayMs
  app.setClock(now)
  const after = (ms: number) => {
    now += ms
    app.setClock(now)
    return now
  }
  const state = { user: await app.user(name) }
  const call: TestUser['call'] = (...request) => state.user.call(...request)
  /** Signs in again, because sessions end after a week. */
  const signIn = async () => {
    state.user = await app.user(name)
  }
  const push = async (changes: object[]) => {
    for (let from = 0; from < changes.length; from += 500) {
      const batch = changes.slice(from, from + 500)
      const { status, body } = await call('POST', '/api/v1/sync/push', { body: { changes: batch } })
      if (status !== 200) throw new Error(`push answered ${status} ${JSON.stringify(body)}`)
    }
  }
  /** Edits each of these bookmarks now. */
  const edit = (ids: string[], text: string, fields: object = {}) =>
    push(
      ids.map((id) => change({ entity_id: id, operation: 'update', timestamp: now, ...content(text, id), ...fields })),
    )
  const versions = async (id: string): Promise<Version[]> =>
    (await call('GET', `/api/v1/bookmarks/${id}/versions?limit=1000`)).body.versions
  const rewind = async (to: number, dry_run: boolean) =>
    (await call('POST', '/api/v1/sync/rewind', { body: { to, dry_run } })).body
  const textOf = async (id: string) => (await call('GET', `/api/v1/bookmarks/${id}`)).body.encrypted_data
  return { call, signIn, after, edit, push, versions, rewind, textOf, userId: state.user.userId, now: () => now }
}

type Opened = Awaited<ReturnType<typeof open>>

const content = (text: string, id: string) => ({
  encrypted_data: `${text} of ${id}`,
  data_hash: `hash of ${text} of ${id}`,
})
const isJunk = ({ encrypted_data = '' }: Version) => encrypted_data.startsWith('junk')
const texts = (versions: Version[]) => versions.flatMap(({ encrypted_data }) => encrypted_data ?? [])

/** The texts of a bookmark. `typo` was current for some seconds, `lost` never, and `third` is current. */
const story = ['first', 'typo', 'lost', 'second', 'third'] as const

async function live({ after, edit, signIn }: Opened, ids: string[]): Promise<void> {
  await edit(ids, 'first', { operation: 'create' })
  after(2 * dayMs)
  await edit(ids, 'typo')
  after(5000)
  await edit(ids, 'second')
  await edit(ids, 'lost', { timestamp: 1, device_id: 'tablet' })
  after(3 * dayMs)
  await edit(ids, 'third')
  after(3 * dayMs)
  await signIn()
}

const attacks: Record<string, (person: Opened, ids: string[]) => Promise<void>> = {
  async 'pushes of edits'({ after, edit }, ids) {
    for (let n = 0; n < 52; n++) {
      after(60)
      await edit(ids, `junk ${n}`)
    }
  },
  async 'pushes of losing edits'({ after, push, now }, ids) {
    for (let n = 0; n < 4; n++) {
      after(60)
      await push(
        ids.flatMap((entity_id) =>
          Array.from({ length: 60 }, (_, lost) =>
            change({ entity_id, operation: 'update', timestamp: 2 + lost, ...content(`junk ${n} ${lost}`, entity_id) }),
          ),
        ),
      )
    }
    await push(ids.map((entity_id) => change({ entity_id, timestamp: now(), ...content('junk', entity_id) })))
  },
  async 'deletes and undeletes'({ after, edit, push, now }, ids) {
    for (let n = 0; n < 40; n++) {
      after(60)
      await push(ids.map((entity_id) => change({ entity_id, operation: 'delete', timestamp: now() })))
      after(60)
      await edit(ids, `junk ${n}`)
    }
  },
  async 'pushes with the ids and hashes of existing versions'({ after, versions, push, call, now }, ids) {
    const current = (await pullAll({ call })).changes
    const there = await Promise.all(ids.map(versions))
    const junk = (one: Pick<Change, 'id' | 'entity_id' | 'data_hash'>, timestamp: number) => {
      const content = { encrypted_data: 'junk', data_hash: one.data_hash ?? '' }
      return change({
        ...content,
        id: one.id,
        entity_id: one.entity_id,
        operation: 'update',
        timestamp,
        device_id: 'thief',
      })
    }
    // Losing changes become versions at once, that is before the current version does.
    await push([...there.flat().map((one) => ({ ...one, id: one.version_id })), ...current].map((one) => junk(one, 2)))
    for (const mark of ['', '~001']) {
      after(minuteMs)
      await push(current.map((one) => junk({ ...one, id: `${one.id}${mark}` }, now())))
    }
  },
}

for (const [how, attack] of Object.entries(attacks)) {
  t.test(`${how}, more than versions are kept: each earlier version can be restored`, async (t) => {
    const person = await open()
    const { rewind, versions, textOf, after, call } = person
    const ids = Array.from({ length: depth(20, 500) }, (_, index) => `x${index}`)
    await live(person, ids)
    const before = person.now()
    const { cursor } = await pullAll({ call })
    await attack(person, ids)
    t.same(await usage(app.context, person.userId), await countUsage(app.context, person.userId))
    after(minuteMs)
    t.match(await textOf('x3'), /^junk/)
    for (const id of ids.slice(0, 20)) {
      const kept = await versions(id)
      t.ok(kept.length <= versionsOfRecord)
      const expected = story.map((text) => `${text} of ${id}`)
      t.same(texts(kept.filter((version) => !isJunk(version))).sort(), expected.sort())
    }
    const all = { restored: ids.length, deleted: 0, unchanged: 0, beyond_retention: 0, next: null }
    for (const to of [cursor, before - dayMs, before - 4 * dayMs, before - 7 * dayMs])
      t.same(await rewind(to, true), all, 'a rewind to any earlier time')
    for (const version of (await versions('x3')).filter((one) => !isJunk(one))) {
      const { version_id, encrypted_data } = version
      const { body } = await call('POST', '/api/v1/bookmarks/x3/restore', { body: { version_id } })
      t.equal(body.encrypted_data, encrypted_data)
    }
    after(minuteMs)
    t.same(await rewind(before, false), all)
    for (const id of ids.slice(0, 20)) t.equal(await textOf(id), `third of ${id}`)
    t.same(await usage(app.context, person.userId), await countUsage(app.context, person.userId))
  })
}

t.test('A rewind to a time whose versions were erased leaves the bookmark unchanged, and reports it', async (t) => {
  const person = await open()
  const { after, edit, rewind, versions, textOf } = person
  await edit(['x', 'y'], 'first', { operation: 'create' })
  for (let n = 0; n < 70; n++) {
    after(minuteMs)
    await edit(['x'], `edit ${n}`)
  }
  const kept = (await versions('x')).toReversed()
  const gap = kept.findIndex(({ ended }, index) => ended !== kept[index + 1]?.began)
  const [from, until] = [kept[gap]?.ended as number, kept[gap + 1]?.began as number]
  t.ok(until > from + minuteMs, 'the versions have a gap')
  const nothing = { restored: 0, deleted: 0, unchanged: 1, beyond_retention: 0, next: null }
  for (const to of [from, from + 1, until - 1])
    for (const isDry of [true, false]) t.same(await rewind(to, isDry), { ...nothing, beyond_retention: 1 })
  t.equal(await textOf('x'), 'edit 69 of x')
  for (const [to, text] of [
    [until, kept[gap + 1]?.encrypted_data],
    [from - 1, kept[gap]?.encrypted_data],
  ] as const) {
    after(minuteMs)
    t.same(await rewind(to, false), { ...nothing, restored: 1 })
    t.equal(await textOf('x'), text)
  }
})

t.test('The newest versions are kept even if they were current briefly, so recent edits can be undone', async (t) => {
  const person = await open()
  const { after, edit, versions, call, textOf } = person
  await edit(['x'], 'first', { operation: 'create' })
  for (let n = 0; n < 60; n++) {
    after(2 * hourMs)
    await edit(['x'], `long ${n}`)
  }
  for (let n = 0; n < 12; n++) {
    after(1000)
    await edit(['x'], `quick ${n}`)
  }
  const kept = await versions('x')
  t.equal(kept.length, versionsOfRecord)
  const newest = Array.from({ length: newestVersionsOfRecord }, (_, index) => `quick ${10 - index} of x`)
  t.same(texts(kept).slice(0, newestVersionsOfRecord), newest)
  await call('POST', '/api/v1/bookmarks/x/restore', { body: {} })
  t.equal(await textOf('x'), 'quick 10 of x')
})

t.test('A version current for 19 hours survives 30 days of edits that each are current as long', async (t) => {
  const person = await open()
  const { after, edit, versions, signIn } = person
  await edit(['x', 'y'], 'first', { operation: 'create' })
  after(19 * hourMs)
  await edit(['x'], 'junk')
  await edit(['y'], 'brief')
  after(minuteMs)
  await edit(['y'], 'junk')
  for (let hours = 0; hours < 700; hours += 18) {
    after(18 * hourMs)
    await signIn()
    await edit(['x'], `junk ${hours}`)
    if (hours < 18 * 38) await edit(['y'], `junk ${hours}`)
  }
  for (let n = 0; n < 20; n++) await edit(['x'], `junk ${n}`)
  t.equal(texts(await versions('x')).at(-1), 'first of x')
  t.same(
    texts(await versions('y')).slice(-2),
    ['brief of y', 'first of y'],
    '39 edits of over an hour each do not erase it',
  )
})

t.test('Junk erases no existing versions until it has filled the quota', async (t) => {
  const records = 20
  const small = await buildApp(t, { MAX_USER_BYTES: '1000000' })
  const start = Date.now() - dayMs
  small.setClock(start)
  const ada = await small.user('ada')
  const ids = Array.from({ length: records }, (_, index) => `x${index}`)
  const pushTexts = (texts: (id: string) => string, now: number) => {
    small.setClock(now)
    const changes = ids.map((entity_id) =>
      change({ entity_id, timestamp: now, encrypted_data: texts(entity_id), data_hash: `${now}` }),
    )
    return push(ada, ...changes)
  }
  await pushTexts((id) => `first of ${id}`, start)
  const isThere = async () => {
    const { versions } = (await ada.call('GET', '/api/v1/bookmarks/x0/versions?limit=1000')).body
    return texts(versions).includes('first of x0')
  }
  const rounds: boolean[] = []
  for (let round = 1; round <= 12; round++) {
    await pushTexts(() => 'j'.repeat(5000), start + dayMs / 2 + round * 60)
    rounds.push(await isThere())
  }
  // Each round stores 20 times 5,512 bytes.
  t.same(rounds.indexOf(false), 8)
})
