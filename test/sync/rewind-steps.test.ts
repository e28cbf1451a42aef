/** A rewind takes several requests. Other devices write meanwhile, and completed steps stay. */
import t from 'tap'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, importMany, pullAll, pushMany } from '../support/changes.ts'

const count = 1200
const ids = Array.from({ length: count }, (_, index) => `x${String(index).padStart(4, '0')}`)
const rewind = (user: TestUser, body: object) => user.call('POST', '/api/v1/sync/rewind', { body })

const app = await buildApp(t)
const { database } = app.context

/** A user whose 1,200 bookmarks have been deleted since the cursor. */
async function openDeleted(name: string) {
  const ada = await app.user(name)
  await importMany(
    ada,
    ids.map((id) => ({ id, encrypted_data: `text of ${id}`, data_hash: `hash of ${id}` })),
  )
  const { cursor: to } = await pullAll(ada)
  const timestamp = Date.now() + 60_000
  await pushMany(
    ada,
    ids.map((entity_id) => change({ entity_id, operation: 'delete', timestamp })),
  )
  return { ada, to }
}

t.test('A dry run of a rewind does not wait for another write transaction of the user', async (t) => {
  const { ada, to } = await openDeleted('ada of dry')
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
  const { promise: isHeld, resolve: held } = Promise.withResolvers<void>()
  const holding = database.write(async (trx) => {
    await trx.updateTable('users').set({ name: 'Ada' }).where('id', '=', ada.userId).execute()
    held()
    await isOver
  }, ada.userId)
  await isHeld
  const { status, body } = await rewind(ada, { to, dry_run: true })
  end()
  await holding
  t.match([status, body], [200, { restored: 500, deleted: 0, unchanged: 0, next: `${to}/bookmark/${ids[499]}` }])
})

t.test('Other devices can write between two requests of a rewind, and continue it', async (t) => {
  const { ada, to } = await openDeleted('ada of steps')
  const [again, bob] = [await app.user('ada of steps'), await app.user('bob')]
  const total = async () => (await again.call('GET', '/api/v1/sync/status')).body.total_bookmarks
  const first = await rewind(ada, { to, dry_run: false })
  t.match(first.body, { restored: 500, next: `${to}/bookmark/${ids[499]}` })
  const body = { encrypted_data: 'AAAA', data_hash: 'h' }
  t.equal((await bob.call('POST', '/api/v1/bookmarks', { body })).status, 201)
  t.equal(await total(), 500, 'the completed step stays')
  t.equal((await ada.call('POST', '/api/v1/auth/logout')).status, 200)
  t.equal((await rewind(ada, { to, dry_run: false, cursor: first.body.next })).status, 401)
  const second = await rewind(again, { to, dry_run: false, cursor: first.body.next })
  t.match(second.body, { restored: 500, unchanged: 0, next: `${to}/bookmark/${ids[999]}` })
  const third = await rewind(again, { to, dry_run: false, cursor: second.body.next })
  t.match(third.body, { restored: count - 1000, unchanged: 0, next: null })
  t.equal(await total(), count)
  t.match((await rewind(again, { to, dry_run: false })).body, { restored: 0, unchanged: 500 }, 'a repeat is fine')
})

t.test('A rewind searches for its time only in the first of its requests', async (t) => {
  const ada = await app.user('ada of 700')
  const many = Array.from({ length: 700 }, (_, n) => `m${String(n).padStart(5, '0')}`)
  const to = Date.now() - 1000
  await importMany(
    ada,
    many.map((id) => ({ id, encrypted_data: 'AAAA', data_hash: 'h' })),
  )
  const pages = countPagesOfNumbers()
  const first = await rewind(ada, { to, dry_run: true })
  t.match(first.body, { deleted: 500, next: `${to}/bookmark/${many[499]}` })
  const before = pages()
  t.ok(before > 0, `the first request reads all changes since then: ${before} pages`)
  const rest = { deleted: 200, unchanged: 0, next: null }
  t.match((await rewind(ada, { to, dry_run: true, cursor: first.body.next })).body, rest)
  const isLater = { to: Date.now() + 60_000, dry_run: true, cursor: first.body.next }
  t.match((await rewind(ada, isLater)).body, rest, 'the rewind continues to the time with which it began')
  t.equal(pages(), before)
})

t.test('A made-up cursor can only affect the caller’s own bookmarks, and no later numbers', async (t) => {
  const [ada, eve] = [await app.user('ada of the place'), await app.user('eve of the place')]
  for (const user of [ada, eve]) {
    const body = { id: 'one', encrypted_data: 'AAAA', data_hash: 'h' }
    await user.call('POST', '/api/v1/bookmarks', { body })
  }
  const pages = countPagesOfNumbers()
  const made = (cursor: string) => rewind(eve, { to: 1, dry_run: false, cursor })
  t.match((await made(`${'9'.repeat(16)}/bookmark/a`)).body, { deleted: 0, unchanged: 1, next: null })
  t.match((await made('0/bookmark/a')).body, { deleted: 1, unchanged: 0, next: null })
  t.equal(pages(), 0)
  t.equal((await ada.call('GET', '/api/v1/bookmarks/one')).status, 200)
  for (const cursor of [
    'bookmark/a',
    '/bookmark/a',
    `${'9'.repeat(17)}/bookmark/a`,
    '-1/bookmark/a',
    '1/2/bookmark/a',
    '1/other/a',
    '1/bookmark/',
  ])
    t.equal((await made(cursor)).status, 400, cursor)
})

/** Counts the pages of changes that are read from now on to find the sequence number for a time. */
function countPagesOfNumbers(): () => number {
  let pages = 0
  database.bulk = database.bulk.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      if ('lowest' in (result.rows[0] ?? {})) pages += 1
      return result
    },
  })
  return () => pages
}
