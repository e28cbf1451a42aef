import fc from 'fast-check'
import t from 'tap'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { fold } from '../../../src/client/sync/search/fold.ts'
import { nearIndex } from '../../../src/client/sync/search/near.ts'
import { parseQuery } from '../../../src/client/sync/search/query.ts'
import { Search } from '../../../src/client/sync/search/search.ts'
import type { Emitter } from '../../../src/client/sync/store/emitter.ts'
import { depth } from '../../support/depth.ts'
import { bookmark } from './device.ts'

const folder = (id: string, title: string, fields: Partial<PlaintextBookmark> = {}): PlaintextBookmark => ({
  ...{ id, title, source: 'bookmarks' },
  ...fields,
})

const library: PlaintextBookmark[] = [
  folder('kitchen', 'Meine Küche'),
  folder('cakes', 'Kuchen', { parentId: 'kitchen' }),
  bookmark('cheese', 'Erdbeer-Käsekuchen', { parentId: 'cakes', url: 'https://backen.example/käse' }),
  bookmark('york', 'New York Times', { url: 'https://www.nyt.example/', tags: ['to read'] }),
  bookmark('minster', 'York Minster: new opening hours', { url: 'https://york.example/', tags: ['Reisen', 'York'] }),
  bookmark('subway', 'Subway map', { url: 'https://new.mta.example/maps' }),
  bookmark('rock', 'Rock ’n’ Roll', { url: 'https://rock.example/', tags: ['music'] }),
  bookmark('mail', 'E‑mail for all', { url: 'https://mail.example/?from=mta.example' }),
  bookmark('munich', 'München leuchtet', { url: 'https://stadt.example/m%C3%BCnchen' }),
  bookmark('plain', 'Muenchen ohne Punkte', { url: 'https://aero.example/blue', tags: ['Reise'] }),
  bookmark('path', 'Of another app', { url: 'https://else.example/', path: 'Alte Karten' }),
]
const search = searchIn(library)

function searchIn(bookmarks: readonly PlaintextBookmark[]): Search {
  return new Search({ live: new Map(bookmarks.map((one) => [one.id, one])) }, { on: () => () => {} })
}

async function find(query: string, within = search): Promise<string[]> {
  return (await within.find(query, { limit: Number.POSITIVE_INFINITY })).map(({ id }) => id).sort()
}

const queries: Record<string, readonly string[]> = {
  'new york': ['minster', 'york'],
  '"new york"': ['york'],
  '„New York“': ['york'],
  '“new york': ['york'],
  '«new  york»': ['york'],
  '»new york«': ['york'],
  '‘new york’': ['york'],
  "'new york'": ['york'],
  'york -minster': ['york'],
  'york –minster': ['york'],
  'york -"new york"': ['minster'],
  'new - york': ['minster', 'york'],
  'rock OR subway': ['rock', 'subway'],
  'OR york OR subway -minster OR': ['subway', 'york'],
  'new york OR subway': ['minster', 'subway', 'york'],
  '#music OR #"to read" OR site:stadt.example': ['munich', 'rock', 'york'],
  'york OR -york minster OR roll': ['minster', 'rock'],
  'rock or roll': [],
  OR: [],
  "rock 'n' roll": ['rock'],
  'rock ‘n’ roll': ['rock'],
  'rock ´n´ roll': ['rock'],
  'e-mail': ['mail'],
  'e‐mail': ['mail'],
  käsekuchen: ['cheese'],
  kasekuchen: ['cheese'],
  kaesekuchen: ['cheese'],
  käsekuhen: ['cheese'],
  kaesekuhcen: ['cheese'],
  munchen: ['munich'],
  muenchen: ['munich', 'plain'],
  münchen: ['munich', 'plain'],
  'münchen leuchtett': ['munich'],
  '"käsekuhen"': [],
  'york -käsekuhen': ['minster', 'york'],
  blu: ['plain'],
  aro: [],
  '#reise': ['minster', 'plain'],
  '#Reisen': ['minster'],
  '#read': ['york'],
  '#"to read"': ['york'],
  '-#reise #york': [],
  'york -#reise': ['york'],
  'in:küche käse': ['cheese'],
  'In:kueche': ['cakes', 'cheese'],
  'in:"meine küche" kuchen': ['cakes', 'cheese'],
  'in:karten': ['path'],
  'kuchen -in:kuchen': ['cakes'],
  'site:mta.example': ['subway'],
  'site:https://www.mta.example/': ['subway'],
  'site:mta.example/maps': ['subway'],
  'site:ta.example': [],
  'www.mta.example': ['mail', 'subway'],
  'https://www.york.example/': ['minster'],
  'is:untagged': ['cheese', 'mail', 'munich', 'path', 'subway'],
  'is:untagged -site:example': [],
  'york -is:untagged': ['minster', 'york'],
  'is:blue': [],
  'york is:': [],
  'york in: # - site:': ['minster', 'york'],
  '"" -': [],
}
for (const [query, found] of Object.entries(queries)) {
  t.test(`the search ‹${query}›`, async (t) => t.same(await find(query), found))
}

const word = fc
  .stringMatching(/^[\p{L}\p{N}]{1,8}$/u)
  .filter((word) => fold(word).trim() === fold(word) && fold(word) !== '')
const quotes = ['""', '“”', '„“', '„”', '«»', '»«', '””', '‟”', '″″', '＂＂', '‘’', '‚‘', "''", '‹›']
const dashes = [...'-‐‑‒–—―−－']

t.test('all kinds of quotes and dashes mean the same in a query', async () => {
  const phrase = fc.array(word, { minLength: 1, maxLength: 4 })
  const operator = fc.constantFrom('', '#', 'in:')
  fc.assert(
    fc.property(
      phrase,
      operator,
      fc.constantFrom(...quotes),
      fc.constantFrom('', ...dashes),
      (words, of, pair, dash) => {
        const [open = '', close = ''] = pair
        const [term, ...others] = parseQuery(`${dash}${of}${open}${words.join(' ')}${close}`)
        const [same] = parseQuery(`${dash && '-'}${of}"${words.join('  ')}"`)
        t.same([term, others], [same, []])
        t.equal(term?.spellings[0], fold(words.join(' ')))
        t.equal(term?.isExcluded, dash !== '')
      },
    ),
    { numRuns: depth(300, 5000) },
  )
})

t.test('any query can be parsed, and its negation finds exactly the other bookmarks', async () => {
  const sign = fc.constantFrom(
    ...' "\'„“«»‘’-–#:ä%\0\u0308',
    'in:',
    'is:',
    'site:',
    'is:untagged',
    'york',
    'new',
    'kuchen',
  )
  await fc.assert(
    fc.asyncProperty(fc.array(sign, { maxLength: 12 }), async (signs) => {
      const query = signs.join('')
      for (const { spellings } of parseQuery(query))
        t.notOk(
          spellings.some((one) => one.trim() === ''),
          query,
        )
      await find(query)
    }),
    { numRuns: depth(300, 5000) },
  )
  const all = library.map(({ id }) => id).sort()
  const term = fc.constantFrom('york', '"new york"', '#reise', 'in:küche', 'site:mta.example', 'is:untagged', 'ü', 'xq')
  await fc.assert(
    fc.asyncProperty(term, async (term) => {
      t.same([...(await find(term)), ...(await find(`-${term}`))].sort(), all, term)
    }),
  )
})

t.test('a letter that stands for an apostrophe and another is found, in quotes, too', async () => {
  const within = searchIn([bookmark('afrikaans', 'Dis ŉ boek', { url: 'https://a.example/' })])
  for (const query of ['ŉ', "'n boek", '"ŉ boek"', "dis 'n"]) t.same(await find(query, within), ['afrikaans'], query)
})

t.test('each part of a title is found in quotes, and without quotes if it has no operators', async () => {
  const titles = fc.array(fc.array(word, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(titles, fc.nat(), fc.nat(), async (titles, at, length) => {
      const names = titles.map((words) => words.join(' '))
      const index = at % names.length
      const within = searchIn(names.map((title, index) => bookmark(`${index}`, title, { url: 'https://a.example/' })))
      const letters = [...(names[index] as string)]
      const part = letters.slice(at % letters.length, (at % letters.length) + 1 + (length % letters.length)).join('')
      if (fold(part).trim() === '') return
      t.ok((await find(`"${part}"`, within)).includes(`${index}`), part)
      t.ok((await find(part, within)).includes(`${index}`), part)
    }),
    { numRuns: depth(100, 2000) },
  )
})

t.test('of equal matches the newest comes first, also after edits, and a limit keeps the first ones', async () => {
  const day = fc.integer({ min: 1, max: 9 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(5), day, fc.boolean()), { maxLength: 20 }),
      fc.nat(6),
      async (edits, limit) => {
        const live = new Map<string, PlaintextBookmark>()
        let changed = (_: { ids: string[] }) => {}
        const on = (_: string, listener: typeof changed) => {
          changed = listener
          return () => {}
        }
        const search = new Search({ live }, { on: on as Emitter['on'] })
        for (const [number, day, isKept] of edits) {
          const id = `${number}`
          if (isKept) live.set(id, bookmark(id, 'Same', { dateAdded: `2026-01-0${day}T00:00:00.000Z` }))
          else live.delete(id)
          changed({ ids: [id] })
          const key = ({ id, dateAdded = '' }: PlaintextBookmark) => `${99 - Number(dateAdded.slice(8, 10))} ${id}`
          const sorted = [...live.values()].sort((one, other) => (key(one) < key(other) ? -1 : 1))
          t.same(await search.find('same', {}), sorted)
          t.same(await search.find('smae', { limit }), sorted.slice(0, limit), 'near')
        }
      },
    ),
    { numRuns: depth(50, 1000) },
  )
})

t.test('a word is near to words that differ by one change, and to no others', async () => {
  const letters = (minLength: number, maxLength: number) =>
    fc.string({ unit: fc.constantFrom(...'abc '), minLength, maxLength })
  fc.assert(
    fc.property(letters(0, 16), letters(7, 9), (text, word) => {
      const parts = Array.from({ length: text.length + 1 }, (_, start) =>
        [-1, 0, 1].map((more) => text.slice(start, start + word.length + more)),
      ).flat()
      t.equal(
        nearIndex(text, word) !== -1,
        parts.some((part) => isNear(part, word)),
        `${word} in ${text}`,
      )
    }),
    { numRuns: depth(2000, 50_000) },
  )
  const changed = fc.tuple(letters(7, 9), fc.nat(8), fc.nat(3), fc.constantFrom(...'abc'))
  fc.assert(
    fc.property(changed, letters(0, 9), ([word, at, kind, letter], around) => {
      const start = Math.min(at, word.length - 2)
      const [one = '', other = ''] = word.slice(start, start + 2)
      const change = [letter, '', `${letter}${one}`, `${other}${one}`][kind] as string
      const typo = word.slice(0, start) + change + word.slice(start + (kind === 3 ? 2 : 1))
      t.not(nearIndex(`${around}${typo}${around}`, word), -1, `${word} ${typo}`)
    }),
    { numRuns: depth(1000, 20_000) },
  )
})

/** The definition of a near match: equal, or one letter was replaced, added, removed, or swapped with the next one. */
function isNear(one: string, other: string): boolean {
  let start = 0
  while (start < Math.min(one.length, other.length) && one[start] === other[start]) start++
  const [left, right] = [one.slice(start), other.slice(start)]
  return (
    left.slice(1) === right.slice(1) ||
    left === right.slice(1) ||
    left.slice(1) === right ||
    (left[0] === right[1] && left[1] === right[0] && left.slice(2) === right.slice(2))
  )
}
