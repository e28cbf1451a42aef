import t from 'tap'
import { guessTags } from '../../src/web/library/guess-tags.ts'
import type { Bookmark } from '../../src/web/library/kind.ts'

const known = [
  of('1', 'https://sqlite.org/wal.html', 'Write-ahead logging', { tags: ['databases', 'read'] }),
  of('2', 'https://www.sqlite.org/lang.html', 'SQL as understood', { tags: ['databases'] }),
  of('3', 'https://cooking.example/bread', 'Sourdough bread', { tags: ['recipes', 'read'], parentId: 'kitchen' }),
  of('4', 'https://cooking.example/soup', 'A soup', { tags: ['recipes'], parentId: 'kitchen' }),
  of('5', 'https://news.example/', 'News', { tags: ['read'] }),
  of('6', 'https://untagged.example/', 'Nothing'),
  of('7', 'https://broken.example/', 'Broken', { tags: 'recipes' as unknown as string[] }),
]
const sync = { bookmarks: () => new Map(known.map((bookmark) => [bookmark.id, bookmark])) }

const cases: [what: string, bookmark: Bookmark, guesses: string[]][] = [
  ['the site', of('n', 'https://sqlite.org/json1.html', 'JSON'), ['databases', 'read']],
  ['a word of the title', of('n', 'https://else.example/', 'BREAD for beginners'), ['recipes', 'read']],
  ['the folder', of('n', 'https://else.example/', 'x', { parentId: 'kitchen' }), ['recipes']],
  ['the name of the tag', of('n', 'https://else.example/', 'All about Databases'), ['databases']],
  ['nothing', of('n', 'https://else.example/', 'x'), []],
]
for (const [what, bookmark, guesses] of cases) {
  t.test(`tags are guessed by ${what}`, async (t) => t.same(guessTags(sync, bookmark), guesses))
}

function of(id: string, url: string, title: string, more: Partial<Bookmark> = {}): Bookmark {
  return { id, url, title, source: 'bookmarks', ...more }
}
