import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { readBookmarkFile, readBookmarkFileAsync } from '../../../src/client/bookmark-file/read.ts'
import { writeBookmarkFile, writeBookmarkFileAsync } from '../../../src/client/bookmark-file/write.ts'
import { BookmarkFileError } from '../../../src/client/errors.ts'
import { depth } from '../../support/depth.ts'
import { bookmarksIn, FILES, readSample, sequenceOf } from './samples.ts'

const read = (list: string) => bookmarksIn(`<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p>\n${list}\n</DL><p>\n`)
const only = (list: string) => {
  const [bookmark, ...others] = read(list)
  t.same(others, [])
  return bookmark
}

/** Titles in the order of the file, indented by depth. */
function outline(html: string): string[] {
  const bookmarks = bookmarksIn(html)
  const depths = new Map<string | undefined, number>([[undefined, 0]])
  return bookmarks.map(({ id, parentId, title, url, type }) => {
    const depth = depths.get(parentId) ?? Number.NaN
    depths.set(id, depth + 1)
    return '  '.repeat(depth) + (type === 'separator' ? '---' : url === undefined ? `${title}/` : title)
  })
}

t.test('a Chromium file is read: toolbar folder, nested folders, icons as data URIs', async (t) => {
  const bookmarks = bookmarksIn(readSample('chromium_nested.htm'))
  t.same(
    bookmarks.filter(({ url }) => url === undefined).map(({ path, title }) => `${path ?? ''}/${title}`),
    ['/Personal toolbar', '/Dev', 'Dev/PHP', 'Dev/Python', '/MOOC', '/Linux', '/Self-hosting'],
  )
  t.equal(bookmarks.length, 25)
  t.hasStrict(bookmarks[0], { title: 'Personal toolbar', attributes: { personal_toolbar_folder: 'true' } })
  t.hasStrict(bookmarks[0], { dateAdded: '2016-06-15T16:36:20.000Z', dateModified: '2016-06-15T17:28:50.000Z' })
  t.hasStrict(bookmarks[1], { url: 'http://www.jabber.org/', parentId: bookmarks[0]?.id, folder: 'Personal toolbar' })
  t.match(bookmarks[2]?.favicon, /^data:image\/png;base64,iVBOR/)
  t.hasStrict(bookmarks[2], { domain: 'regexcrossword.com', position: 'a1', source: 'bookmarks' })
})

t.test('a Firefox file is read: separators, descriptions, tags, both kinds of icon, place: addresses', async (t) => {
  const bookmarks = bookmarksIn(readSample('firefox_nested.htm'))
  t.equal(bookmarks.length, 31)
  t.match(bookmarks[0], { title: 'Recently saved', url: /^place:folder=BOOKMARKS_MENU&folder=UNFILED_BOOKMARKS&/ })
  t.hasStrict(bookmarks[2], { type: 'separator', title: '', url: undefined, position: 'a2' })
  t.match(bookmarks[3], {
    title: 'Timeline of the Elves in Tolkien’s works | LotrProject Blog',
    description: undefined,
  })
  t.match(bookmarks[3], { favicon: /^data:/, attributes: { icon_uri: 'http://lotrproject.com/favicon.ico' } })
  t.hasStrict(bookmarks[3]?.tags?.slice(0, 3), ['tolkien', 'lord', 'rings'])
  t.hasStrict(bookmarks[4], { title: 'Comics', url: undefined, description: 'Comics, webcomics, fun stuff!' })
  const dev = bookmarks.find(({ title }) => title === 'Dev')
  t.equal(dev?.description, 'Development & programming')
  const teapot = bookmarks.find(({ domain }) => domain === 'nautil.us')
  t.match(teapot?.description, /^Let’s play a game\. .* figure out&#8230;$/, 'entities are decoded once')
})

t.test('an Internet Explorer file is read: byte order mark, ICON_URI, empty folders, empty attributes', async (t) => {
  const bookmarks = bookmarksIn(readSample('internet_explorer_11_nested.htm'))
  t.equal(bookmarks.length, 36)
  t.hasStrict(bookmarks[0], { title: 'Comics', attributes: { folded: '' }, dateAdded: '2016-06-18T17:44:24.000Z' })
  t.hasStrict(bookmarks[1], { favicon: 'http://66.media.tumblr.com/avatar_44b0e39c0c7a_128.png' })
  t.hasStrict(bookmarks[1], { attributes: { last_visit: '1466271425' }, dateModified: '2016-06-18T17:37:05.000Z' })
  t.same(Object.keys(bookmarks[1]?.attributes ?? {}), ['last_visit'])
  const links = bookmarks.find(({ title }) => title === 'Links')
  t.ok(links)
  t.notOk(bookmarks.some(({ parentId }) => parentId === links?.id))
})

t.test('Delicious and Shaarli files are read: tags, private marks, descriptions, relative addresses', async (t) => {
  const delicious = bookmarksIn(readSample('delicious.htm'))
  t.hasStrict(delicious[2], { tags: ['php', 'test', 'private'], attributes: { private: '1' }, description: undefined })
  t.equal(delicious[3]?.description, '"Hello!"')
  t.hasStrict(delicious[4]?.tags, ['@font-face', 'os', 'typography'])
  const shaarli = bookmarksIn(readSample('shaarli.htm'))
  t.hasStrict(shaarli[0], { url: '?lY47tw', domain: undefined, title: "Kouign'amann recipes" })
  t.match(shaarli[0]?.description, /^"Is there .*\n\n- http:.*\n- http:.*\n\n"It is strictly .* Amann"$/)
  t.match(shaarli[3]?.url, /%3Astorml&qo=1$/)
})

t.test('descriptions of several lines keep their lines', async (t) => {
  const [, second, third] = bookmarksIn(readSample('netscape_multiline.htm'))
  t.equal(second?.description, 'Nested lists:\n- list1\n  - item1.1\n  - item1.2\n  - item1.3\n- list2\n  - item2.1')
  t.equal(third?.description, 'List:\n- item1\n- item2\n\nParagraph number one.\n\nParagraph\nnumber\ntwo.')
})

t.test('the nesting and order of links and folders are kept', async (t) => {
  t.same(outline(readSample('netscape_nested.htm')), [
    'Nested 1',
    'Folder1/',
    '  Nested 1-1',
    '  Nested 1-2',
    'Folder2/',
    '  Nested 2-1',
    '  Nested 2-2',
    'Folder3/',
    '  Folder3-1/',
    '    Nested 3-1',
    '    Nested 3-2',
    'Nested 2',
  ])
})

t.test("each reading makes new ids, `file-` and a UUIDv7, which ascend in the file's order", async (t) => {
  const ids = bookmarksIn(readSample('delicious.htm')).map(({ id }) => id)
  for (const id of ids) t.match(id, /^file-[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.same(ids.toSorted(), ids)
  t.equal(new Set([...ids, ...bookmarksIn(readSample('delicious.htm')).map(({ id }) => id)]).size, 10)
})

t.test('dates may be numbers of any unit, ISO 8601 or RFC 5322; other text is not a date', async (t) => {
  const dateOf = (value: string) => only(`<DT><A HREF="x" ADD_DATE="${value}">x</A>`)?.dateAdded
  for (const value of ['1466009412', '1466009412123', '1466009412123456']) {
    t.equal(dateOf(value), '2016-06-15T16:50:12.000Z', value)
  }
  const iso = ['2016-06-15T16:50:12Z', '2016-06-15 16:50:12', '2016-06-15T18:50:12+02:00']
  for (const value of [...iso, 'Wed, 15 Jun 2016 16:50:12 GMT', ' 1466009412.5 ', '1466009412000000000']) {
    t.equal(dateOf(value), '2016-06-15T16:50:12.000Z', value)
  }
  t.equal(dateOf('13245678901234567'), '2020-09-27T11:15:01.000Z', "Chromium's number counts from 1601")
  for (const value of [
    '',
    '0',
    '-1',
    'yesterday',
    '1e9',
    '99999999999999999999',
    '2016-13-15',
    '5/6/2016',
    '2016-02-30',
  ]) {
    t.equal(dateOf(value), undefined, value)
  }
})

t.test('tags are trimmed, and empty and repeated ones left out', async (t) => {
  t.same(only('<DT><A HREF="x" TAGS=" a , b c,,a,d,">x</A>')?.tags, ['a', 'b c', 'd'])
  t.notOk('tags' in (only('<DT><A HREF="x" TAGS=" , ">x</A>') ?? {}))
})

t.test('only bookmarks with a web address have a domain', async (t) => {
  const domainOf = (url: string) => only(`<DT><A HREF="${url}">x</A>`)?.domain
  t.equal(domainOf('HTTPS://User@WWW.Example.org:8080/x'), 'www.example.org')
  for (const url of ['javascript:alert(1)', 'about:blank', 'chrome://settings/x', 'file:///x', 'http://', 'x']) {
    t.equal(domainOf(url), undefined, url)
  }
})

t.test('an icon in the file is preferred to the address of an icon', async (t) => {
  const link = (attributes: string) => only(`<DT><A HREF="x" ${attributes}>x</A>`)
  t.hasStrict(link('ICON="data:a" ICON_URI="u"'), { favicon: 'data:a', attributes: { icon_uri: 'u' } })
  t.hasStrict(link('ICON="" ICON_URI="u"'), { favicon: 'u', attributes: undefined })
  t.notOk('favicon' in (link('ICON=""') ?? {}))
})

t.test('bookmarks in deep folders do not repeat the titles of all folders around them', async (t) => {
  const opened = (title: string) => `<DT><H3>${title}</H3><DL>`
  const folders = read(Array.from({ length: 3000 }, () => opened('x')).join(''))
  t.equal(folders[2048]?.path, Array(2048).fill('x').join('/'))
  t.ok(folders.slice(2049).every(({ folder, path }) => folder === 'x' && path === undefined))
  t.ok(folders.every(({ parentId }, index) => parentId === folders[index - 1]?.id))
  const [longest, short, link] = read(`${opened('x'.repeat(4096))}${opened('y')}<DT><A HREF="u">u</A>`)
  t.hasStrict(short, { parentId: longest?.id, folder: 'x'.repeat(4096), path: 'x'.repeat(4096) })
  t.hasStrict(link, { parentId: short?.id, folder: 'y', path: undefined })
  const [, inLong] = read(`${opened('x'.repeat(4097))}<DT><A HREF="u">u</A>`)
  t.hasStrict(inLong, { folder: undefined, path: undefined })
})

// A parser that searches its list of open elements at each tag takes time quadratic in the length.
const many = 50_000
for (const unclosed of [
  '<b>',
  '<DL>',
  '<DL><DT><H3>',
  '<p><DT>',
  '<DT><A><H3>',
  '<form>',
  '<svg>',
  '<A',
  '<!--',
  '&#',
  '</x>',
  '<H3>x</H3><DL><p></DL><p>',
]) {
  t.test(`${unclosed}, ${many} times, is read like anything else`, async (t) => {
    const file = `<DL><DT><A HREF="x">first</A>${unclosed.repeat(many)}`
    t.hasStrict(readBookmarkFile(file).bookmarks[0], { title: 'first', url: 'x' })
  })
}

t.test('attributes that would have an effect in a page are left out', async (t) => {
  const acting = 'ONFOCUS="x()" onClick=x STYLE="a" AUTOFOCUS TABINDEX=0 TARGET=_top PING=u SRC=u CLASS=c DATA- DATAX=1'
  t.notOk('attributes' in (only(`<DT><A HREF="x" ${acting}>x</A>`) ?? {}))
  t.notOk('attributes' in (only(`<DT><H3 ${acting}>x</H3>`) ?? {}))
  t.notOk('attributes' in (only(`<HR ${acting}>`) ?? {}))
  t.hasStrict(only(`<DT><A HREF="x" ${acting} DATA-COVER="u" TOREAD="1">x</A>`), {
    attributes: { 'data-cover': 'u', toread: '1' },
  })
})

t.test('a link without an address is left out with its description, and counted', async (t) => {
  const [one, two] = ['one', 'two'].map((name) => `<DT><A HREF="${name}">${name}</A>\n`)
  for (const item of ['<DT><A>x</A>', '<DT><A HREF="">x</A>', '<DT><A HREF=" ">x', '<A HREF>x</A>'])
    for (const described of ['', '\n<DD>see <a href="u">it</a>']) {
      const { bookmarks, unread } = readBookmarkFile(`<DL><p>\n${one}${item}${described}\n${two}</DL><p>`)
      t.same([bookmarks.map(({ title }) => title), unread], [['one', 'two'], 1], item + described)
      t.notOk(bookmarks.some(({ description }) => description))
    }
})

t.test("Vivaldi's separators, written as links, are read as separators", async (t) => {
  const line = '<DT><A HREF="http://bookmark.placeholder.url/" ADD_DATE="1466009412">---</A>\n<DD>separator\n'
  const links = '<DT><A HREF="http://bookmark.placeholder.url/">x</A>\n<DT><A HREF="https://one.example/">---</A>\n'
  const { bookmarks, unread } = readBookmarkFile(`<DL><p>\n${line}${links}</DL><p>`)
  t.match(bookmarks, [{ type: 'separator', title: '' }, { title: 'x' }, { title: '---', url: 'https://one.example/' }])
  const { url, domain, description } = bookmarks[0] ?? {}
  t.same([bookmarks.length, url, domain, description], [3, undefined, undefined, undefined])
  t.equal(unread, 0)
})

for (const [what, html, expected] of [
  [
    'unclosed tags, other case, missing DT, CRLF',
    `<dl><dt><a href="1">One\r\n<dt><A href=2>Two</a>\r\n<A HREF='3'>Three\r\n<H3>Folder\r\n<DL>\r\n<DT><A HREF="4">Four\r\n</DL>\r\n<DT><A HREF="5">Five`,
    ['One', 'Two', 'Three', 'Folder/', '  Four', 'Five'],
  ],
  [
    'a heading without a list is an empty folder',
    '<DL><DT><H3>Empty</H3><DT><A HREF="1">One</A><DL><DT><A HREF="2">Two</A></DL></DL>',
    ['Empty/', 'One', 'Two'],
  ],
  [
    'more ends of lists than beginnings',
    '<DL></DL></DL></DL><DT><A HREF="1">One</A><DL><H3>F</H3><DL><A HREF="2">Two</A>',
    ['One', 'F/', '  Two'],
  ],
  [
    'ends that belong to nothing open do not end a folder',
    '<DL><A HREF="1">One<DT><H3>F</H3><DL><DT>stray</A><DT><A HREF="2">Two</A></DL><A HREF="3">Three</A></DL>',
    ['One', 'F/', '  Two', 'Three'],
  ],
] as const) {
  t.test(what, async (t) => t.same(outline(html), expected))
}

t.test('end tags without a start tag do not end a description, whose lines may end in CRLF', async (t) => {
  const { title, description } = only('<DT><A HREF="x">One<DD>two</A> three\r\nfour\n<DT>stray') ?? {}
  t.same([title, description], ['One', 'two three\nfour'])
})

t.test('markup within titles and descriptions is text, unless bookmark files have it', async (t) => {
  const bookmark = only('<DT><A HREF="x">a <b>bold</b> &lt;i&gt; &amp;amp; title</A><DD>one<br>two <i>three</i>')
  t.hasStrict(bookmark, { title: 'a <b>bold</b> <i> &amp; title', description: 'one\ntwo <i>three</i>' })
})

t.test('titles and descriptions keep their white space, but for the indentation of the next tag', async (t) => {
  t.equal(only('<DT><A HREF="x">  a  </A>')?.title, '  a  ')
  const [first, second] = read('<DT><A HREF="x">a</A><DD>  b \n\n    <DT><A HREF="x">a</A><DD>c')
  t.equal(first?.description, '  b \n')
  t.equal(second?.description, 'c')
})

t.test('an attribute called __proto__ does not change the prototype', async (t) => {
  const bookmark = only('<DT><A HREF="x" __proto__="1" constructor="2" data-constructor="2" ID="3">x</A>')
  t.equal(Object.getPrototypeOf(bookmark?.attributes), Object.prototype)
  t.same(bookmark?.attributes, { 'data-constructor': '2', id: '3' })
  t.not(bookmark?.id, '3')
})

t.test('text without a list is refused, because it is not a bookmark file', async (t) => {
  for (const text of ['', '{"bookmarks":[]}', '<html><body><a href="x">x</a></body></html>']) {
    t.throws(() => bookmarksIn(text), { name: 'BookmarkFileError', message: /not a bookmark file/ })
    await t.rejects(readBookmarkFileAsync(text), BookmarkFileError)
  }
  t.same(bookmarksIn('<DL></DL>'), [])
})

/** The file is read in pieces of this length. */
const pieceLength = 16_384
const list = (items: string) => `<DL><p>\n${items}\n</DL>`

t.test('a file is read the same wherever it is cut into pieces', async () => {
  const samples = fc.constantFrom(...FILES.map(readSample)).map((html) => html.slice(0, pieceLength - 100))
  const mixed = fc
    .array(
      fc.constantFrom(
        '<DT><A HREF="x&amp;y" TAGS=a>',
        '</A>',
        '\r',
        '\n',
        '\r\n',
        '&#x1F98A;',
        '&lt',
        '🦊',
        '<!-- -',
        '-->',
        '<DD>',
        '<H3>',
        '</H3>',
        'text',
        '<title>',
        '</title>',
      ),
    )
    .map((parts) => list(parts.join('')))
  const file = fc.oneof(samples, mixed)
  await fc.assert(
    fc.asyncProperty(file, fc.double({ min: 0, max: 1, noNaN: true }), async (html, share) => {
      const padding = ' '.repeat(pieceLength - Math.floor(share * Math.min(html.length, pieceLength)))
      const [whole, pieces] = [readBookmarkFile(padding + html), await readBookmarkFileAsync(padding + html)]
      assert.deepEqual(sequenceOf(pieces.bookmarks), sequenceOf(whole.bookmarks))
    }),
    { numRuns: depth(150, 5000) },
  )
})

t.test('while a large file is read or written, the page can run other tasks', async (t) => {
  const html = list('<DT><A HREF="https://example.org/">Example</A>\n'.repeat(10_000))
  // The clock jumps whenever the work reads it, so reading pauses after each piece, and writing after each item.
  let time = 0
  t.intercept(performance, 'now', { value: () => (time += 1000) })
  const reading = await countTurns(() => readBookmarkFileAsync(html))
  const { bookmarks } = reading.result
  const few = bookmarks.slice(0, 1000)
  const writing = await countTurns(() => writeBookmarkFileAsync(few))
  t.equal(bookmarks.length, 10_000)
  t.ok(reading.turns >= html.length / pieceLength / 2, `${reading.turns} turns`)
  t.ok(writing.turns >= few.length / 2, `${writing.turns} turns`)
  t.equal(writing.result, writeBookmarkFile(few))
})

async function countTurns<T>(work: () => Promise<T>): Promise<{ result: T; turns: number }> {
  let [turns, isDone] = [0, false]
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const result = await work()
  isDone = true
  return { result, turns }
}
