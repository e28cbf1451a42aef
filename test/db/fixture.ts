import { join } from 'node:path'
import type { Test } from 'tap'
import { type Database, openDatabase, type Trx } from '../../src/db/database.ts'
import { saveUser } from '../../src/db/users.ts'

/** A database in a folder of its own, closed at the end of the test. */
export async function openTestDatabase(t: Test): Promise<{ database: Database; path: string }> {
  const path = join(t.testdir(), 'bookmarks.db')
  const database = await openDatabase(`sqlite:${path}`)
  t.teardown(() => database.close())
  return { database, path }
}

export async function addUser(trx: Trx, id: string): Promise<string> {
  return saveUser(trx, {
    id,
    issuer: 'https://id.example',
    subject: id,
    email: '',
    name: '',
    avatar_url: '',
    email_verified: 0,
    export_key_sealed: '',
    created_at: 1,
  })
}

export async function listUsers({ db }: Pick<Database, 'db'>): Promise<string[]> {
  const rows = await db.selectFrom('users').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}
