import t from 'tap'
import { ObjectNotFoundError, ObjectStoreUnavailableError } from '../../src/service/objects/store.ts'
import { exportSweeps } from '../../src/service/upkeep/exports.ts'
import { testOnStoresInDepth } from '../support/stores.ts'
import { sweepExports, sweepOrphans } from '../support/sweeps.ts'
import { until } from '../support/until.ts'
import {
  buildFixture,
  exportId,
  exportKey,
  type Fixture,
  gated,
  largeBookmarks,
  openObject,
  pastFirstPart,
  start,
  testsOn,
} from './fixture.ts'

const day = 24 * 60 * 60 * 1000
const id = exportId(1)
const { signal } = new AbortController()

/** The fixture with a store that uses this function to remove objects. */
function withRemove(fixture: Fixture, remove: Fixture['objects']['remove']): Fixture {
  return { ...fixture, objects: { ...fixture.objects, remove } }
}

testOnStoresInDepth(t, (t, store) => {
  const test = testsOn(store, t)
  test('an expired export is removed, row and file, 7 days after its completion', async (t, fixture) => {
    fixture.now = start + day
    await fixture.make(id, 'ada')
    await fixture.make(exportId(2), 'bob')
    await fixture.edit(exportId(2), { expires_at: start + 9 * day })
    fixture.now = start + 8 * day - 1
    await sweepExports(fixture)
    t.strictSame(await fixture.files(), [`ada.${id}.1`, `bob.${exportId(2)}.1`])
    fixture.now = start + 8 * day
    await sweepExports(fixture)
    t.strictSame(await fixture.files(), [`bob.${exportId(2)}.1`])
    t.equal(await fixture.find(id, 'ada'), undefined)
    t.ok(await fixture.find(exportId(2), 'bob'))
  })

  test('a failed export is removed 7 days after it was requested, and an unfinished one stays', async (t, fixture) => {
    for (const index of [1, 2, 3]) await fixture.addExport(exportId(index), 'ada')
    await fixture.edit(exportId(1), { status: 'failed' })
    await fixture.edit(exportId(2), { status: 'pending' })
    fixture.now = start + 7 * day - 1
    await sweepExports(fixture)
    t.ok(await fixture.find(id, 'ada'))
    fixture.now = start + 7 * day
    await sweepExports(fixture)
    t.equal(await fixture.find(id, 'ada'), undefined)
    t.ok(await fixture.find(exportId(2), 'ada'))
    t.ok(await fixture.find(exportId(3), 'ada'))
  })

  test('a file that cannot be removed keeps its row, blocks no other, and is tried again', async (t, fixture) => {
    for (const index of [1, 2]) await fixture.make(exportId(index), 'ada')
    fixture.now += 7 * day
    const remove = async (key: string) => {
      if (key.includes(id)) throw new Error('not today')
      await fixture.objects.remove(key)
    }
    const sweeping = exportSweeps['expired exports'](withRemove(fixture, remove), signal)
    await t.rejects(sweeping, { removed: 1, message: 'exports that could not be removed: 1' }, 'the sweep failed')
    t.strictSame(await fixture.files(), [`ada.${id}.1`])
    t.ok(await fixture.find(id, 'ada'))
    t.match(fixture.lines.join(''), /not today/)
    await sweepExports(fixture)
    t.strictSame(await fixture.files(), [])
    t.equal(await fixture.find(id, 'ada'), undefined)
  })

  test('an unreachable store is asked once, not for each file', async (t, fixture) => {
    for (const index of [1, 2]) await fixture.make(exportId(index), 'ada')
    fixture.now += 7 * day
    let asked = 0
    const remove = async () => {
      asked++
      throw new ObjectStoreUnavailableError('it is away')
    }
    await t.rejects(exportSweeps['expired exports'](withRemove(fixture, remove), signal), { message: 'it is away' })
    t.equal(asked, 1)
    await sweepExports(fixture)
    t.strictSame(await fixture.files(), [])
  })

  t.test('files of deleted exports, and of overtaken or interrupted attempts, are removed; others stay', async (t) => {
    const env = await store.env(t)
    const [fixture, operator] = [await buildFixture(t, await store.open(t, env)), await store.operate(env)]
    await fixture.addExport(id, 'ada')
    await fixture.addExport(exportId(2), 'ada')
    await fixture.edit(exportId(2), { status: 'pending', fence: 2 })
    const whole = [`ada.${id}.1`, `ada.${exportId(2)}.1`, `ada.${exportId(2)}.2`, `ada.${exportId(9)}.1`]
    const interrupted = [`ada.${id}.7`, `ada.${exportId(2)}.1`, `ada.${exportId(9)}.2`]
    // No attempt has the number 02, or one so large that Postgres refuses it.
    const others = [`ada.${exportId(2)}.02`, `ada.${id}.${'9'.repeat(20)}`, 'notes.txt', 'tax.2024']
    for (const name of [...whole, ...others]) await operator.write(name)
    for (const key of interrupted) await operator.interrupt(key)
    t.strictSame(await operator.leftovers(), interrupted)
    await sweepExports(fixture)
    t.strictSame(new Set(await operator.objects()), new Set(others))
    t.strictSame(await operator.leftovers(), [])
  })

  t.test('an orphan that cannot be removed does not stop the removal of later ones', async (t) => {
    const env = await store.env(t)
    const [fixture, operator] = [await buildFixture(t, await store.open(t, env)), await store.operate(env)]
    const orphans = [1, 2, 3].map((index) => `ada.${exportId(index)}.1`)
    for (const key of orphans) await operator.write(key)
    let asked = 0
    const refusing = (mistake: (key: string) => Error | undefined) =>
      withRemove(fixture, async (key) => {
        asked++
        const error = mistake(key)
        if (error) throw error
        await fixture.objects.remove(key)
      })
    const away = refusing(() => new ObjectStoreUnavailableError('it is away'))
    await t.rejects(sweepOrphans(away), { message: 'it is away' })
    t.equal(asked, 1, 'an unreachable store is asked once')
    const locked = refusing((key) => (key.includes(id) ? new Error('under a legal hold') : undefined))
    await t.rejects(sweepOrphans(locked), {
      removed: 2,
      message: 'objects that could not be removed: 1',
    })
    t.strictSame(await operator.objects(), [`ada.${id}.1`])
    t.match(fixture.lines.join(''), /under a legal hold/)
    await sweepExports(fixture)
    t.strictSame(await operator.objects(), [])
  })

  t.test('an orphan stays for its first day, and a day after the database has found one', async (t) => {
    const env = await store.env(t)
    const [fixture, operator] = [await buildFixture(t, await store.open(t, env)), await store.operate(env)]
    await operator.write(`ada.${exportId(1)}.1`)
    await operator.interrupt(`ada.${exportId(2)}.1`)
    const sweepAfter = async (days: number) => {
      const now = Date.now() + days * day
      const removed = await exportSweeps.orphans({ ...fixture, clock: () => now }, signal)
      return [removed, await operator.objects(), await operator.leftovers()]
    }
    const kept = [0, [`ada.${exportId(1)}.1`], [`ada.${exportId(2)}.1`]]
    const announced = () => fixture.lines.filter((line) => line.includes('will be removed in a day')).length
    const expected: [days: number, left: unknown[], announced: number][] = [
      [0.99, kept, 0],
      [2, kept, 1],
      [2.5, kept, 1],
      // It has not looked for more than a day, as if it were an old copy.
      [3.6, kept, 2],
      [4.5, kept, 2],
      [4.61, [2, [], []], 2],
    ]
    for (const [days, left, lines] of expected)
      t.strictSame([await sweepAfter(days), announced()], [left, lines], `after ${days} days`)
    await operator.write(`ada.${exportId(3)}.1`)
    t.equal((await sweepAfter(5))[0], 0, 'what is found later is announced, too')
  })

  t.test('the rest of an interrupted attempt cannot be downloaded, and is removed during the next one', async (t) => {
    const env = await store.env(t)
    const [fixture, operator] = [await buildFixture(t, await store.open(t, env)), await store.operate(env)]
    await fixture.addExport(id, 'ada')
    await fixture.edit(id, { status: 'pending', attempts: 1, fence: 1 })
    await operator.interrupt(`ada.${id}.1`)
    await t.rejects(fixture.objects.get(`ada.${id}.1`, exportKey), ObjectNotFoundError)
    const gate = gated(fixture.objects)
    fixture.worker(gate)
    await until(() => gate.waiting.length === 1)
    await sweepExports(fixture)
    t.notOk((await operator.leftovers()).includes(`ada.${id}.1`))
    gate.open()
    const { object_key } = await fixture.settled(id, 'ada')
    t.match(await openObject(fixture.objects, object_key), /"version":"1"/)
    t.strictSame([await operator.objects(), await operator.leftovers()], [[`ada.${id}.2`], []])
  })

  test('the file of a running or completing export is not an orphan', async (t, fixture) => {
    await fixture.addExport(exportId(2), 'ada')
    const first = fixture.worker()
    await fixture.settled(exportId(2), 'ada')
    await first.close()
    await fixture.addBookmarks(largeBookmarks())
    await fixture.addExport(id, 'ada')
    const gate = gated(fixture.objects, pastFirstPart)
    fixture.worker(gate)
    await until(() => gate.waiting.length === 1)
    fixture.now += 6 * day
    await sweepExports(fixture)
    t.strictSame(await fixture.files(), [`ada.${id}.1`, `ada.${exportId(2)}.1`])
    gate.open()
    const { status, object_key } = await fixture.settled(id, 'ada')
    t.equal(status, 'completed')
    t.match(await openObject(fixture.objects, object_key), /"version":"1"/)
  })
})
