import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import {
  BookmarkFileError,
  readBookmarks,
  writeBookmarkCsv,
  writeBookmarkFile,
  writeBookmarkJson,
} from '../../../src/client/bookmark-file.ts'
import { depth } from '../../support/depth.ts'
import { formatSamples } from './format-samples.ts'
import { bookmarksIn, folder, linesOf, link, readSample, sequenceOf } from './samples.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)

for (const { source, format, text, lines, attributes = [] } of formatSamples)
  t.test(`A file of ${source} is recognized as ${format} without its name`, async (t) => {
    const read = await readBookmarks(bytesOf(text))
    t.same(linesOf(read), lines)
    t.same([read.format, read.isOrdinaryPage], [format, false])
    t.same(
      read.bookmarks.flatMap(({ attributes }) => (attributes ? [attributes] : [])),
      attributes,
    )
    const again = bookmarksIn(writeBookmarkFile(read.bookmarks))
    t.same(sequenceOf(again), sequenceOf(read.bookmarks), 'an HTML file can hold all of it')
  })

t.test('An unreadable file has an error with its kind and with advice', async (t) => {
  const cases: [BookmarkFileError['fault'], string, RegExp][] = [
    ['empty', '', /Export it again/],
    ['own-backup', 'EBSB\x01', /openBackup/],
    ['own-backup', 'EBSX\x01', /openBackup/],
    ['encrypted', '{"exported_at":"x","bookmarks":[{"id":"a","encrypted_data":"AQ=="}]}', /openBackup/],
    ['no-bookmarks', '<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p></DL>', /^There are no bookmarks in this file$/],
    ['no-bookmarks', 'url,title\n', /no bookmarks/],
    ['no-bookmarks', '{"roots":{"other":{"children":[]}}}', /no bookmarks/],
    ['no-bookmarks', writeBookmarkJson([]), /no bookmarks/],
    ['damaged', 'url,title\n,lost\n', /damaged/],
    [
      'safari',
      'bplist00',
      /^This is a property list, as Safari and macOS write them. In Safari, choose File > Export > Bookmarks and import that file$/,
    ],
    ['safari', '<?xml version="1.0"?>\n<!DOCTYPE plist PUBLIC "x">\n<plist version="1.0">', /property list/],
    ['firefox', 'mozLz40\0', /Import and Backup/],
    ['database', 'SQLite format 3\0', /HTML/],
    ['compressed', 'PK\x03\x04', /Unpack/],
    ['opera', 'Opera Hotlist version 2.0', /Opera/],
    ['xbel', '<?xml version="1.0"?>\n<!DOCTYPE xbel>\n<xbel>', /XBEL/],
    ['opml', '<opml version="2.0"><head><title>x</title>', /OPML/],
    ['damaged', '{"checksum":"0","roots":{"bookmark_bar":{"chil', /damaged/],
    ['unknown', '[InternetShortcut]\nURL=https://one.example/', /not a bookmark file/],
    ['unknown', '{"lists":[]}', /not a bookmark file/],
    ['unknown', 'name,address\n1,2\n', /not a bookmark file/],
    ['unknown', 'https://one.example/ | One', /not a bookmark file/],
    ['unknown', '7z\xbc\xaf', /not a bookmark file/],
    ['unknown', '%PDF-1.7', /not a bookmark file/],
    ['unknown', 'u\0r\0l\0,\0t\0\n\0', /not a bookmark file/],
    ['unknown', '<!DOCTYPE html><p><a href="https://one.example/">x</a></p>', /not a bookmark file/],
  ]
  for (const [fault, text, message] of cases) {
    const error = await readBookmarks(bytesOf(text)).catch((error) => error)
    t.type(error, BookmarkFileError, text)
    t.match(error, { fault, message })
  }
})

t.test('A web page with a list of links is reported as possibly not a bookmark file', async (t) => {
  const isOrdinary = async (text: string) => (await readBookmarks(bytesOf(text))).isOrdinaryPage
  const documentation = '<!DOCTYPE html><dl><dt><a href="struct.A.html">A</a><dt><a href="fn.b.html">b</a></dl>'
  t.equal(await isOrdinary('<!DOCTYPE html><dl><dt>term<dd><a href="https://one.example/">x</a></dl>'), true)
  t.equal(await isOrdinary(documentation), true)
  t.equal(await isOrdinary(documentation.replace('html', 'NETSCAPE-Bookmark-file-1')), false)
  t.equal(await isOrdinary('<dl><dt><a href="https://one.example/">x</a></dl>'), false)
  const absolute = '<dl><dt><a href="https://one.example/" class="x">x</a><dd>About it</dl>'
  t.equal(
    await isOrdinary(`<!DOCTYPE html><title>Links</title>${absolute}`),
    true,
    'also a page with addresses of other sites',
  )
  t.equal(await isOrdinary(`<title>Links</title>\n<div>${absolute}</div>`), true)
  t.equal(await isOrdinary(`<!DOCTYPE html><body>${absolute.replace('class="x"', 'ADD_DATE="1"')}`), false)
  t.equal(await isOrdinary('<title>Pocket Export</title><h1>Unread</h1><ul><li><a href="u">x</a></li></ul>'), false)
  t.equal(await isOrdinary(readSample('firefox_nested.htm')), false)
})

t.test("The app's CSV is read after a spreadsheet has saved it with typed rows", async (t) => {
  const own = link('a', { title: '=HYPERLINK("x")', tags: ['one', 'two'], parentId: 'f' })
  const written = await writeBookmarkCsv([own, folder('f')])
  t.match(written, /^\uFEFFurl,title,note,folder,tags,created,modified,more\r\n/)
  t.match(written, /,"'=HYPERLINK\(""x""\)",,f,"one, two",,,"/, 'the CSV has nothing that a spreadsheet would run')
  const added = `${written}https://two.example/,Two,,f,,,,\r\n`
  const { bookmarks } = await readBookmarks(bytesOf(added))
  t.same(bookmarks.slice(0, 2), [folder('f'), own])
  t.match(bookmarks.slice(2), [{ title: 'f' }, { title: 'Two', folder: 'f' }])
  const german = await readBookmarks(bytesOf('title;url\nEins;https://one.example/?a;b\n'))
  t.match(german.bookmarks, [{ title: 'Eins', url: 'https://one.example/?a' }])
})

t.test('Folders nested 5,000 deep are read', async (t) => {
  const node = `${'{"type":"folder","name":"x","children":['.repeat(5000)}${']}'.repeat(5000)}`
  const { bookmarks } = await readBookmarks(bytesOf(`{"roots":{"bookmark_bar":${node}}}`))
  t.equal(bookmarks.length, 5000)
})

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('=', '+', "'", '"', ',', ';', '\n', '\r', '\t', ' ', '\uFEFF', '\uD800', '[', 'x'),
  }),
)
const json = fc.jsonValue({ depthSize: 'small' })
const bookmark = fc
  .record(
    {
      url: text,
      description: fc.option(text),
      dateAdded: text,
      dateModified: fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      tags: fc.array(text),
      favicon: text,
      domain: text,
      parentId: fc.constantFrom('0', '1', '2', '3', 'gone'),
      folder: text,
      path: text,
      position: text,
      type: fc.constant('separator' as const),
      attributes: fc.dictionary(fc.constantFrom('private', 'shortcuturl'), text),
      stargazers_count: fc.integer(),
      owner: fc.record({ login: text }),
      extra: fc.dictionary(text, json),
    },
    { requiredKeys: [] },
  )
  .chain((fields) => text.map((title) => ({ ...fields, title, source: 'bookmarks' as const })))
const list = fc
  .array(bookmark, { minLength: 1, maxLength: 12 })
  .map((all) => all.map((fields, id) => ({ id: `${id}`, ...fields })))

for (const [name, write] of Object.entries({
  JSON: async (all: PlaintextBookmark[]) => writeBookmarkJson(all),
  CSV: writeBookmarkCsv,
}))
  t.test(`Any bookmarks that are exported as ${name} read back as they were`, async () => {
    const property = fc.asyncProperty(list, async (bookmarks) => {
      const read = await readBookmarks(bytesOf(await write(bookmarks as PlaintextBookmark[])))
      assert.equal(read.unread, 0)
      const byId = (one: { id: string }, other: { id: string }) => Number(one.id) - Number(other.id)
      assert.deepEqual(read.bookmarks.toSorted(byId), JSON.parse(JSON.stringify(bookmarks)))
    })
    await fc.assert(property, { numRuns: depth(100, 2000) })
  })

t.test('No row of a damaged CSV is lost without being counted', async (t) => {
  const read = async (csv: string) => {
    const { bookmarks, unread } = await readBookmarks(new TextEncoder().encode(csv))
    return { urls: bookmarks.map(({ url }) => url), unread }
  }
  const rows = ['https://a.example/,A', 'https://b.example/,B', 'https://c.example/,C']
  const urls = ['https://a.example/', 'https://b.example/', 'https://c.example/']
  t.same(await read(`url,title\r\n${rows.join('\n')}\n`), { urls, unread: 0 }, 'line breaks of two kinds')
  t.same(await read(`url,title\n${rows.join('\r\n')}\r\n`), { urls, unread: 0 })
  const stray = ['https://x.example/,"X', ...rows].join('\n')
  const all = ['https://x.example/', ...urls]
  t.same(await read(`url,title\n${stray}\n`), { urls: all, unread: 0 }, 'an unclosed quote')
  const quoted = [...rows, '"https://d.example/","D, quoted"'].join('\n')
  t.same(
    await read(`url,title\nhttps://x.example/,"X\n${quoted}\n`),
    { urls: [...all, 'https://d.example/'], unread: 0 },
    'the same if another row has quotes',
  )
})

t.test(
  'Rows of CSV that may have been misread are reported; a row with only one possible meaning is repaired',
  async (t) => {
    const read = async (...rows: string[]) => {
      const { bookmarks, unread, damaged } = await readBookmarks(
        bytesOf(`url,title,note,created\n${rows.join('\n')}\n`),
      )
      return { titles: bookmarks.map(({ title }) => title), unread, damaged }
    }
    const right = [
      'https://a.example/,Hello, World,,',
      'https://b.example/,"said ""so""",,,,',
      '" https://c.example/" , "C",,',
    ]
    t.same(await read(...right), { titles: ['Hello, World', 'said "so"', 'C'], unread: 0, damaged: [] })
    const doubtful = ['https://a.example/,A,b,c,', 'https://b.example/,"B,,', 'https://c.example/,"C "c" c",,']
    t.same(await read(...doubtful, 'https://d.example/,"D\n,d",,'), {
      titles: ['A', '"B', 'C "c" c', 'D\n,d'],
      unread: 0,
      damaged: doubtful,
    })
    t.same(await read('https://a.example/,A,,', ',lost,,'), { titles: ['A'], unread: 1, damaged: [',lost,,'] })
    const title = await readBookmarks(bytesOf('title,url,time_added\nOne, two,https://a.example/x,1466009412\n'))
    t.match(title, { bookmarks: [{ title: 'One, two', url: 'https://a.example/x' }], damaged: [] })
  },
)

t.test('Misplaced quotes do not make reading CSV slow', async (t) => {
  const rows = depth(5_000, 50_000)
  for (const row of ['"x', '""x', '"x""y', '"', '""', '"""x', 'x"']) {
    const { bookmarks } = await readBookmarks(bytesOf(`title,url\n${`${row},https://u/\n`.repeat(rows)}`))
    t.ok(bookmarks.length >= rows / 2, row)
  }
})

t.test('A spreadsheet’s first line `sep=…` states the separator', async (t) => {
  for (const separator of [';', ',', '\t', '|']) {
    const text = `\uFEFFsep=${separator}\r\nurl${separator}title\r\nhttps://one.example/${separator}One\r\n`
    const { bookmarks } = await readBookmarks(bytesOf(text))
    t.match(bookmarks, [{ url: 'https://one.example/', title: 'One' }])
  }
})

t.test('Of different bookmarks with one id, one gets a new id; equal ones keep theirs', async (t) => {
  const own = [link('a', { title: 'One' }), link('a', { title: 'Two' }), link('a', { title: 'One' })]
  for (const written of [writeBookmarkJson(own), await writeBookmarkCsv(own)]) {
    const { bookmarks } = await readBookmarks(bytesOf(written))
    t.same(
      bookmarks.map(({ title, id }) => [title, id === 'a']),
      [
        ['One', true],
        ['Two', false],
        ['One', true],
      ],
    )
  }
})

t.test('A file with a few wrong bytes is still read as UTF-8', async (t) => {
  const garbled = await readBookmarks(bytesOf('<DL><DT><A HREF="u">\uFFFD</A></DL>'))
  t.match(garbled.bookmarks, [{ title: '\uFFFD' }], 'characters that an earlier import has lost stay lost')
  const link = (title: string) => `<DT><A HREF="https://e.example/größe">${title}</A>\n`
  const meta = '<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">\n'
  const text = `<!DOCTYPE NETSCAPE-Bookmark-file-1>\n${meta}<DL><p>\n${link('Größe')}<DT><A HREF="x">cut `
  for (const mark of [[], [0xef, 0xbb, 0xbf]]) {
    const { bookmarks } = await readBookmarks(
      Buffer.concat([Buffer.from(mark), Buffer.from(text), Buffer.of(0xe2, 0x80)]),
    )
    t.match(bookmarks, [{ title: 'Größe', url: 'https://e.example/größe' }, { title: 'cut \uFFFD' }])
  }
})

t.test('A spreadsheet that splits cells at semicolons or line breaks finds no formula in a written CSV', async (t) => {
  const titles = ['a;=cmd()', 'b\n=cmd()', ' =cmd()', '＝cmd()', "c;'=cmd()", 'd;"=cmd();', 'e;\u00a0" =cmd()']
  const all = titles.map((title, at) => link(`link-${at}`, { title, attributes: { note: `x;${title}` } }))
  const written = await writeBookmarkCsv(all)
  t.notMatch(written, /(?:^|[,;\r\n])[ \u00a0"]*[=＝]/m)
  t.same((await readBookmarks(bytesOf(written))).bookmarks, all)
})

t.test('A value that is not a string where a string belongs is left out', async (t) => {
  const odd = { toString: 1, valueOf: 1 }
  await t.rejects(readBookmarks(bytesOf(JSON.stringify({ type: odd }))), BookmarkFileError)
  const tagged = { bookmarks: [{ title: 'x', url: 'https://x.example/', tags: [odd, 'kept'] }] }
  const { bookmarks } = await readBookmarks(bytesOf(JSON.stringify({ xbrowsersync: { data: tagged } })))
  t.match(bookmarks, [{ title: 'x', tags: ['kept'] }])
})
