import t from 'tap'
import type { Agreed, AgreedStore } from '../../src/extension/agreed.ts'
import { RemovalGuard } from '../../src/extension/removal-guard.ts'

t.test('A removal that could not be stored, for example on a full disk, is stored the next time', async (t) => {
  const clock = { now: () => 1000 }
  const rows: Agreed['rows'] = new Map()
  let isFull = true
  const store: Pick<AgreedStore, 'write'> = {
    async write(change) {
      if (isFull) throw new Error('full')
      for (const [id, row] of change.rows) if (row) rows.set(id, row)
    },
  }
  const guard = new RemovalGuard(clock, { rows: new Map() })
  guard.hold([{ id: 'x', title: 'X', url: 'https://example.org/', source: 'bookmarks' }])
  await t.rejects(guard.save(store as AgreedStore), { message: 'full' })
  isFull = false
  await guard.save(store as AgreedStore)
  const next = new RemovalGuard(clock, { rows })
  t.same(
    next.held.map(({ id }) => id),
    ['x'],
    'the next worker asks on',
  )
})
