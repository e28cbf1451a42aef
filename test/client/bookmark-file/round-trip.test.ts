import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { positionAt, readBookmarkFile } from '../../../src/client/bookmark-file/read.ts'
import { writeBookmarkFile } from '../../../src/client/bookmark-file/write.ts'
import { depth } from '../../support/depth.ts'
import { FILES, readSample, sequenceOf } from './samples.ts'

for (const name of FILES) {
  t.test(`${name}: reading, writing and reading gives the same sequence`, async (t) => {
    const bookmarks = readBookmarkFile(readSample(name))
    const written = writeBookmarkFile(bookmarks)
    t.same(sequenceOf(readBookmarkFile(written)), sequenceOf(bookmarks))
    t.equal(writeBookmarkFile(bookmarks.toReversed()), written, 'whatever the order of the array')
  })
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('<', '>', '&', '"', "'", '/', 'A', 'DT', 'DD', 'HR', '!--', '&amp;', '#', ';', ' ', '🦊'),
  }),
)
const lines = fc.oneof(
  text,
  fc.array(text).map((parts) => parts.join('\n')),
  fc.string({ unit: fc.constantFrom('\n', '\r', ' ', '\t', 'x') }),
)
const url = fc.oneof(
  fc.webUrl(),
  text,
  text.map((rest) => `javascript:${rest}`),
)
const date = fc
  .date({ min: new Date('1971-01-01T00:00:00Z'), max: new Date('2500-01-01T00:00:00Z'), noInvalidDate: true })
  .map((date) => `${date.toISOString().slice(0, 19)}.000Z`)
const tag = fc
  .string({ unit: 'grapheme', minLength: 1 })
  .map((tag) => tag.replaceAll(',', '').trim())
  .filter(Boolean)
const details = fc.record(
  {
    dateAdded: date,
    dateModified: date,
    tags: fc.array(tag, { minLength: 1 }),
    favicon: fc.oneof(
      text.map((rest) => `data:${rest}`),
      fc.webUrl(),
    ),
    description: lines.filter(Boolean),
    attributes: fc.dictionary(fc.constantFrom('shortcuturl', 'private', 'last_visit', 'post_data'), lines, {
      minKeys: 1,
    }),
  },
  { requiredKeys: [] },
)
const item = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(details, lines, url).map(([details, title, url]) => ({ ...details, title, url })) },
  { weight: 3, arbitrary: fc.tuple(details, lines).map(([details, title]) => ({ ...details, title })) },
  { weight: 1, arbitrary: fc.constant({ title: '', type: 'separator' }) },
)
/** Where an item goes: into one of the folders before it, or to the top. */
const tree = fc.array(fc.tuple(item, fc.nat()), { maxLength: 40 })

t.test('any tree: reading what was written gives the same sequence', async () => {
  fc.assert(
    fc.property(tree, (items) => {
      const bookmarks = grow(items)
      const read = readBookmarkFile(writeBookmarkFile(bookmarks))
      assert.equal(read.length, bookmarks.length)
      const key = (entry: object) => JSON.stringify(entry)
      assert.deepEqual(sequenceOf(read).map(key).toSorted(), sequenceOf(bookmarks).map(key).toSorted())
      assert.deepEqual(sequenceOf(readBookmarkFile(writeBookmarkFile(read))), sequenceOf(read))
    }),
    { numRuns: depth(100, 300) },
  )
})

function grow(items: [object, number][]): PlaintextBookmark[] {
  const folders: (string | undefined)[] = [undefined]
  const sizes = new Map<string | undefined, number>()
  return items.map(([fields, place], index) => {
    const parentId = folders[place % folders.length]
    const size = sizes.get(parentId) ?? 0
    sizes.set(parentId, size + 1)
    const bookmark = {
      id: `${index}`,
      source: 'bookmarks',
      position: positionAt(size),
      ...fields,
      ...(parentId && { parentId }),
    }
    if (!('url' in fields) && !('type' in fields)) folders.push(bookmark.id)
    return bookmark as unknown as PlaintextBookmark
  })
}

t.test('any arrangement of parents, cycles and strangers included: nothing is lost', async () => {
  const ids = fc.constantFrom('0', '1', '2', '3', '4', '5', 'gone', undefined)
  const kind = fc.constantFrom<object>({}, {}, {}, { url: 'x' }, { type: 'separator' })
  fc.assert(
    fc.property(fc.array(fc.tuple(ids, kind), { maxLength: 8 }), (places) => {
      const bookmarks = places.map(([parentId, kind], index) => ({
        id: `${index}`,
        title: `title ${index}`,
        source: 'bookmarks' as const,
        ...(parentId && { parentId }),
        ...kind,
      }))
      const titles = readBookmarkFile(writeBookmarkFile(bookmarks)).map(({ title }) => title)
      assert.deepEqual(titles.toSorted(), bookmarks.map(({ title }) => title).toSorted())
    }),
    { numRuns: depth(200, 1000) },
  )
})

t.test('any text is read without an error, but for that it is no bookmark file', async () => {
  const piece = fc.constantFrom(
    '<DL>',
    '</DL>',
    '<DT>',
    '<A HREF="x">',
    '</A>',
    '<H3>',
    '</H3>',
    '<DD>',
    '<HR>',
    '<p>',
    'x',
    '\n',
    '<!--',
    '<svg>',
    '&lt',
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, text)), (pieces) => {
      const bookmarks = readBookmarkFile(`<DL>${pieces.join('')}`)
      const titles = sequenceOf(bookmarks)
      assert.deepEqual(sequenceOf(readBookmarkFile(writeBookmarkFile(bookmarks))), titles)
    }),
    { numRuns: depth(200, 1000) },
  )
})

const nested = depth(5_000, 10_000)
t.test(`folders nested ${nested} deep`, async (t) => {
  const folders = Array.from({ length: nested }, (_, index) => ({
    id: `${index}`,
    title: 'x',
    source: 'bookmarks' as const,
    ...(index > 0 && { parentId: `${index - 1}` }),
  }))
  const html = writeBookmarkFile(folders.toReversed())
  t.ok(html.length < 300 * nested, `${html.length} characters`)
  const read = readBookmarkFile(html)
  t.equal(read.length, nested)
  t.ok(read.every(({ parentId }, index) => parentId === read[index - 1]?.id))
})
