import { createHash } from 'node:crypto'
import t from 'tap'
import type { OpenedExport, PlaintextBookmark } from '../../src/client/bookmark.ts'
import { deriveKeys } from '../../src/client/crypto/keys.ts'
import { openExport, streamExport } from '../../src/client/export-file/export-file.ts'
import { CHUNK, exportJson, exportKeys, exportOfSize, HEADER, keys, makeBookmarks, prefix } from './export-samples.ts'
import { fromHex, writeExport } from './second-implementation.ts'
import { readVectors } from './vectors.ts'

const vector = readVectors<{
  master_key: string
  export_key: string
  prefix: string
  json: string
  file: string
  long_spaces: number
  long_sha256: string
  opened: OpenedExport
}>('export-file')

t.test('vector: one chunk', async (t) => {
  const keys = deriveKeys(fromHex(vector.master_key))
  const exportKey = fromHex(vector.export_key)
  const file = Buffer.from(vector.file, 'base64')
  t.same(await openExport(file, { exportKey, keys }), vector.opened)
  t.same(writeExport(exportKey, fromHex(vector.prefix), vector.json), file, 'libsodium makes the same file')
})

t.test('vector: several chunks', async (t) => {
  const keys = deriveKeys(fromHex(vector.master_key))
  const exportKey = fromHex(vector.export_key)
  const json = vector.json.replace('"bookmarks":[', `$&${' '.repeat(vector.long_spaces)}`)
  const file = writeExport(exportKey, fromHex(vector.prefix), json)
  t.equal(createHash('sha256').update(file).digest('hex'), vector.long_sha256)
  t.same(await openExport(file, { exportKey, keys }), vector.opened)
})

t.test('openExport gives exactly the JSON of the interface', async (t) => {
  const bookmarks = makeBookmarks(400)
  const file = writeExport(keys.exportKey, prefix, exportJson(bookmarks))
  t.ok(file.length > 3 * CHUNK)
  const expected = { version: '1', exported_at: '2026-01-02T03:04:05.678Z', bookmark_count: 400, bookmarks }
  t.strictSame(await openExport(file, exportKeys), expected)
})

t.test('an export without bookmarks', async (t) => {
  const file = writeExport(keys.exportKey, prefix, exportJson([]))
  t.match(await openExport(file, exportKeys), { bookmark_count: 0, bookmarks: [] })
})

t.test('chunk borders: the last chunk holds 1 to 65,536 bytes', async (t) => {
  for (const size of [65_535, 65_536, 65_537, 131_071, 131_072, 131_073]) {
    const file = exportOfSize(size)
    t.equal(file.length, HEADER + size + 16 * Math.ceil(size / 65_536))
    t.equal((await openExport(file, exportKeys)).bookmark_count, 2, `${size}`)
  }
})

t.test('reads bytes, blobs, streams and anything that yields bytes, cut anywhere', async (t) => {
  const bookmarks = makeBookmarks(150)
  const file = writeExport(keys.exportKey, prefix, exportJson(bookmarks))
  async function* parts(size: number): AsyncGenerator<Uint8Array, void, undefined> {
    for (let start = 0; start < file.length; start += size) yield file.subarray(start, start + size)
    yield new Uint8Array()
  }
  t.same((await openExport(new Uint8Array(file), exportKeys)).bookmarks, bookmarks)
  t.same((await openExport(new Blob([new Uint8Array(file)]), exportKeys)).bookmarks, bookmarks)
  const { body } = new Response(new Uint8Array(file))
  t.same((await openExport(body as ReadableStream<Uint8Array>, exportKeys)).bookmarks, bookmarks)
  for (const size of [1, 31, 32, 33, 1000, CHUNK - 1, CHUNK, CHUNK + 1, CHUNK + HEADER, 1_000_000]) {
    t.same((await openExport(parts(size), exportKeys)).bookmarks, bookmarks, `parts of ${size}`)
  }
})

t.test('streamExport gives each bookmark as soon as it is there, and the summary at the end', async (t) => {
  const bookmarks = makeBookmarks(400)
  const file = writeExport(keys.exportKey, prefix, exportJson(bookmarks))
  let given = 0
  async function* source(): AsyncGenerator<Uint8Array, void, undefined> {
    for (let start = 0; start < file.length; start += 5000) {
      given = Math.min(file.length, start + 5000)
      yield file.subarray(start, given)
    }
  }
  const reading = streamExport(source(), exportKeys)
  t.same(await reading.next(), { done: false, value: bookmarks[0] })
  t.ok(given < 2 * CHUNK, `after ${given} of ${file.length} bytes`)
  const rest: PlaintextBookmark[] = []
  let last = await reading.next()
  for (; !last.done; last = await reading.next()) rest.push(last.value)
  t.same(rest, bookmarks.slice(1))
  t.same(last.value, { version: '1', exported_at: '2026-01-02T03:04:05.678Z', bookmark_count: 400 })
})

t.test('leaving early lets go of the stream; a stream that breaks breaks the reading', async (t) => {
  const file = writeExport(keys.exportKey, prefix, exportJson(makeBookmarks(400)))
  let cancelled = false
  const endless = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new Uint8Array(file.subarray(0, -CHUNK))),
    cancel: () => {
      cancelled = true
    },
  })
  for await (const bookmark of streamExport(endless, exportKeys)) {
    t.equal(bookmark.id, 'bookmark 0')
    break
  }
  t.ok(cancelled)
  const broken = new ReadableStream<Uint8Array>({ start: (controller) => controller.error(new Error('offline')) })
  await t.rejects(openExport(broken, exportKeys), /offline/)
})

t.test('a file damaged at its end: the bookmarks before the damage are genuine, then it throws', async (t) => {
  const file = writeExport(keys.exportKey, prefix, exportJson(makeBookmarks(400)))
  file.writeUInt8(file.readUInt8(file.length - 1) ^ 1, file.length - 1)
  const read: PlaintextBookmark[] = []
  const reading = async () => {
    for await (const bookmark of streamExport(file, exportKeys)) read.push(bookmark)
  }
  await t.rejects(reading(), { name: 'ExportError', fault: 'damaged' })
  t.ok(read.length > 0 && read.length < 400)
  t.same(read, makeBookmarks(read.length))
})

t.test('a bookmark that does not open fails the whole, naming it', async (t) => {
  const json = exportJson(makeBookmarks(3)).replace('"id":"bookmark 1"', '"id":"bookmark 0"')
  const file = writeExport(keys.exportKey, prefix, json)
  await t.rejects(openExport(file, exportKeys), { name: 'RecordError', fault: 'altered', message: /bookmark 0/ })
  const others = { ...exportKeys, keys: deriveKeys(new Uint8Array(32)) }
  await t.rejects(openExport(exportOfSize(), others), { name: 'RecordError', fault: 'altered' })
})

t.test('a bookmark that lacks a field is refused', async (t) => {
  for (const field of ['id', 'encrypted_data', 'data_hash']) {
    const json = exportJson(makeBookmarks(1)).replace(`"${field}":`, '"else":')
    const file = writeExport(keys.exportKey, prefix, json)
    await t.rejects(openExport(file, exportKeys), { name: 'ExportError', fault: 'malformed', message: /lacks/ }, field)
  }
})

t.test('an export key of another length is refused by name', async (t) => {
  await t.rejects(openExport(exportOfSize(), { exportKey: new Uint8Array(16), keys }), /exportKey/)
})
