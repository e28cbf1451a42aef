import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { openCopy } from '../../src/service/backup/database.ts'
import { folder } from '../support/service.ts'

t.test('A copy that is refused is closed', async (t) => {
  const path = join(await folder(t), 'other.db')
  new Sqlite(path).exec('create table other (id text)').close()
  t.throws(() => openCopy(path, 'other.db'), { message: 'other.db is no database of this service' })
  t.notOk(isOpen(path), 'at once, not when its memory is collected')
})

function isOpen(path: string): boolean {
  const descriptors = readdirSync('/proc/self/fd').map((number) => `/proc/self/fd/${number}`)
  // The one of the folder itself is gone by now.
  return descriptors.some((descriptor) => existsSync(descriptor) && readlinkSync(descriptor) === path)
}
