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
  t.test(`What ${folder} prints in bold stands on the page, or in the extension, word by word`, async (t) => {
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

t.test('The pages for people are there in each language, with the same parts', async (t) => {
  for (const file of await Array.fromAsync(glob('*.md', { cwd: 'docs/using' }))) {
    const shapes = ['docs/using', 'docs/using/de'].map(async (folder) => {
      const text = await readFile(`${folder}/${file}`, 'utf8')
      return text.split('\n').flatMap((line) => /^(#+ |\d\. |- |\|)/.exec(line.trim())?.[0] ?? [])
    })
    t.same(...((await Promise.all(shapes)) as [string[], string[]]), file)
  }
})

/** In both languages, by what a bookmark of it has. */
const parts: [string, string, (bookmark: PlaintextBookmark) => unknown][] = [
  ['folders', 'ordner', (bookmark) => kindOf(bookmark) === 'folder'],
  ['separators', 'trennlinien', ({ type }) => type],
  ['tags', 'schlagwörter', ({ tags }) => tags],
  ['descriptions', 'beschreibungen', ({ description }) => description],
  ['dates', 'daten', ({ dateAdded }) => dateAdded],
]

t.test('The table of files to import says what comes of each, in both languages', async (t) => {
  for (const [language, folder] of ['docs/using', 'docs/using/de'].entries()) {
    const text = await readFile(`${folder}/bring-your-bookmarks.md`, 'utf8')
    const rows = text.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))
    for (const { source, text: file } of formatSamples) {
      const [, , , comes = ''] = rows.find(([, from = '', , , not]) => not && from.split(', ').includes(source)) ?? []
      const { bookmarks } = await readBookmarks(new TextEncoder().encode(file))
      const read = parts.filter(([, , has]) => bookmarks.some(has)).map((words) => words[language])
      const said = parts.map((words) => words[language]).filter((word) => comes.toLowerCase().includes(word as string))
      t.same(said, read, `${folder}: ${source}`)
    }
  }
})

/** All of them, with each run of white space as one space. */
async function textsOf(...patterns: string[]): Promise<string> {
  const files = (await Array.fromAsync(glob(patterns))).sort()
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
  return texts.join('\n').replaceAll(/\s+/g, ' ')
}
