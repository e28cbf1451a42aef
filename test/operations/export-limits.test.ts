import t, { type Test } from 'tap'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import type { TestUser } from '../support/app.ts'
import { list, openIdleExports, path } from './exports-fixture.ts'

type Export = Schemas['Export']

const now = Date.UTC(2026, 10, 21)
const day = 24 * 60 * 60 * 1000
const kept = { error: 'Too many exports kept' }

const { begin } = await openIdleExports(t)

/** `finish` completes or fails each of ada's unfinished exports, as a worker would. */
async function open(t: Test) {
  const { app, ada, bob } = await begin(t)
  app.setClock(now)
  const { db } = app.context.database

  async function finish(status: 'completed' | 'failed', expires_at = now + 7 * day): Promise<void> {
    const file = { size_bytes: 100, bookmark_count: 0, expires_at }
    await db
      .updateTable('exports')
      .set(status === 'completed' ? { status, ...file } : { status })
      .where('user_id', '=', ada.userId)
      .where('status', 'in', ['pending', 'processing'])
      .execute()
  }

  /** Makes this many exports of ada. Returns them oldest first. */
  async function have(status: 'completed' | 'failed', count: number, expires_at?: number): Promise<Export[]> {
    const made: Export[] = []
    while (made.length < count) {
      made.push((await ada.call('POST', path)).body)
      await finish(status, expires_at)
    }
    return made
  }

  return { ada, bob, finish, have, list: () => list(ada), setClock: app.setClock }
}
const fileBytes = 700
const { begin: beginLimited } = await openIdleExports(t, { MAX_USER_EXPORT_BYTES: String(3 * fileBytes) })

t.test('A user may keep ten exports: the next one is refused until one is deleted', async (t) => {
  const { ada, bob, have, list } = await open(t)
  const [oldest] = await have('completed', 10)
  const { status, body } = await ada.call('POST', path)
  t.same([status, body], [429, kept])
  t.equal((await list()).length, 10)
  t.equal((await bob.call('POST', path)).status, 201, 'other users are not affected')
  await ada.call('DELETE', `${path}/${oldest?.id}`)
  t.equal((await ada.call('POST', path)).status, 201)
  t.equal((await ada.call('POST', path)).status, 429)
})

t.test('Retry-After is the time until the first export expires; then there is room before the sweep', async (t) => {
  const { ada, have, list, setClock } = await open(t)
  await have('completed', 4, now + 3 * day)
  await have('completed', 1, now + 2 * day - 999)
  await have('completed', 5, now + 3 * day)
  const { headers } = await ada.call('POST', path)
  t.equal(headers['retry-after'], String(2 * 86_400))
  setClock(now + 2 * day - 1000)
  t.equal((await ada.call('POST', path)).headers['retry-after'], '1')
  setClock(now + 2 * day - 999)
  t.equal((await ada.call('POST', path)).status, 201)
  t.equal((await list()).length, 10)
})

t.test('With ten exports, the oldest failed one is replaced by the new one', async (t) => {
  const { ada, have, list, finish, setClock } = await open(t)
  const failed: Export[] = []
  for (let hour = 0; hour < 4; hour++) {
    setClock(now + hour)
    failed.push(...(await have('failed', 1)))
  }
  const completed = await have('completed', 6)
  const ids = async () => new Set((await list()).map(({ id }) => id))
  t.same(await ids(), new Set([...failed, ...completed].map(({ id }) => id)))
  const { body } = await ada.call('POST', path)
  t.same(await ids(), new Set([...failed.slice(1), ...completed, body].map(({ id }) => id)))
  await finish('completed')
  await have('completed', 3)
  t.equal((await list()).filter(({ status }) => status === 'failed').length, 0)
  t.same((await ada.call('POST', path)).body, kept)
})

t.test('Of eleven parallel requests with seven completed and three failed exports, three succeed', async (t) => {
  const { ada, have, list } = await open(t)
  await have('failed', 3)
  await have('completed', 7)
  const answers = await Promise.all(Array.from({ length: 11 }, () => ada.call('POST', path)))
  t.same(answers.map(({ status }) => status).sort(), [201, 201, 201, ...Array(8).fill(429)])
  const statuses = (await list()).map(({ status }) => status).sort()
  t.same(statuses, [...Array(7).fill('completed'), ...Array(3).fill('processing')])
})

/** `create` resolves to the answer to a POST. `finish` completes ada's unfinished exports with files of this size. */
async function openFull(t: Test) {
  const { app, ada, bob } = await beginLimited(t)
  app.setClock(now)
  const create = async (user = ada) => {
    const { status, body, headers } = await user.call('POST', path)
    return status === 201 ? 'created' : `${status} ${body.error}, again in ${headers['retry-after']} s`
  }
  const finish = async (size_bytes = fileBytes, expires_at = now + day) => {
    await app.context.database.db
      .updateTable('exports')
      .set({ status: 'completed', size_bytes, bookmark_count: 1, expires_at })
      .where('user_id', '=', ada.userId)
      .where('status', '<>', 'completed')
      .execute()
  }
  return { ada, bob, create, finish }
}

/** Stores a bookmark with which the export has about `fileBytes`. */
async function store(user: TestUser, characters = fileBytes - 200): Promise<void> {
  const body = { encrypted_data: 'A'.repeat(characters), data_hash: 'hash' }
  await user.call('POST', '/api/v1/bookmarks', { body })
}

const keptTooMuch = `429 Too many exports kept, again in ${day / 1000} s`
const makingTooMuch = '429 Too many exports in progress, again in 10 s'

t.test('The next export is refused if it would exceed the bytes a user can keep, until one is deleted', async (t) => {
  const { ada, bob, create, finish } = await openFull(t)
  await store(ada)
  const answers: string[] = []
  for (let count = 0; count < 4; count++) {
    answers.push(await create())
    await finish(fileBytes, now + (count + 1) * day)
  }
  t.same(answers, ['created', 'created', 'created', keptTooMuch])
  t.equal(await create(bob), 'created', 'other users are not affected')
  await ada.call('DELETE', `${path}/${(await list(ada))[0]?.id}`)
  t.same([await create(), await create()], ['created', keptTooMuch])
})

t.test('Unfinished exports count with their expected size', async (t) => {
  const { ada, create, finish } = await openFull(t)
  await store(ada, 2 * fileBytes)
  t.same([await create(), await create()], ['created', makingTooMuch])
  await finish(fileBytes / 2)
  t.same([await create(), await create()], ['created', keptTooMuch])
})

t.test("A user's only export is never refused, even if it is very large", async (t) => {
  const { ada, create, finish } = await openFull(t)
  await store(ada, 10 * fileBytes)
  t.equal(await create(), 'created')
  await finish(10 * fileBytes)
  t.equal(await create(), keptTooMuch)
  await ada.call('DELETE', `${path}/${(await list(ada))[0]?.id}`)
  t.equal(await create(), 'created')
})
