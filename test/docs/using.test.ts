import { glob, readFile } from 'node:fs/promises'
import t from 'tap'
import { kindOf } from '../../src/client/bookmark/tree.ts'
import type { PlaintextBookmark } from '../../src/client/bookmark.ts'
import { readBookmarks } from '../../src/client/bookmark-file.ts'
import { formatSamples } from '../client/bookmark-file/format-samples.ts'

for (const [language, folder] of [
  ['en', 'docs/using'],
  ['de', 'docs/using/de'],
]) {
  t.test(`Each bold text of ${folder} is on the web page or in the extension, word for word`, async (t) => {
    const shown = await textsOf(`src/web/words/${language}.ts`, `examples/extension/_locales/${language}/messages.json`)
    const words = (await textsOf(`${folder}/*.md`)).matchAll(/\*\*(.+?)\*\*/g)
    const names = [...new Set([...words].map(([, name = '']) => name))]
    t.ok(names.length > 30)
    t.same(
      names.filter((name) => !shown.includes(name)),
      [],
    )
  })
}

t.test('The pages for people exist in each language, with the same sections', async (t) => {
  for (const file of await Array.fromAsync(glob('*.md', { cwd: 'docs/using' }))) {
    const shapes = ['docs/using', 'docs/using/de'].map(async (folder) => {
      const text = await readFile(`${folder}/${file}`, 'utf8')
      return text.split('\n').flatMap((line) => /^(#+ |\d\. |- |\|)/.exec(line.trim())?.[0] ?? [])
    })
    t.same(...((await Promise.all(shapes)) as [string[], string[]]), file)
  }
})

/** The names of a bookmark's parts in both languages, and how to find each part. */
const parts: [string, string, (bookmark: PlaintextBookmark) => unknown][] = [
  ['folders', 'ordner', (bookmark) => kindOf(bookmark) === 'folder'],
  ['separators', 'trennlinien', ({ type }) => type],
  ['tags', 'schlagwörter', ({ tags }) => tags],
  ['descriptions', 'beschreibungen', ({ description }) => description],
  ['dates', 'datum', ({ dateAdded }) => dateAdded],
]

/** An HTML file that has each of `parts`. */
const html = {
  source: 'linkding',
  text: `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<DL><p>
<DT><H3 ADD_DATE="1466009412">In</H3>
<DL><p>
<DT><A HREF="https://one.example/" TAGS="a,b" ICON="data:image/png;base64,AA==">One</A>
<DD>Words
<HR>
</DL><p>
</DL><p>`,
}
const sources = [...formatSamples, html].map(({ source }) => source)
/** Not tried here: the next test's formats, and our own files, which are read back completely. */
const untried = [
  ['This page', 'Other programs'],
  ['Diese Seite', 'Andere Programme'],
]

t.test('The table of import formats says which parts are imported from each, in both languages', async (t) => {
  for (const [language, folder] of ['docs/using', 'docs/using/de'].entries()) {
    const text = await readFile(`${folder}/bring-your-bookmarks.md`, 'utf8')
    const rows = text.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))
    for (const { source, text: file } of [...formatSamples, html]) {
      const [, , , comes = ''] = rows.find(([, from = '', , , not]) => not && from.split(', ').includes(source)) ?? []
      const { bookmarks } = await readBookmarks(new TextEncoder().encode(file))
      const read = parts.filter(([, , has]) => bookmarks.some(has)).map((words) => words[language])
      const said = parts.map((words) => words[language]).filter((word) => comes.toLowerCase().includes(word as string))
      t.same(said, read, `${folder}: ${source}`)
    }
    const all = rows.flatMap(([, from, , , not]) => (not ? [from] : []))
    const isTried = (from = '') => sources.some((source) => from.split(', ').includes(source))
    t.same(
      all.slice(2).filter((from) => !isTried(from)),
      untried[language],
      'each row is tested',
    )
  }
})

t.test('The columns that the table names are imported from any CSV, and no others', async (t) => {
  const csv = 'url,title,folder,tags,note,created,other\nhttps://one.example/,One,In,"a, b",Words,2016-06-15,Lost\n'
  const { bookmarks } = await readBookmarks(new TextEncoder().encode(csv))
  const one = { url: 'https://one.example/', title: 'One', folder: 'In', tags: ['a', 'b'], description: 'Words' }
  t.match(bookmarks, [{ title: 'In' }, { ...one, dateAdded: '2016-06-15T00:00:00.000Z' }])
  t.notMatch(JSON.stringify(bookmarks), 'Lost')
  for (const folder of ['docs/using', 'docs/using/de']) {
    const text = await readFile(`${folder}/bring-your-bookmarks.md`, 'utf8')
    const row = text.split('\n').find((line) => /^\| (Other programs|Andere Programme) /.test(line)) ?? ''
    t.same(
      [...row.matchAll(/`(\w+)`/g)].map(([, name]) => name),
      ['url', 'title', 'folder', 'tags', 'note', 'created'],
    )
  }
})

/** The texts of all matching files, with each run of white space as one space. */
async function textsOf(...patterns: string[]): Promise<string> {
  const files = (await Array.fromAsync(glob(patterns))).sort()
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
  return texts.join('\n').replaceAll(/\s+/g, ' ')
}
