import t, { type Test } from 'tap'
import { type Backups, scheduleBackups } from '../../src/service/backup/schedule.ts'
import type { Shelf } from '../../src/service/backup/shelf.ts'
import { nameOf } from '../../src/service/backup/shelf.ts'
import { silent } from '../support/log.ts'
import { until } from '../support/until.ts'

const hourMs = 3_600_000

/** Backups by name alone. `make` decides how each attempt ends. */
function fakeShelf(names: string[], make: () => Promise<void> = async () => {}) {
  const seen = { attempts: 0, atOnce: 0 }
  let open = 0
  const shelf: Shelf = {
    list: async () => [...names],
    async add(name) {
      seen.attempts += 1
      open += 1
      seen.atOnce = Math.max(seen.atOnce, open)
      await make().finally(() => {
        open -= 1
      })
      names.push(name)
      return { leftOut: 0 }
    },
    async remove(name) {
      names.splice(names.indexOf(name), 1)
    },
  }
  return { shelf, seen, names }
}

function schedule(t: Test, shelf: Shelf, options: { everyMs?: number; keep?: number } = {}): Backups {
  const backups = scheduleBackups({ everyMs: hourMs, keep: 2, shelf, log: silent, pauseMs: 5, ...options })
  t.teardown(() => backups.close())
  return backups
}

t.test(
  'One is due when the newest is older than BACKUP_EVERY; those beyond BACKUP_KEEP go once it is there',
  async (t) => {
    const old = [5, 4, 3, 2].map((hours) => nameOf(Date.now() - hours * hourMs))
    const { shelf, seen, names } = fakeShelf([...old])
    const backups = schedule(t, shelf)
    await until(() => names.length === 2)
    t.same([names[0], seen.attempts], [old.at(-1), 1])
    t.equal(nameOf(backups.lastSuccess()), names[1])

    const recent = nameOf(Date.now() - hourMs / 2)
    const early = fakeShelf([recent])
    const waiting = schedule(t, early.shelf)
    await until(() => waiting.lastSuccess() > 0)
    t.same([nameOf(waiting.lastSuccess()), early.seen.attempts], [recent, 0], 'none is made too early')

    const future = fakeShelf([nameOf(Date.now() + 24 * hourMs)])
    schedule(t, future.shelf)
    await until(() => future.seen.attempts === 1)
  },
)

t.test('A failed one is tried again, removes none, and is counted', async (t) => {
  const old = [3, 2, 1].map((hours) => nameOf(Date.now() - hours * hourMs))
  const { shelf, seen, names } = fakeShelf([...old], async () => {
    if (seen.attempts <= 2) throw new Error('no space left on device')
    await waiting.promise
  })
  const waiting = Promise.withResolvers<void>()
  const backups = schedule(t, shelf)
  await until(() => seen.attempts === 3)
  t.same([names, backups.failures()], [old, 2])
  waiting.resolve()
  await until(() => names.length === 2)
  t.equal(backups.failures(), 2)
})

t.test('However short BACKUP_EVERY is, there are never two at once', async (t) => {
  const { shelf, seen } = fakeShelf([], () => new Promise((resolve) => setTimeout(resolve, 10)))
  schedule(t, shelf, { everyMs: 1 })
  await until(() => seen.attempts === 4)
  t.equal(seen.atOnce, 1)
})
