import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { ExportJson } from '../../src/client/export-file/json.ts'

const encoder = new TextEncoder()

/** Reads a text in pieces of some size. */
function read(text: string | Uint8Array, size = 7) {
  const bytes = typeof text === 'string' ? encoder.encode(text) : text
  const json = new ExportJson()
  const elements: object[] = []
  for (let start = 0; start < bytes.length; start += size)
    elements.push(...json.push(bytes.subarray(start, start + size)))
  return { elements, summary: json.end() }
}

const around = (bookmarks: string, count: number) =>
  `{"version":"1","exported_at":"2026-01-02T03:04:05.678Z","bookmarks":[${bookmarks}],"bookmark_count":${count}}`

t.test('any elements, in pieces of any size, with any white space', async () => {
  const element = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue())
  const layout = fc.constantFrom(undefined, 1, '\t', '\r\n ')
  fc.assert(
    fc.property(fc.array(element), fc.integer({ min: 1, max: 50 }), layout, (bookmarks, size, indent) => {
      const summary = { version: '1', exported_at: 'then', bookmark_count: bookmarks.length }
      const text = JSON.stringify(
        { version: '1', exported_at: 'then', bookmarks, bookmark_count: bookmarks.length },
        null,
        indent,
      )
      assert.deepEqual(read(text, size), { elements: JSON.parse(JSON.stringify(bookmarks)), summary })
    }),
  )
})

t.test('unknown fields before and after, and a count before the bookmarks, are fine', async (t) => {
  const text =
    '{"bookmark_count":1,"x":{"bookmarks":[1]},"y":["bookmarks",{}],"z\\",\\"bookmarks":[2],"version":"1","exported_at":"then",' +
    '"bookmarks" : [ {"id":"a"} ] ,"more":[[]]}'
  t.same(read(text).elements, [{ id: 'a' }])
})

t.test('what is not the JSON of an export is refused, naming the fault', async (t) => {
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
  refused(around('', 0).replace('"version":"1"', '"version":"2"'), /has version 2/, 'unknown-version')
  refused(Uint8Array.of(...encoder.encode('{"bookmarks":[{"a":"'), 0xff), /UTF-8/)
  refused(Uint8Array.of(...encoder.encode(around('', 0)), 0xe2, 0x82), /UTF-8/)
})

t.test('what a hostile file may make the reader hold is bounded', async (t) => {
  const json = new ExportJson()
  const mebibyte = encoder.encode(' '.repeat(600_000))
  t.throws(() => json.push(mebibyte), { fault: 'malformed', message: /around/ })
  const longElement = new ExportJson()
  longElement.push(encoder.encode('{"bookmarks":[{"a":"'))
  longElement.push(mebibyte)
  t.throws(() => longElement.push(mebibyte), { fault: 'malformed', message: /bookmark 0 is too long/ })
})
