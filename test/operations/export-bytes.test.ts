import t, { type Test } from 'tap'
import type { TestUser } from '../support/app.ts'
import { list, openIdleExports, path } from './exports-fixture.ts'

const now = Date.UTC(2026, 10, 21)
const day = 24 * 60 * 60 * 1000
const fileBytes = 700
const { begin } = await openIdleExports(t, { MAX_USER_EXPORT_BYTES: String(3 * fileBytes) })

/** `create` resolves to what a POST was answered; `finish` makes all unfinished exports of ada's files of that size. */
async function open(t: Test) {
  const { app, ada, bob } = await begin(t)
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

/** Whose export is expected to have `fileBytes`. */
async function store(user: TestUser, characters = fileBytes - 200): Promise<void> {
  const body = { encrypted_data: 'A'.repeat(characters), data_hash: 'hash' }
  await user.call('POST', '/api/v1/bookmarks', { body })
}

const keptTooMuch = `429 Too many exports kept, again in ${day / 1000} s`
const makingTooMuch = '429 Too many exports in progress, again in 10 s'

t.test(
  'The next export is refused if it would exceed the bytes that a user can keep, until one is deleted',
  async (t) => {
    const { ada, bob, create, finish } = await open(t)
    await store(ada)
    const answers: string[] = []
    for (let count = 0; count < 4; count++) {
      answers.push(await create())
      await finish(fileBytes, now + (count + 1) * day)
    }
    t.same(answers, ['created', 'created', 'created', keptTooMuch])
    t.equal(await create(bob), 'created', 'others are not concerned')
    await ada.call('DELETE', `${path}/${(await list(ada))[0]?.id}`)
    t.same([await create(), await create()], ['created', keptTooMuch])
  },
)

t.test('Unfinished exports count with the size that is expected of them', async (t) => {
  const { ada, create, finish } = await open(t)
  await store(ada, 2 * fileBytes)
  t.same([await create(), await create()], ['created', makingTooMuch])
  await finish(fileBytes / 2)
  t.same([await create(), await create()], ['created', keptTooMuch])
})

t.test('The only export is never refused, however large it is', async (t) => {
  const { ada, create, finish } = await open(t)
  await store(ada, 10 * fileBytes)
  t.equal(await create(), 'created')
  await finish(10 * fileBytes)
  t.equal(await create(), keptTooMuch)
  await ada.call('DELETE', `${path}/${(await list(ada))[0]?.id}`)
  t.equal(await create(), 'created')
})

t.test('Eight at once beside one: as many are made as there is room for', async (t) => {
  const { ada, create, finish } = await open(t)
  await store(ada)
  await create()
  await finish()
  const answers = await Promise.all(Array.from({ length: 8 }, () => create()))
  t.same(answers.sort(), [...Array(6).fill(keptTooMuch), 'created', 'created'])
})
