import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { buildTree } from '../../../src/client/bookmark/build-tree.ts'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { readBookmarkFile } from '../../../src/client/bookmark-file/read.ts'
import { planImport } from '../../../src/client/sync/edits/import.ts'
import { bookmarksIn, idsBeside, linesOf } from './samples.ts'

const folder = new URL('../../fixtures/odd-bookmarks/', import.meta.url)
const bytesOf = (name: string) => readFileSync(new URL(name, folder))
const expected: Record<string, string[]> = JSON.parse(readFileSync(new URL('expected.json', folder), 'utf8'))

for (const name of readdirSync(folder).filter((name) => name.endsWith('.html')))
  t.test(`${name} is read as expected`, async (t) => t.same(describe(bytesOf(name)), expected[name]))

t.test('5,000 links after an unescaped tag are read', async (t) => {
  const links = Array.from({ length: 5000 }, (_, at) => `<DT><A HREF="https://example.org/${at}">${at}</A>\n`)
  const file = `<DL><p>\n<DT><A HREF="u">One</A>\n<DD>use <script> tags\n${links.join('')}</DL><p>`
  const { bookmarks, unread } = readBookmarkFile(file)
  t.same([bookmarks.length, unread, bookmarks[0]?.description], [5001, 0, 'use <script> tags'])
})

t.test('a link with one damaged tag is read, or counted as unread', async (t) => {
  const [tags, rest] = ['<DT><A HREF', '="https://two.example/" ADD_DATE="1">Two</A>']
  for (const described of ['', '\n<DD>words'])
    for (let at = 0; at < tags.length; at++)
      for (const wrong of ['', 'x', ' ', '\n', '<', '>', '/', '"', '='])
        for (const behind of [at, at + 1]) {
          const item = tags.slice(0, at) + wrong + tags.slice(behind) + rest
          const [one, three] = ['one', 'three'].map((name) => `<DT><A HREF="https://${name}.example/">${name}</A>`)
          const { bookmarks, unread } = readBookmarkFile(`<DL><p>\n${one}${described}\n    ${item}\n${three}\n</DL><p>`)
          const has = (name: string) => bookmarks.some(({ url }) => url?.startsWith(`https://${name}.example/`))
          if (!has('one') || !has('three') || !(has('two') || unread === 1)) t.fail(JSON.stringify([item, unread]))
        }
  const { unread } = readBookmarkFile(
    '<DL><p>\n<DT><A HREF="u">x</A>\n<DD><A HREF="u">A link</A> in a description\n</DL>',
  )
  t.equal(unread, 0)
})

t.test('a line break in a title is a space', async (t) => {
  const file = '<DL><DT><A HREF="u">One<br>Two</A><DD>three<BR>four<DT><H3>five<BR/>six</H3></DL>'
  t.match(readBookmarkFile(file).bookmarks, [{ title: 'One Two', description: 'three\nfour' }, { title: 'five six' }])
})

t.test('a Japanese file whose bytes are all ASCII is read in the charset that it names', async (t) => {
  const meta = '<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=ISO-2022-JP">'
  const file = Buffer.from(`${meta}<DL><DT><A HREF="u">\x1b$BF|K\\\x1b(B</A></DL>`)
  t.match(readBookmarkFile(file).bookmarks, [{ title: '日本' }])
})

t.test('a bookmarklet with unescaped quotes is read completely', async (t) => {
  const programs = [
    'alert("x" + "y")',
    'var a="b", c ="d" ;e("f")',
    `document.write('<a href="'+u+'">link</a>')`,
    '(function(){if(a>"b">c){d("<b>")}})()',
    "alert('it')",
    'a.replace(">", "x")',
    `b('<div class="x" id="y">')`,
    'void(0)',
  ]
  for (const program of programs)
    for (const attributes of ['', ' ADD_DATE="1"', ' LAST_CHARSET="UTF-8" TAGS="x"'])
      for (const [before, between] of [
        ['\n    ', '\n    '],
        ['', ''],
      ]) {
        const item = `<DT><A HREF="javascript:${program}"${attributes}>Title "so"</A>`
        const other = '<DT><A HREF="https://one.example/">One</A><DD>see <a href="u">it</a>'
        const { bookmarks } = readBookmarkFile(`<DL><p>${before}${[item, other, item].join(between)}</DL><p>`)
        const own = [`javascript:${program}`, 'Title "so"', undefined]
        t.same(linksOf(bookmarks), [own, ['https://one.example/', 'One', 'see it'], own], item)
      }
  const escaped = '<DT><A HREF="javascript:a(&quot;b&quot;)">say "<b class="x">"</A>'
  t.same(linksOf(readBookmarkFile(`<DL>${escaped}</DL>`).bookmarks), [
    ['javascript:a("b")', 'say "<b class="x">"', undefined],
  ])
})

function linksOf(bookmarks: PlaintextBookmark[]) {
  return bookmarks.map(({ url, title, description }) => [url, title, description])
}

t.test('an HTML tag within the text of a title or description is text', async (t) => {
  const texts = [
    'the <p> element',
    'What is <dd>?',
    'use <dl> and </dl> and </dd> here',
    '“<hr>”, or <H3> too',
    'a (</p>)',
  ]
  const items = texts.map(
    (text) => `<DT><A HREF="u">${text}</A>\n<DD>${text}\n<DT><H3>${text}</H3>\n<DL><p>\n</DL><p>\n`,
  )
  for (const lines of [items.join(''), items.join('').replaceAll('\n', '')]) {
    const { bookmarks } = readBookmarkFile(`<DL><p>\n${lines}</DL><p>`)
    t.same(
      bookmarks.map(({ title, description, parentId }) => [title, description, parentId]),
      texts.flatMap((text) => [
        [text, text, undefined],
        [text, undefined, undefined],
      ]),
    )
  }
})

t.test('an import of a file repairs bookmarks that were imported from it in the wrong charset', async (t) => {
  const file = (date: number) => `<DL><DT><H3 ADD_DATE="1">Новости</H3><DL>
    <DT><A HREF="u" ADD_DATE="${date}" TAGS="газета">Погода</A><DD>Описание</DL></DL>`
  const inWrongCharset = file(2).replace(/[^ -~]/g, '\uFFFD')
  const garbled = readBookmarkFile(inWrongCharset).bookmarks
  t.match(garbled, [{ title: '\uFFFD'.repeat(7) }, { title: '\uFFFD'.repeat(6) }])
  const { added, changed, repaired } = await planImport(bookmarksIn(file(2)), buildTree(garbled), idsBeside(garbled))
  t.equal(added.size, 0)
  t.equal(repaired.size, 2)
  const [ofFolder, ofLink] = garbled.map(({ id }) => changed.get(id))
  t.match(ofFolder, { title: 'Новости' })
  const where = { parentId: ofFolder?.id, folder: 'Новости', path: 'Новости' }
  t.match(ofLink, { title: 'Погода', tags: ['газета'], description: 'Описание', ...where })
  const mended = [...changed.values()]
  const again = await planImport(bookmarksIn(file(2)), buildTree(mended), idsBeside(mended))
  t.same([again.added.size, again.changed.size], [0, 0], 'once')
  const other = await planImport(bookmarksIn(file(3)), buildTree(garbled), idsBeside(garbled))
  t.equal(other.repaired.size, 1, 'a bookmark with another date is not repaired')
})

t.test('each of two equal links that were imported in the wrong charset is repaired', async (t) => {
  const file = (...titles: string[]) =>
    bookmarksIn(`<DL>${titles.map((title) => `<DT><A HREF="u" ADD_DATE="1">${title}</A>`).join('')}</DL>`)
  const garbled = file('\uFFFD', 'legible', '\uFFFD\uFFFD')
  const { added, changed, repaired } = await planImport(file('ü', 'öö'), buildTree(garbled), idsBeside(garbled))
  t.same([added.size, repaired.size], [0, 2])
  t.same(
    [...changed.values()].map(({ title }) => title),
    ['ü', 'öö'],
  )
})

t.test('folder names in different Unicode forms name the same folder', async (t) => {
  const file = (name: string) => bookmarksIn(`<DL><DT><H3>${name}</H3><DL><DT><A HREF="u">x</A></DL></DL>`)
  const [composed, decomposed] = ['Bücher'.normalize('NFC'), 'Bücher'.normalize('NFD')]
  t.not(composed, decomposed)
  const existing = file(composed)
  const { added } = await planImport(file(decomposed), buildTree(existing), idsBeside(existing))
  t.equal(added.size, 0)
})

function describe(file: Uint8Array): string[] {
  try {
    return linesOf(readBookmarkFile(file))
  } catch (error) {
    return [(error as Error).message]
  }
}
