import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { readBookmarks, writeBookmarkCsv } from '../../../src/client/bookmark-file.ts'
import { depth } from '../../support/depth.ts'

async function read(csv: string) {
  const { bookmarks, damaged, unread } = await readBookmarks(new TextEncoder().encode(csv))
  const links = bookmarks.map(({ url, title, description = '' }) => ({ url, title, note: description }))
  return { links, damaged, unread }
}

const text = fc.string({ unit: fc.constantFrom('a', 'ü', ' ', '"', ',', ';', '\t', '|', "'", '\n'), maxLength: 12 })
const written = fc.record({
  delimiter: fc.constantFrom(',', ';', '\t'),
  lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
  quotesAll: fc.boolean(),
  start: fc.constantFrom('', '\uFEFF', '\r\n', 'sep'),
  names: fc
    .shuffledSubarray(['url', 'title', 'note', '', 'other'], { minLength: 2 })
    .filter((all) => all.includes('url')),
  rows: fc.array(fc.record({ title: text, note: text, other: text }), { minLength: 1, maxLength: 8 }),
})

t.test('Correctly quoted CSV of any program is read unchanged', async () => {
  const property = fc.asyncProperty(written, async ({ delimiter, lineEnd, quotesAll, start, names, rows }) => {
    const quoted = (cell: string) => (quotesAll || /[",;\t|\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)
    const lineOf = (cells: string[]) => cells.map(quoted).join(delimiter) + lineEnd
    const links = rows.map((row, at) => ({ ...row, '': '', url: `https://example.org/${at}?a,b;c` }))
    const lines = links.map((row) => lineOf(names.map((name) => row[name as keyof typeof row])))
    const head = start === 'sep' ? `sep=${delimiter}${lineEnd}` : start
    const result = await read(head + lineOf(names) + lines.join(''))
    const expected = links.map(({ url, title, note }) => ({
      url,
      title: names.includes('title') ? title : '',
      note: names.includes('note') ? note.trim() : '',
    }))
    assert.deepEqual(result, { links: expected, damaged: [], unread: 0 })
  })
  await fc.assert(property, { numRuns: depth(500, 5000) })
})

t.test('An unclosed quote does not swallow later rows', async (t) => {
  const plain = Array.from({ length: 500 }, (_, at) => ['https://a.example/', `${at}`, 'n'])
  for (const order of [
    [0, 1, 2],
    [1, 0, 2],
    [2, 1, 0],
  ])
    for (const count of [0, 1, 500])
      for (const opened of [0, 1, 2]) {
        const lineOf = (cells: string[]) => order.map((column) => cells[column]).join(',')
        const first = ['https://first.example/', 'Foo', 'n'].map((cell, at) => (at === opened ? `"${cell}` : cell))
        const rows = [first, ...plain.slice(0, count), ['https://last.example/', 'Dell 24"', 'n']]
        const { links, damaged } = await read(['url,title,note'.split(','), ...rows].map(lineOf).join('\n'))
        t.equal(links.length, count + 2, `${order} ${opened}`)
        t.match(links.slice(-1), [{ url: 'https://last.example/', title: 'Dell 24"' }])
        t.same(damaged, [lineOf(first)])
      }
})

t.test('In a CSV that the app wrote, a line that looks like a row stays part of its cell', async (t) => {
  const description = 'url,title,note\nhttps://b.example/,B,n,,,,,\nhttps://c.example/,C,n,,,,,{}'
  const own = { id: 'a', source: 'bookmarks' as const, title: 'A', url: 'https://a.example/', description }
  const typed = 'https://d.example/,"D,,,,,,\r\nhttps://e.example/,"E"" 24",,,,,,\r\n'
  const { links, damaged } = await read(`${await writeBookmarkCsv([own])}${typed}`)
  t.match(links, [{ note: description }, { url: 'https://d.example/', title: '"D' }, { url: 'https://e.example/' }])
  t.same(damaged, ['https://d.example/,"D,,,,,,'])
})

t.test('A row without a cell or an address is skipped and reported', async (t) => {
  const damaged = ['https://a.example/,A', 'B,https://b.example/,n', 'Note: and/or,C,n', ',D,n']
  const usable = ['https://e.example/a b', 'javascript:alert(1 + 2)', 'about:config', 'mailto:f@example.org']
  const rows = usable.flatMap((url, at) => [`${url},title,n`, damaged[at]])
  const result = await read(['url,title,note', ...rows].join('\n'))
  t.same([result.links.map(({ url }) => url), result.damaged, result.unread], [usable, damaged, 4])
  t.equal((await read('url,title,\nhttps://a.example/,A\n')).links.length, 1, 'a file with a column without a name')
  const typed = `${await writeBookmarkCsv([])}https://a.example/,A\nno address,B\n`
  t.match(await read(typed), { links: [{ title: 'A' }], damaged: ['no address,B'] }, 'a typed row in an app file')
})

t.test('An address may lack the scheme', async (t) => {
  const hosts = ['www.example.org', 'example.com/path?a=b', 'example.com:8080/x', 'пример.рф', 'example.xn--p1ai#x']
  const others = ['word', 'two. words', 'a@example.org', '1.5', 'localhost/x', '.org', 'e.g.', 'a.example/x y']
  const result = await read(['url,title', ...[...hosts, ...others].map((cell) => `${cell},T`)].join('\n'))
  const urls = hosts.map((host) => `https://${host}`)
  t.same([result.links.map(({ url }) => url), result.unread], [urls, others.length])
  t.same(
    result.damaged,
    others.map((cell) => `${cell},T`),
  )
  t.match(await read('title,url,note\nA, B,example.org,n\n'), { links: [{ title: 'A, B' }], damaged: [] })
})

t.test('An unreadable date is skipped, and its row reported', async (t) => {
  const [unclear, readable] = [
    ['1/2/2023', '01.02.2023', '2023-02-30', 'yesterday', '20230102', '31122023', '44927', '44927.5', '2023'],
    ['2016-06-15', '2016/06/15', '2016-6-15', '15/06/2016', '6/15/2016', '1466009412', '1466009412000', '0', '-1', ''],
  ]
  const rows = [...unclear, ...readable].map((date, at) => `https://example.org/${at},${date}`)
  const { bookmarks, damaged } = await readBookmarks(new TextEncoder().encode(`url,created\n${rows.join('\n')}`))
  const [day, second] = ['2016-06-15T00:00:00.000Z', '2016-06-15T16:50:12.000Z']
  const dates = [
    ...unclear.map(() => undefined),
    ...Array(5).fill(day),
    second,
    second,
    undefined,
    undefined,
    undefined,
  ]
  t.same(
    bookmarks.map(({ dateAdded }) => dateAdded),
    dates,
  )
  t.same(damaged, rows.slice(0, unclear.length))
})

t.test('The separator is the one with which `url` is a separate column', async (t) => {
  const links = [{ url: 'https://a.example/', title: '', note: 'A' }]
  for (const header of ['url,title; or name,note', 'url|title; or, name|note', 'url\ttitle, or; name\tnote'])
    t.same((await read(`${header}\nhttps://a.example/${header[3]}${header[3]}A\n`)).links, links, header)
})

t.test('Quotes in a long line, or in many lines, do not make reading CSV slow', async (t) => {
  for (const part of ['""x,', '"x,', '" ,', '"""x,', '""x,"', '"""x"",', '"\nhttps://a,\nx",', '"a\nb",']) {
    const csv = `title,url\n${part.repeat(50_000)}""\nTitle,https://a.example/\n`
    const { links } = await read(csv)
    t.match(links.slice(-1), [{ url: 'https://a.example/', title: 'Title' }], part)
  }
})
