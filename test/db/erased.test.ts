/** On SQLite, no file has erased data: neither the database, its write-ahead log, a later backup nor the export store. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { copyDatabase } from '../../src/service/backup/database.ts'
import { buildApp } from '../support/app.ts'
import { change, pushMany } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { createdExport } from '../support/exports.ts'
import { sweepVersions } from '../support/sweeps.ts'
import { until } from '../support/until.ts'

const dayMs = 86_400_000
const count = depth(400, 5_000)

t.test('No byte of a ciphertext is left after a purge, the retention, or the end of the account', async (t) => {
  const { user, context, dataDir, setClock, log } = await buildApp(t, { LOG_LEVEL: 'trace' })
  const start = Date.now()
  setClock(start)
  const ada = await user('ada')
  const ids = Array.from({ length: count }, (_, index) => `x${index}`)
  /** Texts of different lengths, so that some fill database pages of their own and others share one. */
  const data = (id: string, edit: number) =>
    `secret-of-${id}-${edit};`.repeat(1 + ((id.length * 7 + Number(id.slice(1)) * 13) % 90))
  let backups = 0
  const isLeft = async (secret: RegExp) => {
    await context.database.emptyLog()
    const path = join(dataDir, 'bookmarks.db')
    const backup = join(dataDir, `backup-${++backups}.db`)
    await copyDatabase(path, backup)
    const files = await Promise.all(
      [path, `${path}-wal`, `${path}-shm`, backup].map((file) => readFile(file, 'latin1').catch(() => '')),
    )
    return [...new Set(files.flatMap((text) => text.match(secret) ?? []))]
  }
  for (const edit of [1, 2]) {
    await pushMany(
      ada,
      ids.map((entity_id) =>
        change({
          entity_id,
          operation: 'update',
          timestamp: start + edit,
          encrypted_data: data(entity_id, edit),
          data_hash: `h${edit}`,
        }),
      ),
    )
  }
  t.equal((await isLeft(/secret-of-x\d+-[12];/g)).length, 2 * count, 'both versions of each are stored')

  const purged = ids.filter((_, index) => index % 3 === 1)
  await pushMany(
    ada,
    purged.map((entity_id) => change({ entity_id, operation: 'delete', timestamp: start + 3 })),
  )
  for (const id of purged) await ada.call('DELETE', `/api/v1/trash/${id}`)
  const left = await isLeft(/secret-of-x\d+-[12];/g)
  const gone = new Set(purged)
  t.same(
    left.filter((secret) => gone.has(secret.split('-')[2] as string)),
    [],
  )
  t.equal(left.length, 2 * (count - purged.length), 'everything else is still there')

  await sweepVersions(context, start + 31 * dayMs)
  t.same(await isLeft(/secret-of-x\d+-1;/g), [], 'replaced versions')
  t.equal((await isLeft(/secret-of-x\d+-2;/g)).length, count - purged.length, 'current ones stay')

  setClock(undefined)
  const again = await user('ada')
  await createdExport(again)
  const exports = () => readdir(join(dataDir, 'exports'))
  t.equal((await exports()).length, 1)
  t.equal((await again.call('DELETE', '/api/v1/account')).status, 200)
  await until(async () => (await exports()).length === 0)
  // The service empties the write-ahead log at that moment, so the first attempt here may find it locked.
  await until(async () => (await isLeft(/secret-of-x\d+-\d;/g)).length === 0)
  t.notMatch(log.join(''), 'secret-of-')
  t.ok(log.length > purged.length, 'each request was logged')
})
