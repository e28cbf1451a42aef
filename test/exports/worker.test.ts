import { mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ObjectStore, ObjectStoreUnavailableError } from '../../src/exports/objects/store.ts'
import { sweepExports } from '../../src/exports/sweep.ts'
import { startExportWorker } from '../../src/exports/worker.ts'
import { testOnEachStore } from '../support/stores.ts'
import { bookmark, buildFixture, exportId, gated, openObject, start, until } from './fixture.ts'

const day = 24 * 60 * 60 * 1000
const id = exportId(1)
/** To stop work on it is to wait until the worker looks for no other job: else the clock cannot be moved. */
const none = exportId(0)

testOnEachStore((t, store) => {
  t.test('an export becomes completed, with its file, its size, its count and its expiry', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addBookmarks([bookmark('ada', 1), bookmark('ada', 2), bookmark('bob', 3)])
    await fixture.addExport(id, 'ada')
    const worker = fixture.worker()
    t.teardown(() => worker.close())
    const row = await fixture.settled(id, 'ada')
    t.match(row, { status: 'completed', bookmark_count: 2, expires_at: start + 7 * day, object_key: `${id}.1` })
    t.strictSame(await fixture.files(), [`${id}.1`])
    const json = await openObject(fixture.objects, row.object_key)
    t.equal(
      json,
      '{"version":"1","exported_at":"2026-11-21T08:00:00.000Z","bookmarks":[' +
        `{"id":"bookmark-000001","encrypted_data":"cipher1","data_hash":"hash1","created_at":${start + 1},"updated_at":${start + 2}},` +
        `{"id":"bookmark-000002","encrypted_data":"cipher2","data_hash":"hash2","created_at":${start + 2},"updated_at":${start + 3}}` +
        '],"bookmark_count":2}',
    )
  })

  t.test('strings that JSON escapes come back as they were', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    const texts = ['"', '\\', '\\"}],"bookmarks":[', 'plain ~!#[]^', '\\u0041', 'ü🦊\n\u2028\u0000']
    const rows = texts.map((text, index) => ({
      ...bookmark('ada', index, text),
      entity_id: `${index}${text}`,
      data_hash: text,
    }))
    await fixture.addBookmarks(rows)
    await fixture.addExport(id, 'ada')
    const worker = fixture.worker()
    t.teardown(() => worker.close())
    const { object_key } = await fixture.settled(id, 'ada')
    const { bookmarks } = JSON.parse(await openObject(fixture.objects, object_key))
    t.strictSame(
      bookmarks,
      rows.map(({ entity_id, encrypted_data, data_hash, created_at, updated_at }) => ({
        id: entity_id,
        encrypted_data,
        data_hash,
        created_at,
        updated_at,
      })),
    )
  })

  t.test('an export of no bookmarks', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    const worker = fixture.worker()
    t.teardown(() => worker.close())
    const row = await fixture.settled(id, 'ada')
    t.equal(row.bookmark_count, 0)
    t.match(JSON.parse(await openObject(fixture.objects, row.object_key)), { bookmarks: [], bookmark_count: 0 })
  })

  t.test('live bookmarks are exported, deleted ones and other entities are not', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    const deleted = { ...bookmark('ada', 2), deleted_at: start, operation: 'delete' as const }
    const group = { ...bookmark('ada', 3), entity_type: 'group' as const }
    await fixture.addBookmarks([bookmark('ada', 1), deleted, group, bookmark('ada', 4)])
    await fixture.addExport(id, 'ada')
    const worker = fixture.worker()
    t.teardown(() => worker.close())
    const row = await fixture.settled(id, 'ada')
    const { bookmarks } = JSON.parse(await openObject(fixture.objects, row.object_key))
    t.strictSame(
      bookmarks.map((each: { id: string }) => each.id),
      ['bookmark-000001', 'bookmark-000004'],
    )
  })

  t.test('each bookmark that is live all the time comes once, whatever changes meanwhile', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    const odd = Array.from({ length: 1000 }, (_, index) => bookmark('ada', 2 * index + 1, 'x'.repeat(500)))
    await fixture.addBookmarks(odd)
    await fixture.addExport(id, 'ada')
    const gate = gated(fixture.objects)
    const worker = fixture.worker(gate)
    t.teardown(() => worker.close())
    await until(() => gate.waiting.length === 1)
    await worker.stop(none)
    gate.open()
    for (let index = 0; index < 1000; index += 10) {
      const made = bookmark('ada', 2 * index, 'y')
      const gone = { ...bookmark('ada', 2 * index + 1), deleted_at: start, stamp: 5000 + index }
      const changed = { ...bookmark('ada', 2 * index + 3, 'z'), stamp: 10_000 + index }
      await fixture.addBookmarks([{ ...made, stamp: 15_000 + index }, gone, changed])
    }
    const row = await fixture.settled(id, 'ada')
    const { bookmarks, bookmark_count } = JSON.parse(await openObject(fixture.objects, row.object_key))
    const ids: string[] = bookmarks.map((each: { id: string }) => each.id)
    t.equal(ids.length, bookmark_count)
    t.equal(new Set(ids).size, ids.length, 'none twice')
    const stable = odd.filter((_, index) => index % 10 !== 0).map(({ entity_id }) => entity_id)
    t.strictSame(
      stable.filter((entity_id) => !ids.includes(entity_id)),
      [],
      'none missing',
    )
  })

  t.test('two jobs run at a time, the oldest first; the next follows by itself', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    for (const index of [1, 2, 3]) {
      fixture.now = start + index
      await fixture.addExport(exportId(index), index === 2 ? 'bob' : 'ada')
    }
    const gate = gated(fixture.objects)
    const worker = fixture.worker(gate)
    t.teardown(() => worker.close())
    await until(() => gate.waiting.length === 2)
    await worker.stop(none)
    worker.wake()
    t.strictSame(gate.waiting, [`${exportId(1)}.1`, `${exportId(2)}.1`])
    t.equal((await fixture.find(exportId(3), 'ada'))?.fence, 0)
    gate.open()
    for (const [index, user] of [
      [1, 'ada'],
      [2, 'bob'],
      [3, 'ada'],
    ] as const) {
      t.equal((await fixture.settled(exportId(index), user)).status, 'completed')
    }
  })

  t.test('a worker takes a job at once when it is woken, else within 5 s', async (t) => {
    mock.timers.enable({ apis: ['setInterval'] })
    t.teardown(() => mock.timers.reset())
    const fixture = await buildFixture(t, await store.open(t))
    const worker = fixture.worker()
    t.teardown(() => worker.close())
    await worker.stop(id)
    await fixture.addExport(id, 'ada')
    worker.wake()
    t.equal((await fixture.settled(id, 'ada')).status, 'completed')
    await fixture.addExport(exportId(2), 'ada')
    mock.timers.tick(5_000)
    t.equal((await fixture.settled(exportId(2), 'ada')).status, 'completed')
  })

  t.test('closing gives a running job back at once, uncounted, and leaves no file', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    const gate = gated(fixture.objects)
    const worker = fixture.worker(gate)
    await until(() => gate.waiting.length === 1)
    await worker.stop(none)
    t.strictSame(await fixture.files(), store.unfinished(`${id}.1`))
    gate.open()
    await worker.close()
    t.match(await fixture.find(id, 'ada'), { status: 'pending', attempts: 0, lease_until: 0, size_bytes: null })
    t.strictSame(await fixture.files(), [])
    t.notMatch(fixture.lines.join(''), /"level":50/)
    const next = fixture.worker()
    t.teardown(() => next.close())
    t.match(await fixture.settled(id, 'ada'), { status: 'completed', attempts: 1, object_key: `${id}.2` })
  })

  t.test('a worker that is closed takes nothing more', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    const worker = fixture.worker()
    await worker.close()
    await fixture.addExport(id, 'ada')
    worker.wake()
    await worker.close()
    t.equal((await fixture.find(id, 'ada'))?.fence, 0)
  })

  t.test('closing right after the start gives back what was just taken', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    await fixture.worker().close()
    t.match(await fixture.find(id, 'ada'), { attempts: 0, lease_until: 0 })
    t.strictSame(await fixture.files(), [])
  })

  t.test('a failing store: three attempts with a growing delay, then failed', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    let attempts = 0
    const put = async () => {
      attempts++
      throw new Error('the store is on fire')
    }
    const worker = fixture.worker({ ...fixture.objects, put })
    t.teardown(() => worker.close())
    await until(async () => (await fixture.find(id, 'ada'))?.status === 'pending')
    t.match(await fixture.find(id, 'ada'), { attempts: 1, lease_until: start + 5_000, expires_at: null })
    for (const [delay, status, count] of [
      [5_000, 'pending', 2],
      [10_000, 'failed', 3],
    ] as const) {
      fixture.now += delay - 1
      worker.wake()
      await worker.stop(id)
      t.equal(attempts, count - 1, 'not before its time')
      fixture.now += 1
      worker.wake()
      await until(() => attempts === count)
      await until(async () => (await fixture.find(id, 'ada'))?.status === status)
    }
    t.match(await fixture.find(id, 'ada'), {
      size_bytes: null,
      bookmark_count: null,
      expires_at: null,
      object_key: null,
    })
    fixture.now += day
    worker.wake()
    await worker.stop(id)
    t.equal(attempts, 3)
    t.match(fixture.lines.join(''), /the store is on fire/)
    t.match(fixture.lines.join(''), `"exportId":"${id}","attempt":3`)
  })

  t.test(
    'a store out of reach: the export waits, however often it is tried, and is made once the store is back',
    async (t) => {
      const fixture = await buildFixture(t, await store.open(t))
      for (const index of [1, 2, 3]) await fixture.addExport(exportId(index), 'ada')
      let attempts = 0
      const put: ObjectStore['put'] = () => {
        attempts += 1
        return Promise.reject(new ObjectStoreUnavailableError('the store is asleep'))
      }
      const objects = { ...fixture.objects, put }
      const worker = fixture.worker(objects)
      t.teardown(() => worker.close())
      const rows = () => Promise.all([1, 2, 3].map((index) => fixture.find(exportId(index), 'ada')))
      const isWaiting = async () => (await rows()).every((row) => row?.status !== 'processing' || row.fence === 0)
      for (let tick = 1; tick <= 6; tick++) {
        await until(async () => attempts === 2 * tick && (await isWaiting()))
        await worker.stop(none)
        t.equal(attempts, 2 * tick, 'those that wait are left alone until the next tick')
        fixture.now += 5_000
        worker.wake()
      }
      objects.put = fixture.objects.put
      for (const index of [1, 2, 3]) {
        for (; (await fixture.find(exportId(index), 'ada'))?.status !== 'completed'; await sleep(5)) {
          fixture.now += 5_000
          worker.wake()
        }
        t.match(
          await fixture.find(exportId(index), 'ada'),
          { attempts: 1 },
          'no attempt counted but the one that made it',
        )
      }
      t.match(fixture.lines.join(''), /an export waits: the object store is out of reach/)
    },
  )

  t.test('an export whose key does not open fails, and the log says no secret', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    const sealed = (await fixture.find(id, 'ada'))?.key_sealed ?? ''
    await fixture.database.db.updateTable('exports').set({ user_id: 'bob', attempts: 2 }).execute()
    const worker = fixture.worker()
    t.teardown(() => worker.close())
    t.equal((await fixture.settled(id, 'bob')).status, 'failed')
    const log = fixture.lines.join('')
    t.match(log, `the export key of ${id} does not open under SECRET_KEY`)
    t.notMatch(log, sealed)
    t.strictSame(await fixture.files(), [])
  })

  t.test('the job of a worker that died is taken again when its lease is over, not before', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    await fixture.database.db
      .updateTable('exports')
      .set({ attempts: 1, fence: 1, lease_until: start + 15_000 })
      .execute()
    const worker = fixture.worker()
    t.teardown(() => worker.close())
    await worker.stop(id)
    fixture.now = start + 14_999
    worker.wake()
    await worker.stop(id)
    t.match(await fixture.find(id, 'ada'), { status: 'processing', fence: 1 })
    fixture.now = start + 15_000
    worker.wake()
    t.match(await fixture.settled(id, 'ada'), { status: 'completed', attempts: 2, object_key: `${id}.2` })
  })

  t.test('a job that three workers died of has failed', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    await fixture.database.db.updateTable('exports').set({ attempts: 3, fence: 3, lease_until: start }).execute()
    const worker = fixture.worker()
    t.teardown(() => worker.close())
    t.match(await fixture.settled(id, 'ada'), { status: 'failed', attempts: 3, size_bytes: null })
  })

  t.test('the job of a dead worker is pending while the others are busy', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    for (const index of [1, 2, 3]) await fixture.addExport(exportId(index), 'ada')
    const dead = exportId(3)
    const set = { attempts: 1, fence: 1, lease_until: start + 15_000 }
    await fixture.database.db.updateTable('exports').set(set).where('id', '=', dead).execute()
    const gate = gated(fixture.objects)
    const worker = fixture.worker(gate)
    t.teardown(() => worker.close())
    await until(() => gate.waiting.length === 2)
    await worker.stop(none)
    fixture.now += 15_000
    worker.wake()
    await until(async () => (await fixture.find(dead, 'ada'))?.status === 'pending')
    gate.open()
    t.match(await fixture.settled(dead, 'ada'), { status: 'completed', attempts: 2 })
  })

  t.test('a lease from before the clock was set back does not last', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    await fixture.database.db
      .updateTable('exports')
      .set({ attempts: 1, fence: 1, lease_until: start + day })
      .execute()
    const worker = fixture.worker()
    t.teardown(() => worker.close())
    t.equal((await fixture.settled(id, 'ada')).status, 'completed')
  })

  t.test('a running job keeps its lease, also after the process was asleep', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    const gate = gated(fixture.objects)
    const worker = fixture.worker(gate)
    t.teardown(() => worker.close())
    await until(() => gate.waiting.length === 1)
    await worker.stop(none)
    fixture.now += day
    worker.wake()
    await until(async () => (await fixture.find(id, 'ada'))?.lease_until === start + day + 15_000)
    gate.open()
    t.match(await fixture.settled(id, 'ada'), { status: 'completed', attempts: 1 })
  })

  t.test('two workers race: each job has one winner', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    const ids = Array.from({ length: 12 }, (_, index) => exportId(index))
    for (const each of ids) await fixture.addExport(each, 'ada')
    const workers = [fixture.worker(), fixture.worker()]
    t.teardown(() => Promise.all(workers.map((worker) => worker.close())))
    for (const each of ids) t.match(await fixture.settled(each, 'ada'), { status: 'completed', attempts: 1 })
    t.strictSame(
      await fixture.files(),
      ids.map((each) => `${each}.1`),
    )
  })

  t.test('of two workers, one paused past its lease, one wins; nothing of the other stays', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addBookmarks([bookmark('ada', 1)])
    await fixture.addExport(id, 'ada')
    const gate = gated(fixture.objects)
    const paused = fixture.worker(gate)
    await until(() => gate.waiting.length === 1)
    await paused.stop(none)
    fixture.now += 15_000
    const other = fixture.worker()
    const row = await fixture.settled(id, 'ada')
    t.match(row, { status: 'completed', object_key: `${id}.2`, attempts: 2 })
    t.strictSame(
      await fixture.files(),
      [...store.unfinished(`${id}.1`), `${id}.2`],
      'the paused one’s file is still there',
    )
    await sweepExports(fixture)
    t.strictSame(await fixture.files(), [`${id}.2`], 'the sweep takes it')
    gate.open()
    await paused.stop(id)
    await Promise.all([paused.close(), other.close()])
    t.strictSame(await fixture.find(id, 'ada'), row, 'and its late end changes nothing')
    t.strictSame(await fixture.files(), [`${id}.2`])
    t.equal(JSON.parse(await openObject(fixture.objects, row.object_key)).bookmark_count, 1)
  })

  t.test('a worker that was overtaken while its object was on the way removes it itself', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    const gate = gated(fixture.objects)
    const removed: string[] = []
    const remove: typeof gate.remove = async (key) => {
      await gate.remove(key)
      removed.push(key)
    }
    const paused = fixture.worker({ ...gate, remove })
    await until(() => gate.waiting.length === 1)
    await paused.stop(none)
    fixture.now += 15_000
    const other = fixture.worker()
    await fixture.settled(id, 'ada')
    gate.open()
    await until(() => removed.length === 1)
    t.strictSame(removed, [`${id}.1`])
    t.strictSame(await fixture.files(), [`${id}.2`])
    await Promise.all([paused.close(), other.close()])
  })

  for (const failing of [false, true]) {
    t.test(`a worker that ${failing ? 'fails' : 'ends'} while another has its job changes nothing`, async (t) => {
      const fixture = await buildFixture(t, await store.open(t))
      await fixture.addExport(id, 'ada')
      const [first, second] = [gated(fixture.objects), gated(fixture.objects)]
      let ended = false
      const put: typeof first.put = async (...args) => {
        const size = await first.put(...args)
        ended = true
        if (failing) throw new Error('too late')
        return size
      }
      const paused = fixture.worker({ ...first, put })
      await until(() => first.waiting.length === 1)
      await paused.stop(none)
      fixture.now += 15_000
      const other = fixture.worker(second)
      await until(() => second.waiting.length === 1)
      await other.stop(none)
      const held = await fixture.find(id, 'ada')
      t.match(held, { status: 'processing', fence: 2 })
      first.open()
      await until(() => ended)
      await paused.close()
      t.strictSame(await fixture.find(id, 'ada'), held)
      second.open()
      t.match(await fixture.settled(id, 'ada'), { status: 'completed', object_key: `${id}.2` })
      await other.close()
      await sweepExports(fixture)
      t.strictSame(await fixture.files(), [`${id}.2`])
    })
  }

  t.test('a deleted export is dropped: nobody completes it, nothing of it stays', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    const gate = gated(fixture.objects)
    const worker = fixture.worker(gate)
    t.teardown(() => worker.close())
    await until(() => gate.waiting.length === 1)
    await worker.stop(none)
    await fixture.database.db.deleteFrom('exports').execute()
    const stopped = worker.stop(id)
    gate.open()
    await stopped
    t.strictSame(await fixture.files(), [])
    t.equal(await fixture.find(id, 'ada'), undefined)
  })

  t.test('an export deleted in another process is dropped at the next renewal', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    const signals: AbortSignal[] = []
    const put: typeof fixture.objects.put = (_key, _exportKey, _content, signal) => {
      signals.push(signal)
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const worker = fixture.worker({ ...fixture.objects, put })
    t.teardown(() => worker.close())
    await until(() => signals.length === 1)
    await fixture.database.db.deleteFrom('exports').execute()
    worker.wake()
    await until(() => signals[0]?.aborted === true)
  })

  t.test('when the completion cannot be stored, the attempt fails and its object goes', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    const { database } = fixture
    const write = database.write
    const broken = { ...database, write: database.write }
    const put: typeof fixture.objects.put = async (...args) => {
      const size = await fixture.objects.put(...args)
      broken.write = () => {
        broken.write = write
        return Promise.reject(new Error('disk full'))
      }
      return size
    }
    const worker = startExportWorker({
      ...fixture,
      database: broken,
      objects: { ...fixture.objects, put },
    })
    t.teardown(() => worker.close())
    await until(async () => (await fixture.find(id, 'ada'))?.status === 'pending')
    await until(async () => (await fixture.files()).length === 0)
    t.match(fixture.lines.join(''), /disk full/)
  })
})
