import fc from 'fast-check'
import t from 'tap'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { readBookmarkFile } from '../../../src/client/bookmark-file/read.ts'
import { writeBookmarkFile } from '../../../src/client/bookmark-file/write.ts'

const link = (id: string, fields: Partial<PlaintextBookmark> = {}): PlaintextBookmark => ({
  id,
  title: id,
  url: `https://example.org/${id}`,
  source: 'bookmarks',
  ...fields,
})
const folder = (id: string, fields: Partial<PlaintextBookmark> = {}): PlaintextBookmark => ({
  id,
  title: id,
  source: 'bookmarks',
  ...fields,
})
const pathsIn = (bookmarks: PlaintextBookmark[]) =>
  readBookmarkFile(writeBookmarkFile(bookmarks)).map(({ path, title }) =>
    path === undefined ? title : `${path}/${title}`,
  )

t.test('the file as browsers write it', async (t) => {
  const html = writeBookmarkFile([
    folder('Bar', {
      position: 'a0',
      dateAdded: '2016-06-15T16:50:12.999Z',
      attributes: { personal_toolbar_folder: 'true' },
    }),
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
    return readBookmarkFile(writeBookmarkFile(bookmarks)).length === 2
  })
  fc.assert(property, { numRuns: 500 })
  t.pass()
})

t.test('no bookmarks make an empty list', async (t) => {
  t.match(writeBookmarkFile([]), /<DL><p>\n<\/DL><p>\n$/)
  t.same(pathsIn([]), [])
})

t.test('position decides the order, then the order of the array; those without come last', async (t) => {
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

t.test('children may come before their folders', async (t) => {
  const bookmarks = [link('x', { parentId: 'inner' }), folder('inner', { parentId: 'outer' }), folder('outer')]
  t.same(pathsIn(bookmarks), ['outer', 'outer/inner', 'outer/inner/x'])
})

t.test('nothing is lost: a missing parent, a parent that is no folder, oneself as parent', async (t) => {
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

t.test('nothing is lost: a cycle is cut at whichever of its folders comes first', async (t) => {
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
  t.same(paths, ['b', 'b/tail', 'b/tail/deep', 'b/c', 'b/c/a', 'b/c/x'])
})

t.test(
  'two folders with one id, and a folder listed twice: each item is written as often as it is given',
  async (t) => {
    const twice = folder('twice')
    const inner = folder('inner', { parentId: 'twice' })
    const paths = pathsIn([
      twice,
      twice,
      folder('twice', { title: 'namesake' }),
      inner,
      inner,
      link('x', { parentId: 'inner' }),
    ])
    t.same(paths.toSorted(), ['namesake', 'twice', 'twice', 'twice/inner', 'twice/inner', 'twice/inner/x'])
  },
)

t.test('what an address, a title or an attribute contains never becomes markup', async (t) => {
  const evil = `"'><script>alert(1)</script></A></H3><DT><A HREF="x`
  const html = writeBookmarkFile([
    link('a', { title: evil, url: `javascript:${evil}`, tags: [evil], favicon: evil, description: evil }),
    folder('b', {
      title: evil,
      attributes: { shortcuturl: evil, 'x onclick="1"': '', href: 'y', number: 1 as unknown as string },
    }),
  ])
  t.notMatch(html, /<script|onclick|NUMBER/i)
  const [a, b] = readBookmarkFile(html)
  t.hasStrict(a, { title: evil, url: `javascript:${evil}`, tags: [evil], favicon: evil, description: evil })
  t.same(b?.attributes, { shortcuturl: evil })
  t.equal(b?.url, undefined)
})

t.test('a title is one line, whatever it contains: Chromium reads line by line', async (t) => {
  const html = writeBookmarkFile([link('a', { title: 'two\nlines\r\nand\ttab' }), link('b', { url: 'x\ny' })])
  t.match(html, />two&#10;lines&#13;&#10;and&#9;tab<\/A>\n/)
  t.hasStrict(readBookmarkFile(html), [{ title: 'two\nlines\r\nand\ttab' }, { url: 'x\ny' }])
})

t.test('dates that are none, and fields of other types, are left out', async (t) => {
  const odd = {
    dateAdded: 'soon',
    dateModified: '1960-01-01T00:00:00Z',
    attributes: 'x',
    position: 7,
    description: null,
  }
  t.match(
    writeBookmarkFile([link('a', odd as unknown as Partial<PlaintextBookmark>)]),
    /<DT><A HREF="[^"]*">a<\/A>\n<\/DL>/,
  )
})

t.test('a title of a separator is its NAME', async (t) => {
  const html = writeBookmarkFile([{ id: 's', title: 'Work', source: 'bookmarks', type: 'separator' }])
  t.match(html, '<HR NAME="Work">')
  t.hasStrict(readBookmarkFile(html), [{ type: 'separator', title: 'Work', attributes: undefined }])
})
