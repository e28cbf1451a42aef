import type { BookmarkFormat } from '../../../src/client/bookmark-file.ts'

interface Sample {
  /** The source's name in the users' guide. */
  source: string
  format: BookmarkFormat
  text: string
  /** The bookmarks as `linesOf` returns them. */
  lines: string[]
  /** The `attributes` of the bookmarks that have any. */
  attributes?: Record<string, string>[]
}

const moz = 'text/x-moz-place'
const one = { url: 'https://one.example/', title: 'One' }
const date = '2016-06-15T16:50:12.000Z'
const [seconds, chromeTime] = ['1466009412', '13110483012000000']

/** A small file of each source. */
export const formatSamples: Sample[] = [
  {
    source: 'Chrome',
    format: 'chrome',
    text: JSON.stringify({
      checksum: '0',
      roots: {
        bookmark_bar: {
          type: 'folder',
          name: 'Bookmarks bar',
          date_added: chromeTime,
          date_modified: '0',
          children: [
            {
              type: 'folder',
              name: 'News',
              children: [{ type: 'url', name: 'One', url: one.url, date_added: chromeTime, id: '7' }, null],
            },
            { type: 'url', name: 'Two', url: 'javascript:void(0)', meta_info: { Description: 'a note' } },
            {
              ...{ type: 'url', name: '---', url: 'http://bookmark.placeholder.url/' },
              meta_info: { Description: 'separator', Separator: 'true' },
            },
          ],
        },
        other: {
          type: 'folder',
          name: 'Other bookmarks',
          children: [{ type: 'url', name: 'Three', url: 'u' }, { type: 'url' }],
        },
        synced: { type: 'folder', name: 'Mobile bookmarks', children: [] },
        trash: { type: 'folder', name: 'Trash', children: [{ type: 'url', name: 'Old', url: 'old' }] },
      },
      version: 1,
    }),
    lines: [
      `["Bookmarks bar","folder","${date}"]`,
      '  ["News","folder"]',
      `    ["One","https://one.example/","${date}"]`,
      '  ["Two","javascript:void(0)","a note"]',
      '  ["","---"]',
      '["Other bookmarks","folder"]',
      '  ["Three","u"]',
      'unread: 2',
    ],
    attributes: [{ personal_toolbar_folder: 'true' }, { unfiled_bookmarks_folder: 'true' }],
  },
  {
    source: 'Firefox',
    format: 'firefox',
    text: JSON.stringify({
      guid: 'root________',
      type: `${moz}-container`,
      root: 'placesRoot',
      children: [
        {
          title: 'menu',
          root: 'bookmarksMenuFolder',
          type: `${moz}-container`,
          children: [
            { title: 'One', type: moz, uri: one.url, dateAdded: 1_466_009_412_345_000, tags: 'a,b', keyword: 'k' },
            { type: `${moz}-separator` },
            { title: 'News', type: `${moz}-container`, children: [{ title: 'lost', type: moz }] },
          ],
        },
        {
          title: 'toolbar',
          root: 'toolbarFolder',
          type: `${moz}-container`,
          children: [
            {
              title: 'Two',
              type: moz,
              uri: 'place:sort=8',
              annos: [{ name: 'bookmarkProperties/description', value: 'a note' }],
            },
          ],
        },
        { title: 'unfiled', root: 'unfiledBookmarksFolder', type: `${moz}-container`, children: [] },
        { title: 'mobile', root: 'mobileFolder', type: `${moz}-container` },
        { title: 'tags', root: 'tagsFolder', type: `${moz}-container`, children: [{ title: 'a' }] },
      ],
    }),
    lines: [
      `["One","https://one.example/","${date}","#a #b"]`,
      '["","---"]',
      '["News","folder"]',
      '["Bookmarks Toolbar","folder"]',
      '  ["Two","place:sort=8","a note"]',
      'unread: 1',
    ],
    attributes: [{ shortcuturl: 'k' }, { personal_toolbar_folder: 'true' }],
  },
  {
    source: 'Pocket',
    format: 'csv',
    text: `title,url,time_added,tags,status
One,https://one.example/,${seconds},a|b c,unread
"Two, ""quoted""",https://two.example/,${seconds},,archive
`,
    lines: [
      '["Unread","folder"]',
      `  ["One","https://one.example/","${date}","#a #b c"]`,
      '["Read Archive","folder"]',
      `  ["Two, \\"quoted\\"","https://two.example/","${date}"]`,
    ],
  },
  {
    source: 'Instapaper',
    format: 'csv',
    text: `URL,Title,Selection,Folder,Timestamp,Tags\r
https://one.example/,One,,Unread,${seconds},"[""a"", ""b""]"\r
https://two.example/,Two,"two\nlines",To do/later,${seconds},[]\r
,lost,,Unread,,[]\r
`,
    lines: [
      '["Unread","folder"]',
      `  ["One","https://one.example/","${date}","#a #b"]`,
      '["To do/later","folder"]',
      `  ["Two","https://two.example/","${date}","two\\nlines"]`,
      'unread: 1',
    ],
  },
  {
    source: 'Raindrop',
    format: 'csv',
    text: `id,title,note,excerpt,url,folder,tags,created,cover,highlights,favorite
1,One,a note,an excerpt,https://one.example/,Reading/Web,"a, b",2016-06-15T16:50:12.345Z,https://one.example/c.png,,true
2,Two,,,https://two.example/,Reading,,,,,false
`,
    lines: [
      '["Reading","folder"]',
      '  ["Web","folder"]',
      `    ["One","https://one.example/","${date}","#a #b","a note\\n\\nan excerpt"]`,
      '  ["Two","https://two.example/"]',
    ],
    attributes: [{ 'data-cover': 'https://one.example/c.png', 'data-important': 'true' }],
  },
  {
    source: 'Pinboard',
    format: 'pinboard',
    text: JSON.stringify([
      {
        href: one.url,
        description: 'One',
        extended: 'a note',
        meta: 'm',
        hash: 'h',
        time: '2016-06-15T16:50:12Z',
        shared: 'no',
        toread: 'yes',
        tags: 'a b',
      },
      { href: 'https://two.example/', description: 'Two', shared: 'yes', toread: 'no', tags: '' },
      'lost',
    ]),
    lines: [`["One","https://one.example/","${date}","#a #b","a note"]`, '["Two","https://two.example/"]', 'unread: 1'],
    attributes: [{ private: '1', toread: '1' }],
  },
  {
    source: 'xBrowserSync',
    format: 'xbrowsersync',
    text: JSON.stringify({
      xbrowsersync: {
        date: '2021',
        data: {
          bookmarks: [
            {
              id: 1,
              title: '[xbs] Toolbar',
              children: [
                { id: 2, ...one, description: 'a note', tags: ['a', 'b'] },
                { id: 3, title: '-' },
              ],
            },
            { id: 4, title: 'Mine', children: [] },
          ],
        },
      },
    }),
    lines: [
      '["Toolbar","folder"]',
      '  ["One","https://one.example/","#a #b","a note"]',
      '  ["","---"]',
      '["Mine","folder"]',
    ],
    attributes: [{ personal_toolbar_folder: 'true' }],
  },
]
