import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import type { OpenedExport, PlaintextBookmark } from '../../src/client/bookmark.ts'
import { deriveKeys } from '../../src/client/crypto/keys.ts'
import { chunkNonce, openExport, streamExport } from '../../src/client/export-file/export-file.ts'
import { ExportJson } from '../../src/client/export-file/json.ts'
import { encryptFile } from '../../src/service/exports/file.ts'
import { depth } from '../support/depth.ts'
import { CHUNK, exportJson, exportKeys, exportOfSize, HEADER, keys, makeBookmarks, prefix } from './export-samples.ts'
import { exportHeader, fromHex, seal, writeExport } from './second-implementation.ts'
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

t.test('vector: one chunk, and several', async (t) => {
  const keys = deriveKeys(fromHex(vector.master_key))
  const exportKey = fromHex(vector.export_key)
  const file = Buffer.from(vector.file, 'base64')
  const long = vector.json.replace('"bookmarks":[', `$&${' '.repeat(vector.long_spaces)}`)
  const [short, several] = [vector.json, long].map((json) => writeExport(exportKey, fromHex(vector.prefix), json))
  t.same(short, file, 'libsodium makes the same file')
  t.equal(
    createHash('sha256')
      .update(several as Buffer)
      .digest('hex'),
    vector.long_sha256,
  )
  for (const one of [file, several]) t.same(await openExport(one as Buffer, { exportKey, keys }), vector.opened)
})

t.test('openExport returns exactly the fields that its interface names', async (t) => {
  const bookmarks = makeBookmarks(400)
  const file = writeExport(keys.exportKey, prefix, exportJson(bookmarks))
  t.ok(file.length > 3 * CHUNK)
  const expected = { version: '1', exported_at: '2026-01-02T03:04:05.678Z', bookmark_count: 400, bookmarks }
  t.strictSame(await openExport(file, exportKeys), expected)
})

t.test('chunk borders: the last chunk holds 1 to 65,536 bytes, also in a file that the service writes', async (t) => {
  const bookmarks = makeBookmarks(2)
  const json = exportJson(bookmarks)
  async function* pieces(text: string): AsyncGenerator<string> {
    for (let start = 0; start < text.length; start += 50_000) yield text.slice(start, start + 50_000)
  }
  for (const size of [Buffer.byteLength(json), 65_535, 65_536, 65_537, 131_071, 131_072, 131_073]) {
    const file = exportOfSize(size)
    t.equal(file.length, HEADER + size + 16 * Math.ceil(size / 65_536))
    t.same((await openExport(file, exportKeys)).bookmarks, bookmarks, `${size}`)
    const spaced = json.replace('"bookmarks":[', `$&${' '.repeat(size - Buffer.byteLength(json))}`)
    const written = encryptFile(keys.exportKey, pieces(spaced))
    t.same((await openExport(written, exportKeys)).bookmarks, bookmarks, `${size}, written by the service`)
  }
})

t.test('openExport reads bytes, blobs, streams and anything that yields bytes, cut anywhere', async (t) => {
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

t.test('streamExport yields each bookmark as soon as its bytes have arrived, and the summary at the end', async (t) => {
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

t.test("a reader that stops early cancels the stream, and a stream's error ends the reading", async (t) => {
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

t.test('streamExport yields the genuine bookmarks before a damage, and then throws', async (t) => {
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

t.test('a bookmark that does not open makes openExport throw an error that names it', async (t) => {
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

t.test('an export key of a wrong length is refused, and the error names it', async (t) => {
  await t.rejects(openExport(exportOfSize(), { exportKey: new Uint8Array(16), keys }), /exportKey/)
})

const fault = (fault: string, message = /./) => ({ name: 'ExportError', fault, message })

/** A file of three chunks, the last of which is short. */
const file = exportOfSize(2 * 65_536 + 100)

function flip(file: Buffer, index: number, bit: number): Buffer {
  const flipped = Buffer.from(file)
  flipped.writeUInt8(file.readUInt8(index) ^ (1 << bit), index)
  return flipped
}

function chunk(index: number): Buffer {
  return file.subarray(HEADER + index * CHUNK, HEADER + (index + 1) * CHUNK)
}

function faultAt(index: number): string {
  if (index < 4) return 'not-an-export'
  if (index < 5) return 'unknown-version'
  return index < 13 ? 'other-key' : 'damaged'
}

t.test('a flipped bit in any byte of a file of one chunk is noticed', async () => {
  const small = exportOfSize()
  // Without --deep, only every seventh byte of a chunk is flipped.
  for (let index = 0; index < small.length; index += index < HEADER ? 1 : depth(7, 1)) {
    await assert.rejects(openExport(flip(small, index, index % 8), exportKeys), fault(faultAt(index)))
  }
})

t.test('a flipped bit in the header, around chunk borders or at random places is noticed', async () => {
  const borders = [HEADER + CHUNK, HEADER + 2 * CHUNK, file.length]
  const near = borders.flatMap((border) => Array.from({ length: 40 }, (_, index) => border - 20 + index))
  const exact = [...Array.from({ length: HEADER }, (_, index) => index), ...near].filter((index) => index < file.length)
  for (const index of exact) await assert.rejects(openExport(flip(file, index, 7), exportKeys), fault(faultAt(index)))
  await fc.assert(
    fc.asyncProperty(fc.nat(file.length - 1), fc.nat(7), async (index, bit) => {
      await assert.rejects(openExport(flip(file, index, bit), exportKeys), fault(faultAt(index)))
    }),
    { numRuns: depth(30, 2000) },
  )
})

t.test('a file whose end is missing is damaged, wherever the cut is', async (t) => {
  const at = (length: number) => openExport(file.subarray(0, length), exportKeys)
  await t.rejects(at(0), fault('not-an-export'))
  await t.rejects(at(3), fault('not-an-export'))
  for (const length of [4, 5, 12, 31]) await t.rejects(at(length), fault('damaged', /within its header/))
  await t.rejects(at(HEADER), fault('damaged', /after its header/))
  for (let chunks = 0; chunks < 3; chunks++) {
    const start = HEADER + chunks * CHUNK
    for (const rest of [1, 15, 16, 17, 100, 115]) await t.rejects(at(start + rest), fault('damaged', /truncated/))
  }
  await t.rejects(at(HEADER + CHUNK), fault('damaged'), 'cut exactly after the first chunk')
  await t.rejects(at(HEADER + 2 * CHUNK), fault('damaged'), 'cut exactly after the second chunk')
  await t.resolves(at(file.length))
})

t.test('swapped, missing, repeated and foreign chunks are noticed', async (t) => {
  const header = file.subarray(0, HEADER)
  const built = (...chunks: Buffer[]) => openExport(Buffer.concat([header, ...chunks]), exportKeys)
  const [a, b, c] = [chunk(0), chunk(1), chunk(2)]
  await t.resolves(built(a, b, c))
  await t.rejects(built(b, a, c), fault('damaged', /Chunk 0/))
  await t.rejects(built(a, c, b), fault('damaged', /Chunk 1/))
  await t.rejects(built(a, c), fault('damaged', /Chunk 1/))
  await t.rejects(built(b, c), fault('damaged', /Chunk 0/))
  await t.rejects(built(a, a, b, c), fault('damaged', /Chunk 1/))
  const other = writeExport(keys.exportKey, new Uint8Array(19), Buffer.alloc(2 * 65_536 + 100, 0x20))
  await t.rejects(built(a, other.subarray(HEADER + CHUNK, HEADER + 2 * CHUNK), c), fault('damaged', /Chunk 1/))
})

t.test('trailing bytes are noticed', async (t) => {
  const full = exportOfSize(2 * 65_536)
  for (const length of [1, 16, 17, CHUNK, CHUNK + 1]) {
    const rest = Buffer.alloc(length)
    await t.rejects(openExport(Buffer.concat([full, rest]), exportKeys), fault('trailing-bytes'), `full, ${length}`)
    await t.rejects(openExport(Buffer.concat([file, rest]), exportKeys), fault('damaged', /bytes after its end/))
  }
  await t.rejects(openExport(Buffer.concat([full, full]), exportKeys), fault('trailing-bytes'), 'the file twice')
})

t.test('a last chunk without content is refused', async (t) => {
  const header = exportHeader(keys.exportKey, prefix)
  const empty = seal(keys.exportKey, chunkNonce(header, 0, true), header, new Uint8Array())
  await t.rejects(openExport(Buffer.concat([header, empty]), exportKeys), fault('damaged'))
  const spaces = new Uint8Array(65_536).fill(0x20)
  const first = seal(keys.exportKey, chunkNonce(header, 0, false), header, spaces)
  const last = seal(keys.exportKey, chunkNonce(header, 1, true), header, new Uint8Array())
  await t.rejects(openExport(Buffer.concat([header, first, last]), exportKeys), fault('damaged', /Chunk 1/))
})

t.test('a file of another kind, or of a later version, is refused', async (t) => {
  await t.rejects(openExport(Buffer.from('<!DOCTYPE NETSCAPE-Bookmark-file-1>'), exportKeys), fault('not-an-export'))
  await t.rejects(openExport(flip(file, 4, 1), exportKeys), fault('unknown-version', /version 3/))
})

t.test('a nonce is prefix, big-endian counter and flag; more than 2^32 chunks are an error', async (t) => {
  const header = new Uint8Array(exportHeader(keys.exportKey, prefix))
  const tail = (counter: number, last: boolean) => [...chunkNonce(header, counter, last).subarray(19)]
  t.same(chunkNonce(header, 0, false).subarray(0, 19), prefix)
  t.same(tail(0, false), [0, 0, 0, 0, 0])
  t.same(tail(0x01020304, true), [1, 2, 3, 4, 1])
  t.same(tail(0xffff_ffff, true), [255, 255, 255, 255, 1])
  t.throws(() => chunkNonce(header, 0x1_0000_0000, false), fault('counter-overflow'))
})

const encoder = new TextEncoder()

/** Reads a text in pieces of a given size. */
function read(text: string | Uint8Array, size = 7) {
  const bytes = typeof text === 'string' ? encoder.encode(text) : text
  const json = new ExportJson()
  const lists: Partial<Record<string, object[]>> = {}
  for (let start = 0; start < bytes.length; start += size)
    for (const { list, record } of json.push(bytes.subarray(start, start + size))) {
      const records = lists[list] ?? []
      lists[list] = records
      records.push(record)
    }
  return { lists, elements: lists.bookmarks ?? [], summary: json.end() }
}

const around = (bookmarks: string, count: number) =>
  `{"version":"1","exported_at":"2026-01-02T03:04:05.678Z","bookmarks":[${bookmarks}],"bookmark_count":${count}}`

t.test('the reader finds any bookmarks in pieces of any size, with any white space', async () => {
  const element = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue())
  const list = fc.array(element)
  const contents = fc.record({ bookmarks: list, groups: list, history: list }, { requiredKeys: ['bookmarks'] })
  const layout = fc.constantFrom(undefined, 1, '\t', '\r\n ')
  fc.assert(
    fc.property(contents, fc.integer({ min: 1, max: 50 }), layout, (lists, size, indent) => {
      const { length } = lists.bookmarks
      const summary = { version: '1', exported_at: '2026-01-02T03:04:05.678Z', bookmark_count: length }
      const filled = Object.fromEntries(Object.entries(lists).filter(([, { length }]) => length > 0))
      const found = read(JSON.stringify({ ...lists, ...summary }, null, indent), size)
      assert.deepEqual([found.lists, found.summary], [JSON.parse(JSON.stringify(filled)), summary])
    }),
  )
})

t.test('unknown fields and a count before the bookmarks are accepted', async (t) => {
  const text =
    '{"bookmark_count":1,"x":{"bookmarks":[1]},"y":["bookmarks",{}],"z\\",\\"bookmarks":[2],"version":"1","exported_at":"2026-01-02",' +
    '"bookmarks" : [ {"id":"a"} ] ,"more":[[]]}'
  t.same(read(text).elements, [{ id: 'a' }])
})

t.test('a long text of line breaks, or of quotes, is searched only once', async (t) => {
  for (const text of ['\n'.repeat(20_000), '"'.repeat(20_000)]) {
    const json = around(JSON.stringify({ id: 'a', text }), 1)
    let searched = 0
    const { indexOf } = String.prototype
    // Not by `t.intercept`, which records the stack of each call.
    Object.assign(String.prototype, {
      indexOf(this: string, one: string, from = 0) {
        const found = indexOf.call(this, one, from)
        searched += (found === -1 ? this.length : found) - from
        return found
      },
    })
    const { elements } = read(json, json.length)
    Object.assign(String.prototype, { indexOf })
    t.same(elements, [{ id: 'a', text }])
    t.ok(searched < 3 * json.length, `${searched} characters of ${json.length}`)
  }
})

t.test("JSON that is not an export's is refused, and the error names the fault", async (t) => {
  const refused = (text: string | Uint8Array, message: RegExp, fault = 'malformed') =>
    t.throws(() => read(text), { name: 'ExportError', fault, message }, String(text).slice(0, 60))
  refused('', /bookmarks are missing/)
  refused('null', /bookmarks are missing/)
  refused('[{"bookmarks":[]}]', /bookmarks are missing/)
  refused('{"bookmarks":{}}', /bookmarks are missing/)
  refused('{"bookmarks":[]', /not JSON/)
  refused('{"bookmarks":[{}', /missing or incomplete/)
  refused('{"bookmarks":["', /missing or incomplete/)
  refused(`${around('', 0)}}`, /not JSON/)
  refused(`${around('', 0)}{}`, /not JSON/)
  refused(around('', 0).replace('}', ',"bookmarks":[]}'), /twice/)
  refused(around('{}{}', 2), /comma/)
  refused(around(',{}', 1), /not JSON/)
  refused(around('{},', 1), /ends with something else/)
  refused(around('{},,{}', 2), /not JSON/)
  refused(around('1', 1), /ends with something else/)
  refused(around('1,{}', 1), /not JSON/)
  refused(around('"{}"', 1), /ends with something else/)
  refused(around('{]', 1), /not JSON/)
  refused(around('{"a":"\u0001"}', 1), /not JSON/)
  refused(around('{}', 2), /bookmark_count is 2, but it contains 1 bookmarks/)
  refused(around('', 1), /bookmark_count is 1, but it contains 0 bookmarks/)
  refused(around('{}', 1).replace('"bookmark_count":1', '"bookmark_count":"1"'), /bookmark_count/)
  refused(around('', 0).replace('"exported_at":', '"exported":'), /exported_at/)
  refused(around('', 0).replace('2026-01-02T03:04:05.678Z', 'not a date'), /exported_at/)
  refused(around('', 0).replace('"version":"1"', '"version":"2"'), /has version 2/, 'unknown-version')
  refused(Uint8Array.of(...encoder.encode('{"bookmarks":[{"a":"'), 0xff), /UTF-8/)
  refused(Uint8Array.of(...encoder.encode(around('', 0)), 0xe2, 0x82), /UTF-8/)
})

t.test('a hostile file cannot make the reader use unlimited memory', async (t) => {
  const json = new ExportJson()
  const mebibyte = encoder.encode(' '.repeat(600_000))
  t.throws(() => json.push(mebibyte), { fault: 'malformed', message: /around/ })
  const longElement = new ExportJson()
  longElement.push(encoder.encode('{"bookmarks":[{"a":"'))
  longElement.push(mebibyte)
  t.throws(() => longElement.push(mebibyte), { fault: 'malformed', message: /element of .bookmarks. is too long/ })
})
