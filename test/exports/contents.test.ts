import t from 'tap'
import { pick } from '../support/pick.ts'
import { testOnEachStore } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { bookmark, exportId, gated, heldJob, none, openObject, start, testsOn } from './fixture.ts'

const day = 24 * 60 * 60 * 1000
const id = exportId(1)

testOnEachStore(t, (t, store) => {
  const test = testsOn(store, t)
  test('an export becomes completed, with its file, its size, its count and its expiry', async (t, fixture) => {
    await fixture.addBookmarks([bookmark('ada', 1), bookmark('ada', 2), bookmark('bob', 3)])
    const row = await fixture.make(id, 'ada')
    t.match(row, { status: 'completed', bookmark_count: 2, expires_at: start + 7 * day, object_key: `ada.${id}.1` })
    t.strictSame(await fixture.files(), [`ada.${id}.1`])
    const json = await openObject(fixture.objects, row.object_key)
    t.equal(
      json,
      '{"version":"1","exported_at":"2026-11-21T08:00:00.000Z","bookmarks":[' +
        `{"id":"bookmark-000001","encrypted_data":"cipher1","data_hash":"hash1","created_at":${start + 1},"updated_at":${start + 2}},` +
        `{"id":"bookmark-000002","encrypted_data":"cipher2","data_hash":"hash2","created_at":${start + 2},"updated_at":${start + 3}}` +
        '],"bookmark_count":2}',
    )
  })

  test('strings that JSON escapes are unchanged in the export', async (t, fixture) => {
    const texts = ['"', '\\', '\\"}],"bookmarks":[', 'plain ~!#[]^', '\\u0041', 'ü🦊\u2028']
    const rows = texts.map((text, index) => ({
      ...bookmark('ada', index, text),
      entity_id: `${index}${text}`,
      data_hash: text,
    }))
    await fixture.addBookmarks(rows)
    const { object_key } = await fixture.make(id, 'ada')
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

  test('live bookmarks are exported, deleted ones and other entities are not', async (t, fixture) => {
    const deleted = { ...bookmark('ada', 2), deleted_at: start, operation: 'delete' as const }
    const group = { ...bookmark('ada', 3), entity_type: 'group' as const }
    await fixture.addBookmarks([bookmark('ada', 1), deleted, group, bookmark('ada', 4)])
    const row = await fixture.make(id, 'ada')
    const { bookmarks } = JSON.parse(await openObject(fixture.objects, row.object_key))
    t.strictSame(pick(bookmarks, 'id'), ['bookmark-000001', 'bookmark-000004'])
  })

  test('each bookmark that stays live is exported once, even if others change meanwhile', async (t, fixture) => {
    const odd = Array.from({ length: 1000 }, (_, index) => bookmark('ada', 2 * index + 1, 'x'.repeat(500)))
    await fixture.addBookmarks(odd)
    await fixture.addExport(id, 'ada')
    const { gate } = await heldJob(fixture)
    gate.open()
    for (let index = 0; index < 1000; index += 10) {
      const made = bookmark('ada', 2 * index, 'y')
      const gone = {
        ...bookmark('ada', 2 * index + 1),
        encrypted_data: null,
        deleted_at: start,
        sequence: 5000 + index,
      }
      const sequence = 10_000 + index
      const changed = { ...bookmark('ada', 2 * index + 3, 'z'), sequence, data_sequence: sequence }
      await fixture.addBookmarks([{ ...made, sequence: 15_000 + index }, gone, changed])
    }
    const row = await fixture.settled(id, 'ada')
    const { bookmarks, bookmark_count } = JSON.parse(await openObject(fixture.objects, row.object_key))
    const ids: string[] = bookmarks.map((each: { id: string }) => each.id)
    t.equal(ids.length, bookmark_count)
    t.equal(new Set(ids).size, ids.length, 'no bookmark is there twice')
    const stable = odd.filter((_, index) => index % 10 !== 0).map(({ entity_id }) => entity_id)
    t.strictSame(
      stable.filter((entity_id) => !ids.includes(entity_id)),
      [],
      'none missing',
    )
  })
})

testOnEachStore(t, (t, store) => {
  const test = testsOn(store, t)
  test('two jobs run at a time, the oldest first, and the next one starts when one ends', async (t, fixture) => {
    for (const index of [1, 2, 3]) {
      fixture.now = start + index
      await fixture.addExport(exportId(index), index === 2 ? 'bob' : 'ada')
    }
    const gate = gated(fixture.objects)
    const worker = fixture.worker(gate)
    await until(() => gate.waiting.length === 2)
    await worker.stop(none)
    worker.wake()
    t.strictSame(gate.waiting, [`ada.${exportId(1)}.1`, `bob.${exportId(2)}.1`])
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

  test('closing the worker returns a running job, counts no attempt and leaves no file', async (t, fixture) => {
    await fixture.addExport(id, 'ada')
    const { gate, worker } = await heldJob(fixture)
    t.strictSame(await fixture.files(), store.unfinished(`ada.${id}.1`))
    gate.open()
    await worker.close()
    t.match(await fixture.find(id, 'ada'), { status: 'pending', attempts: 0, lease_until: 0, size_bytes: null })
    t.strictSame(await fixture.files(), [])
    t.notMatch(fixture.lines.join(''), /"level":50/)
    fixture.worker()
    t.match(await fixture.settled(id, 'ada'), { status: 'completed', attempts: 1, object_key: `ada.${id}.2` })
  })

  test('a worker that is closed takes no more jobs', async (t, fixture) => {
    const worker = fixture.worker()
    await worker.close()
    await fixture.addExport(id, 'ada')
    worker.wake()
    await worker.close()
    t.equal((await fixture.find(id, 'ada'))?.fence, 0)
  })

  test('closing the worker right after the start returns the job that it just took', async (t, fixture) => {
    await fixture.addExport(id, 'ada')
    await fixture.worker().close()
    t.match(await fixture.find(id, 'ada'), { attempts: 0, lease_until: 0 })
    t.strictSame(await fixture.files(), [])
  })
})
