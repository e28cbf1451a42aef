import t from 'tap'
import { openDatabase } from '../../src/service/db/open.ts'
import { silent } from '../support/log.ts'
import { addOldRecord, addOldUser, makeOldDatabase, oldRecord } from './old-database.ts'

/** More than the migration counts at once. */
const users = 250

t.test('What users stored under the previous version is counted', async (t) => {
  const { url, db } = await makeOldDatabase(t, '0001-initial')
  const id = (index: number) => `user-${index}`
  await db.transaction().execute(async (trx) => {
    for (let index = 0; index < users; index += 1) await addOldUser(trx, id(index))
    const record = (user: number, entity: string, fields: Parameters<typeof oldRecord>[2]) =>
      addOldRecord(trx, oldRecord(id(user), entity, fields))
    for (let user = 0; user < users - 1; user += 1) await record(user, 'a', { encrypted_data: 'x'.repeat(user + 1) })
    await record(7, 'b', { encrypted_data: 'x'.repeat(100_000), deleted_at: 1 })
    await record(7, 'c', { deleted_at: 1 })
    await record(7, 'g', { encrypted_data: 'group', entity_type: 'group' })
  })
  await db.destroy()

  const database = await openDatabase(url, silent)
  t.teardown(() => database.close())
  const rows = await database.db.selectFrom('users').select(['id', 'stored_bytes', 'stored_records']).execute()
  const counted = new Map(rows.map(({ id, stored_bytes, stored_records }) => [id, [stored_bytes, stored_records]]))
  t.same(counted.get(id(7)), [8 + 100_000 + 5, 4], 'deleted ones, tombstones and other entities too')
  t.same(counted.get(id(users - 1)), [0, 0], 'a user without records')
  const wrong = Array.from({ length: users - 1 }, (_, user) => user)
    .filter((user) => user !== 7)
    .filter((user) => String(counted.get(id(user))) !== String([user + 1, 1]))
  t.same(wrong, [], 'each of the others')
})
