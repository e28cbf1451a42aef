import t from 'tap'
import { testOnEachStore } from '../support/stores.ts'
import { bookmark, buildFixture, exportId, heldJob, openObject, start } from './fixture.ts'

const day = 24 * 60 * 60 * 1000
const id = exportId(1)

testOnEachStore(t, (t, store) => {
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
    const texts = ['"', '\\', '\\"}],"bookmarks":[', 'plain ~!#[]^', '\\u0041', 'ü🦊\u2028']
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

  t.test('each bookmark that stays live is exported once, whatever changes meanwhile', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    const odd = Array.from({ length: 1000 }, (_, index) => bookmark('ada', 2 * index + 1, 'x'.repeat(500)))
    await fixture.addBookmarks(odd)
    await fixture.addExport(id, 'ada')
    const { gate } = await heldJob(t, fixture)
    gate.open()
    for (let index = 0; index < 1000; index += 10) {
      const made = bookmark('ada', 2 * index, 'y')
      const gone = { ...bookmark('ada', 2 * index + 1), encrypted_data: null, deleted_at: start, stamp: 5000 + index }
      const stamp = 10_000 + index
      const changed = { ...bookmark('ada', 2 * index + 3, 'z'), stamp, data_stamp: stamp }
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
})
