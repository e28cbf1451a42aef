/** On SQLite, what is erased is nowhere in the database's files any more. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { buildApp } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { sweepVersions } from '../support/sweeps.ts'

const dayMs = 86_400_000
const count = depth(400, 5_000)

t.test('No byte of a ciphertext is left after a purge, or after the retention', async (t) => {
  const { user, context, dataDir, setClock } = await buildApp(t)
  const start = Date.now()
  setClock(start)
  const ada = await user('ada')
  const ids = Array.from({ length: count }, (_, index) => `x${index}`)
  /** Of any length, so that some fill pages of their own and others share one. */
  const data = (id: string, edit: number) =>
    `secret-of-${id}-${edit};`.repeat(1 + ((id.length * 7 + Number(id.slice(1)) * 13) % 90))
  const push = async (changes: object[]) => {
    const { body } = await ada.call('POST', '/api/v1/sync/push', { body: { changes } })
    t.same(body.conflicts, [])
  }
  const isLeft = async (secret: RegExp) => {
    await context.database.emptyLog()
    const path = join(dataDir, 'bookmarks.db')
    const files = await Promise.all([path, `${path}-wal`].map((file) => readFile(file, 'latin1').catch(() => '')))
    return [...new Set(files.flatMap((text) => text.match(secret) ?? []))]
  }
  for (const edit of [1, 2]) {
    await push(
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
  t.equal((await isLeft(/secret-of-x\d+-[12];/g)).length, 2 * count, 'both versions are there')

  const purged = ids.filter((_, index) => index % 3 === 1)
  await push(purged.map((entity_id) => change({ entity_id, operation: 'delete', timestamp: start + 3 })))
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
})
