import assert from 'node:assert/strict'
import fc from 'fast-check'
import { generateKeyBetween, generateNKeysBetween } from 'fractional-indexing'
import t from 'tap'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { readAddress } from '../../../src/client/bookmark-file/attributes.ts'
import { readBookmarkFile } from '../../../src/client/bookmark-file/read.ts'
import { writeBookmarkFile } from '../../../src/client/bookmark-file/write.ts'
import { depth } from '../../support/depth.ts'
import { bookmarksIn, FILES, folder, link, readSample, sequenceOf } from './samples.ts'

const pathsIn = (bookmarks: PlaintextBookmark[]) => {
  const read = bookmarksIn(writeBookmarkFile(bookmarks))
  return read.map(({ path, title }) => (path === undefined ? title : `${path}/${title}`))
}

t.test('the written file has the form that browsers write', async (t) => {
  const attributes = { personal_toolbar_folder: 'true' }
  const html = writeBookmarkFile([
    folder('Bar', { position: 'a0', dateAdded: '2016-06-15T16:50:12.999Z', attributes }),
    link('x', {
      parentId: 'Bar',
      title: 'A & B',
      url: 'https://example.org/?a=1&b="2"',
      dateAdded: '2016-06-15T16:50:12Z',
      dateModified: '2016-06-15T18:50:13+02:00',
      tags: ['a', 'b c'],
      favicon: 'data:image/png;base64,AAAA',
      description: 'one\n<two>',
    }),
    { id: 's', title: '', source: 'bookmarks', type: 'separator', position: 'a1' },
    link('y', { position: 'a2', favicon: 'https://example.org/favicon.ico' }),
  ])
  t.equal(
    html,
    `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<!-- This is an automatically generated file.
     It will be read and overwritten.
     DO NOT EDIT! -->
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<META HTTP-EQUIV="Content-Security-Policy" CONTENT="default-src 'none'; base-uri 'none'; form-action 'none'">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
    <DT><H3 ADD_DATE="1466009412" PERSONAL_TOOLBAR_FOLDER="true">Bar</H3>
    <DL><p>
        <DT><A HREF="https://example.org/?a=1&amp;b=&quot;2&quot;" ADD_DATE="1466009412" LAST_MODIFIED="1466009413" ICON="data:image/png;base64,AAAA" TAGS="a,b c">A &amp; B</A>
        <DD>one
&lt;two&gt;
    </DL><p>
    <HR>
    <DT><A HREF="https://example.org/y" ICON_URI="https://example.org/favicon.ico">y</A>
</DL><p>
`,
  )
})

t.test('whatever other clients have written into the fields, the file has all bookmarks', async (t) => {
  const anything = fc.oneof(fc.anything(), fc.constantFrom(null, 5, '', 'text', ['a', 5], { deep: [null] }))
  const names = ['title', 'url', 'tags', 'favicon', 'description', 'dateAdded', 'dateModified', 'position', 'parentId']
  const fields = fc.dictionary(fc.constantFrom(...names, 'attributes', 'type'), anything)
  const property = fc.property(fields, (odd) => {
    const bookmarks = [{ ...link('odd'), ...JSON.parse(JSON.stringify(odd)) }, link('plain')]
    const read = readBookmarkFile(writeBookmarkFile(bookmarks))
    return read.bookmarks.length + read.unread === 2
  })
  fc.assert(property, { numRuns: 500 })
  t.pass()
})

t.test('bookmarks are ordered by position, then as in the array; those without a position come last', async (t) => {
  const bookmarks = [
    link('none 1'),
    link('Z', { position: 'Zz' }),
    link('b', { position: 'b00' }),
    link('none 2'),
    link('a1', { position: 'a1' }),
    link('a1 again', { position: 'a1' }),
    link('a0V', { position: 'a0V' }),
  ]
  t.same(pathsIn(bookmarks), ['Z', 'a0V', 'a1', 'a1 again', 'b', 'none 1', 'none 2'])
  t.same(pathsIn([link('2'), link('1'), link('3')]), ['2', '1', '3'])
})

t.test('bookmarks whose parent is missing, is not a folder, or is the bookmark itself are written', async (t) => {
  const bookmarks = [
    link('orphan', { parentId: 'gone' }),
    link('of a link', { parentId: 'orphan' }),
    link('of a separator', { parentId: 's' }),
    { id: 's', title: '', source: 'bookmarks' as const, type: 'separator' as const },
    folder('own parent', { parentId: 'own parent' }),
    link('inside', { parentId: 'own parent' }),
  ]
  t.same(pathsIn(bookmarks), ['orphan', 'of a link', 'of a separator', '', 'own parent', 'own parent/inside'])
})

t.test('a cycle of folders is cut at the first one, and all are written', async (t) => {
  const bookmarks = [
    link('deep', { parentId: 'tail' }),
    folder('tail', { parentId: 'b' }),
    folder('a', { parentId: 'c' }),
    folder('b', { parentId: 'a' }),
    folder('c', { parentId: 'b' }),
    link('x', { parentId: 'c' }),
  ]
  const paths = pathsIn(bookmarks)
  t.equal(paths.length, 6)
  t.same(paths, ['a', 'a/b', 'a/b/tail', 'a/b/tail/deep', 'a/b/c', 'a/b/c/x'])
})

t.test('two folders with one id, and a folder listed twice: each is written as often as it is given', async (t) => {
  const twice = folder('twice')
  const inner = folder('inner', { parentId: 'twice' })
  const namesake = folder('twice', { title: 'namesake' })
  const paths = pathsIn([twice, twice, namesake, inner, inner, link('x', { parentId: 'inner' })])
  t.same(paths.toSorted(), ['namesake', 'twice', 'twice', 'twice/inner', 'twice/inner', 'twice/inner/x'])
})

t.test('the text of an address, title or attribute never becomes markup', async (t) => {
  const evil = `"'><script>alert(1)</script></A></H3><DT><A HREF="x`
  const attributes = { shortcuturl: evil, 'x onclick="1"': '', href: 'y', number: 1 as unknown as string }
  const html = writeBookmarkFile([
    link('a', { title: evil, url: `javascript:${evil}`, tags: [evil], favicon: evil, description: evil }),
    folder('b', { title: evil, attributes }),
  ])
  t.notMatch(html, /<script|onclick|NUMBER/i)
  const [a, b] = bookmarksIn(html)
  t.hasStrict(a, { title: evil, url: `javascript:${evil}`, tags: [evil], favicon: evil, description: evil })
  t.same(b?.attributes, { shortcuturl: evil })
  t.equal(b?.url, undefined)
})

t.test('stored attributes that would have an effect in a page are not written', async (t) => {
  const active = { onfocus: 'x()', autofocus: '', style: 'x', tabindex: '0', srcset: 'x' }
  const attributes = { ...active, 'data-cover': 'u', toread: '1' }
  const html = writeBookmarkFile([
    link('a', { attributes }),
    folder('b', { attributes }),
    { id: 's', title: '', source: 'bookmarks', type: 'separator', attributes },
  ])
  const written = html.match(/<(?:A HREF="https:\/\/example.org\/a"|H3|HR) DATA-COVER="u" TOREAD="1">/g)
  t.equal(written?.length, 3)
  t.notMatch(html, /onfocus|style|tabindex|srcset/i)
})

t.test('no attribute name makes the file contain an attribute with an effect in a page', async () => {
  const active = fc.constantFrom('on', 'ON', 'style', 'src', 'data-')
  const name = fc.oneof(active, fc.string(), fc.string({ unit: 'binary' }))
  const property = fc.property(fc.array(fc.tuple(name, name, fc.string())), (odd) => {
    const attributes = Object.fromEntries(odd.map(([start, end, value]) => [start + end, value]))
    const written = writeBookmarkFile([link('a', { attributes })])
    const names = [...written.matchAll(/(?<= )([^\s="]+)="[^"]*"/g)].map(([, written]) => written ?? '')
    const isKnown = (name: string) => /^(?:HTTP-EQUIV|CONTENT|HREF|DATA-[A-Z0-9_-]+)$/.test(name)
    assert.ok(names.every(isKnown))
  })
  fc.assert(property, { numRuns: depth(300, 3000) })
})

t.test('a title is one line, whatever it contains: Chromium reads line by line', async (t) => {
  const html = writeBookmarkFile([link('a', { title: 'two\nlines\r\nand\ttab' }), link('b', { url: 'x\ny' })])
  t.match(html, />two&#10;lines&#13;&#10;and&#9;tab<\/A>\n/)
  t.hasStrict(bookmarksIn(html), [{ title: 'two\nlines\r\nand\ttab' }, { url: 'xy' }])
})

t.test('invalid dates, and fields of a wrong type, are left out', async (t) => {
  const dates = { dateAdded: 'soon', dateModified: '1960-01-01T00:00:00Z' }
  const odd = { ...dates, attributes: 'x', position: 7, description: null } as unknown as Partial<PlaintextBookmark>
  t.match(writeBookmarkFile([link('a', odd)]), /<DT><A HREF="[^"]*">a<\/A>\n<\/DL>/)
})

t.test("a separator's title is written as its NAME", async (t) => {
  const html = writeBookmarkFile([{ id: 's', title: 'Work', source: 'bookmarks', type: 'separator' }])
  t.match(html, '<HR NAME="Work">')
  t.hasStrict(bookmarksIn(html), [{ type: 'separator', title: 'Work', attributes: undefined }])
})

for (const name of FILES) {
  t.test(`${name}: reading the written file again gives the same bookmarks in the same order`, async (t) => {
    const bookmarks = bookmarksIn(readSample(name))
    const written = writeBookmarkFile(bookmarks)
    t.same(sequenceOf(bookmarksIn(written)), sequenceOf(bookmarks))
    t.equal(writeBookmarkFile(bookmarks.toReversed()), written, 'the file does not depend on the order of the array')
  })
}

const markup = ['<', '>', '&', '"', "'", '/', 'A', 'DT', 'DD', 'HR', '!--', '&amp;', '#', ';', ' ', '🦊']
const units = ['grapheme', 'binary', fc.constantFrom(...markup)] as const
const text = fc.oneof(...units.map((unit) => fc.string({ unit })))
const lines = fc.oneof(
  text,
  fc.array(text).map((parts) => parts.join('\n')),
  fc.string({ unit: fc.constantFrom('\n', '\r', ' ', '\t', 'x') }),
)
const code = text.map((rest) => `javascript:${rest}`)
const url = fc.oneof(fc.webUrl(), text, code).map(readAddress).filter(Boolean)
const date = fc
  .date({ min: new Date('1971-01-01T00:00:00Z'), max: new Date('2500-01-01T00:00:00Z'), noInvalidDate: true })
  .map((date) => `${date.toISOString().slice(0, 19)}.000Z`)
const tag = fc
  .string({ unit: 'grapheme', minLength: 1 })
  .map((tag) => tag.replaceAll(',', '').trim())
  .filter(Boolean)
const data = text.map((rest) => `data:${rest}`)
const attribute = fc.constantFrom('shortcuturl', 'private', 'last_visit', 'post_data')
const details = fc.record(
  {
    dateAdded: date,
    dateModified: date,
    tags: fc.uniqueArray(tag, { minLength: 1 }),
    favicon: fc.oneof(data, fc.webUrl()),
    description: lines.filter(Boolean),
    attributes: fc.dictionary(attribute, lines, { minKeys: 1 }),
  },
  { requiredKeys: [] },
)
const item = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(details, lines, url).map(([details, title, url]) => ({ ...details, title, url })) },
  { weight: 3, arbitrary: fc.tuple(details, lines).map(([details, title]) => ({ ...details, title })) },
  { weight: 1, arbitrary: fc.constant({ title: '', type: 'separator' }) },
)
/** Each item with a number that selects its parent: a folder before it, or the top level. */
const tree = fc.array(fc.tuple(item, fc.nat()), { maxLength: 40 })

t.test('any written tree reads back as the same bookmarks in the same order', async () => {
  fc.assert(
    fc.property(tree, (items) => {
      const bookmarks = grow(items)
      const read = bookmarksIn(writeBookmarkFile(bookmarks))
      assert.equal(read.length, bookmarks.length)
      const key = (entry: object) => JSON.stringify(entry)
      assert.deepEqual(sequenceOf(read).map(key).toSorted(), sequenceOf(bookmarks).map(key).toSorted())
      assert.deepEqual(sequenceOf(bookmarksIn(writeBookmarkFile(read))), sequenceOf(read))
    }),
    { numRuns: depth(100, 300) },
  )
})

function grow(items: [object, number][]): PlaintextBookmark[] {
  const folders: (string | undefined)[] = [undefined]
  const positions = new Map<string | undefined, string>()
  return items.map(([fields, place], index) => {
    const parentId = folders[place % folders.length]
    const position = generateKeyBetween(positions.get(parentId) ?? null, null)
    positions.set(parentId, position)
    const bookmark = { ...folder(`${index}`, { position }), ...fields, ...(parentId && { parentId }) }
    if (!('url' in fields) && !('type' in fields)) folders.push(bookmark.id)
    return bookmark
  })
}

t.test('all bookmarks are written whatever their parents are, also cycles and unknown parents', async () => {
  const ids = fc.constantFrom('0', '1', '2', '3', '4', '5', 'gone', undefined)
  const kind = fc.constantFrom<object>({}, {}, {}, { url: 'x' }, { type: 'separator' })
  fc.assert(
    fc.property(fc.array(fc.tuple(ids, kind), { maxLength: 8 }), (places) => {
      const bookmarks = places.map(([parentId, kind], index) => {
        return { ...folder(`${index}`), ...(parentId && { parentId }), ...kind }
      })
      const titles = bookmarksIn(writeBookmarkFile(bookmarks)).map(({ title }) => title)
      assert.deepEqual(titles.toSorted(), bookmarks.map(({ title }) => title).toSorted())
    }),
    { numRuns: depth(200, 1000) },
  )
})

t.test('reading any text has no error, except that it is not a bookmark file', async () => {
  const tags = ['<DL>', '</DL>', '<DT>', '<A>', '<A HREF="x">', '</A>', '<H3>', '</H3>', '<DD>', '<HR>', '<p>', '<svg>']
  const piece = fc.constantFrom(...tags, 'x', '\n', '<!--', '&lt')
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, text)), (pieces) => {
      const { bookmarks } = readBookmarkFile(`<DL>${pieces.join('')}`)
      const titles = sequenceOf(bookmarks)
      assert.deepEqual(sequenceOf(bookmarksIn(writeBookmarkFile(bookmarks))), titles)
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
  const read = bookmarksIn(html)
  t.equal(read.length, nested)
  t.ok(read.every(({ parentId }, index) => parentId === read[index - 1]?.id))
})

t.test('positions have the order of fractional-indexing; items without one come last, in their order', async (t) => {
  const expected = generateNKeysBetween(null, null, 5000)
  const read = bookmarksIn(`<DL>${'<DT><A HREF="https://example.org/">x</A>'.repeat(5000)}</DL>`)
  t.same(
    read.map(({ position }) => position),
    expected,
  )
  const items = [link('1'), link('2', { position: 'a' }), link('3'), link('4', { position: 'Z' })]
  t.same(pathsIn(items), ['4', '2', '1', '3'])
})
