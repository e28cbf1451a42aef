import t from 'tap'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { sharedUser } from '../support/shared-app.ts'

const dayMs = 86_400_000
const now = 1_800_000_000_123
const content = { encrypted_data: 'data', data_hash: 'hash' }
const exists = 'Bookmark already exists'

/** A service whose clock stands still. */
const clocked = await buildApp(t)
clocked.setClock(now)

const send = (user: TestUser, bookmarks: unknown, headers = {}) =>
  user.call('POST', '/api/v1/sync/import', { body: { bookmarks }, headers })
const read = async (user: TestUser, id: string): Promise<Schemas['Bookmark']> =>
  (await user.call('GET', `/api/v1/bookmarks/${id}`)).body

t.test('An import returns imported, imported_ids in request order, errors and timestamp', async (t) => {
  const ada = await clocked.user('ada')
  const { status, body } = await send(
    ada,
    ['c', 'a', 'b'].map((id) => ({ id, ...content, later: 'ignored' })),
  )
  t.equal(status, 200)
  const { epoch, ...outcome } = body
  t.same(outcome, { imported: 3, imported_ids: ['c', 'a', 'b'], errors: [], timestamp: now })
  t.same((await send(ada, [])).body, { imported: 0, imported_ids: [], errors: [], timestamp: now, epoch })
})

t.test('date_added and date_modified are Unix seconds', async (t) => {
  const ada = await clocked.user('ada of dates')
  await send(ada, [
    { id: 'both', ...content, date_added: 1_500_000_000, date_modified: 1_600_000_000 },
    { id: 'added', ...content, date_added: 1_500_000_000 },
    { id: 'modified', ...content, date_modified: 1_600_000_000 },
    { id: 'neither', ...content },
    { id: 'zero', ...content, date_added: 0, date_modified: 0 },
    { id: 'soon', ...content, date_added: (now + dayMs - 123) / 1000 },
  ])
  const live = { ...content, deleted_at: null }
  const [added, modified] = [1_500_000_000_000, 1_600_000_000_000]
  t.same(await read(ada, 'both'), { id: 'both', ...live, created_at: added, updated_at: modified })
  t.same(await read(ada, 'added'), { id: 'added', ...live, created_at: added, updated_at: added }, 'modified = added')
  t.same(await read(ada, 'modified'), { id: 'modified', ...live, created_at: now, updated_at: modified }, 'added = now')
  t.same(await read(ada, 'neither'), { id: 'neither', ...live, created_at: now, updated_at: now })
  t.same(await read(ada, 'zero'), { id: 'zero', ...live, created_at: 0, updated_at: 0 })
  t.equal((await read(ada, 'soon')).created_at, now + dayMs - 123, 'a date may be up to 24 h ahead')
})

t.test('A push accepts a timestamp 24 h ahead, and not a millisecond more', async (t) => {
  const ada = await clocked.user('ada ahead')
  const changes = [0, 1].map((ms) => change({ entity_id: `${ms}`, timestamp: now + dayMs + ms }))
  const { body } = await push(ada, ...changes)
  t.same(body.accepted_ids, [changes[0]?.id])
})

t.test('Other devices pull an import as creates with separate event ids', async (t) => {
  const ada = await sharedUser()
  await send(ada, [{ id: 'x', ...content, date_added: 1000, date_modified: 2000 }], { 'x-device-id': 'phone' })
  await send(ada, [{ id: 'y', ...content }])
  const { changes } = await pullAll(ada)
  t.match(changes, [
    {
      entity_type: 'bookmark',
      entity_id: 'x',
      operation: 'create',
      timestamp: 2_000_000,
      device_id: 'phone',
      ...content,
    },
    { entity_id: 'y', device_id: 'unknown' },
  ])
  t.match(changes[0], { user_id: ada.userId, conflict_resolved: false, resolution_strategy: null })
  t.not(changes[0]?.id, changes[1]?.id, 'each event has a different id')
})

t.test('A bookmark that fails is reported in errors with its id; the others are imported', async (t) => {
  const ada = await sharedUser()
  const now = Date.now()
  const ms = (fields: object) => ({ ...content, ...fields })
  const faults: [id: string, fields: object, error: string | RegExp][] = [
    ['no-data', { data_hash: 'h' }, 'encrypted_data is required'],
    ['no-hash', { encrypted_data: 'd' }, 'data_hash is required'],
    ['empty-data', ms({ encrypted_data: '' }), /^encrypted_data must be a string of 1 to 262144 /],
    ['long-data', ms({ encrypted_data: 'A'.repeat(262_145) }), /^encrypted_data must be /],
    ['number', ms({ encrypted_data: 5 }), /^encrypted_data must be /],
    ['null', ms({ data_hash: null }), /^data_hash must be /],
    ['long-hash', ms({ data_hash: 'h'.repeat(129) }), /^data_hash must be a string of 1 to 128 /],
    ['not-ascii', ms({ data_hash: 'häsh' }), /^data_hash must be .*printable ASCII/],
    ['before-1970', ms({ date_added: -1 }), /^date_added must be an integer from 0 to 253402300799/],
    ['fraction', ms({ date_added: 1.5 }), /^date_added must be an integer/],
    ['text', ms({ date_modified: '1500000000' }), /^date_modified must be an integer/],
    ['ms-added', ms({ date_added: now }), 'date_added is not in seconds'],
    ['ms-modified', ms({ date_added: 1, date_modified: now }), 'date_modified is not in seconds'],
    ['both-ms', ms({ date_added: now, date_modified: now }), 'date_added is not in seconds'],
    ['ahead', ms({ date_modified: Math.floor((now + dayMs) / 1000) + 60 }), 'date_modified is not in seconds'],
  ]
  const bookmarks = faults.flatMap(([id, fields], index) => [
    { id, ...fields },
    { id: `sound-${index}`, ...content },
  ])
  const { status, body } = await send(ada, bookmarks)
  t.equal(status, 200)
  t.same(
    body.imported_ids,
    faults.map((_, index) => `sound-${index}`),
  )
  t.equal(body.imported, faults.length)
  t.match(
    body.errors,
    faults.map(([id, , error]) => ({ id, error })),
  )
  t.equal(body.errors.length, faults.length)
  t.equal((await pullAll(ada)).changes.length, faults.length, 'failed elements left nothing behind')
})

t.test('A live id, or a second element with the same id, already exists', async (t) => {
  const ada = await sharedUser()
  await send(ada, [{ id: 'live', ...content }])
  const before = (await pullAll(ada)).changes
  const again = { id: 'live', encrypted_data: 'other', data_hash: 'other' }
  const twice = [{ id: 'twice', ...content }, again, { id: 'twice', encrypted_data: 'second', data_hash: 'second' }]
  const { body } = await send(ada, twice)
  t.same(body.imported_ids, ['twice'])
  t.same(body.errors, [
    { id: 'live', error: exists },
    { id: 'twice', error: exists },
  ])
  t.same((await pullAll(ada)).changes[0], before[0], 'the live bookmark is unchanged, also in its place')
  t.match(await read(ada, 'twice'), content, 'the first of the two is imported')

  const repaired = await send(ada, [
    { id: 'third', data_hash: 'h' },
    { id: 'third', ...content },
  ])
  t.same(repaired.body.imported_ids, ['third'], 'a faulty element does not use up the id')
  t.same(repaired.body.errors, [{ id: 'third', error: 'encrypted_data is required' }])
})

t.test('A deleted bookmark is revived', async (t) => {
  const ada = await sharedUser()
  await send(ada, [{ id: 'x', ...content, date_added: 1000 }])
  await ada.call('DELETE', '/api/v1/bookmarks/x')
  const [gone] = (await pullAll(ada)).changes
  const backup = { id: 'x', encrypted_data: 'backup', data_hash: 'backup', date_added: 500, date_modified: 2000 }
  t.same((await send(ada, [backup])).body.imported_ids, ['x'])
  const revived = await read(ada, 'x')
  t.match(revived, { encrypted_data: 'backup', deleted_at: null })
  t.equal(revived.created_at, 1_000_000, 'created_at never changes')
  t.equal(revived.updated_at, (gone?.timestamp ?? 0) + 1, 'newer than the delete, so it wins everywhere')
  t.equal((await ada.call('GET', '/api/v1/sync/status')).body.total_bookmarks, 1)

  const tombstone = change({ entity_id: 'y', operation: 'delete', timestamp: 5000 })
  await push(ada, tombstone)
  t.same((await send(ada, [{ ...backup, id: 'y' }])).body.imported_ids, ['y'], 'also if only its delete was known')
  t.match(await read(ada, 'y'), { encrypted_data: 'backup', created_at: 5000, updated_at: 2_000_000 })
})
