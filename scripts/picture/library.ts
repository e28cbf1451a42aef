/** Realistic bookmarks by folder: long and missing titles, other scripts, notes. */
const folders: Record<string, readonly Link[]> = {
  Reading: [
    [
      'Argon2 memory-hard function (RFC 9106)',
      'https://www.rfc-editor.org/rfc/rfc9106',
      'crypto,rfc',
      'Section 4: which numbers to choose',
    ],
    ['Write-ahead logging in SQLite', 'https://sqlite.org/wal.html', 'databases'],
    [
      'Local-first software: you own your data, in spite of the cloud',
      'https://www.inkandswitch.com/local-first/',
      'sync,essays',
    ],
    [
      'The Log: What every software engineer should know about real-time data’s unifying abstraction',
      'https://engineering.example.com/the-log',
      'databases,essays,long-reads',
    ],
    ['', 'https://news.ycombinator.com/item?id=8863', 'essays'],
  ],
  Kitchen: [
    [
      'Bread without kneading',
      'https://www.seriouseats.com/no-knead-bread',
      'recipes,weekend',
      'Start on Friday evening',
    ],
    ['Lentil soup', 'https://www.bbcgoodfood.com/recipes/lentil-soup', 'recipes,weekdays'],
    ['Weeknight pasta', 'https://www.bbcgoodfood.com/recipes/pasta', 'recipes,weekdays,fast'],
    ['מתכון לחלה', 'https://example.co.il/challah', 'recipes,weekend'],
    ['周末炖菜', 'https://example.cn/stew', 'recipes'],
  ],
  Travel: [
    ['Trains in Europe', 'https://www.seat61.com/', 'trains,europe'],
    ['OpenStreetMap', 'https://www.openstreetmap.org/', 'maps'],
    ['Youth hostels', 'https://www.hihostels.com/', 'europe'],
    ['Weather', 'https://www.met.no/', 'reference'],
  ],
  Work: [
    ['Design review', 'https://docs.example.com/d/19f2?tab=t.0&utm_source=mail&heading=h.9a8b7c6d5e4f', 'work'],
    ['On-call handbook', 'https://handbook.example.com/on-call', 'work,reference'],
    ['Expenses', 'https://expenses.example.com/', 'work'],
  ],
}
const loose: readonly Link[] = [
  ['Wikipedia', 'https://en.wikipedia.org/', 'reference'],
  ['Wikipedia, the free encyclopedia', 'http://www.en.wikipedia.org', 'reference'],
  ['Internet Archive', 'https://archive.org/', 'reference'],
  ['Old printer page', 'http://printer.example/', ''],
  ['Old router page', 'http://router.example/', ''],
  ['Shop that is gone', 'http://shop.example/', ''],
]

type Link = readonly [title: string, url: string, tags: string, note?: string]

let day = Date.UTC(2026, 9, 1) / 1000

function lineOf([title, url, tags, note]: Link): string {
  day -= 9 * 86_400
  return `<DT><A HREF="${url}" ADD_DATE="${day}" TAGS="${tags}">${title}</A>${note ? `\n<DD>${note}` : ''}`
}

function folderOf(name: string, links: readonly Link[], inside = ''): string {
  return `<DT><H3>${name}</H3>\n<DL><p>\n${inside}${links.map(lineOf).join('\n')}\n</DL><p>`
}

const papers = folderOf('Papers', [['Conflict-free replicated data types', 'https://crdt.tech/papers', 'sync,papers']])
const filled = Object.entries(folders).map(([name, links]) => folderOf(name, links, name === 'Reading' ? papers : ''))

/** The bookmarks as a bookmark file, as browsers export it. */
export const library = `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<DL><p>
${filled.join('\n')}
${folderOf('Empty for now', [])}
${loose.map(lineOf).join('\n')}
</DL><p>`
