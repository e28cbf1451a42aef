import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { differingFields, mergeBookmarks, withFieldsOf } from '../../src/client/bookmark/merge.ts'
import { sealJson, toJson } from '../../src/client/crypto/record.ts'
import { deriveKeys, type PlaintextBookmark } from '../../src/client/index.ts'
import { depth } from '../support/depth.ts'
import { readVectors } from './vectors.ts'

const keys = deriveKeys(randomBytes(32))
const base: PlaintextBookmark = {
  id: 'x',
  title: 'one',
  source: 'stars',
  url: 'https://example.org/',
  tags: ['a', 'b'],
  parentId: 'f',
  position: 'a1',
  owner: { login: 'ann', avatar_url: 'https://example.org/ann.png' },
}
/** The base with these fields, which may be unknown ones of another client. */
const edited = (fields: Partial<PlaintextBookmark> & Record<string, unknown>): PlaintextBookmark => ({
  ...base,
  ...fields,
})

t.test('malformed tags of an earlier client are merged like any other field', async (t) => {
  const [earlier, later] = [edited({ tags: 5 as never }), edited({ tags: ['c'] })]
  t.same(mergeBookmarks(base, earlier, later), { bookmark: later, lost: ['tags'] })
})

t.test('if the sides changed different fields, all changes are kept', async (t) => {
  const { tags: _, ...untagged } = edited({ title: 'two', 'x-new': { deep: [1] } })
  const merged = mergeBookmarks(base, untagged, edited({ url: 'https://example.com/', 'x-other': null }))
  t.same(merged, { bookmark: { ...untagged, url: 'https://example.com/', 'x-other': null }, lost: [] })
})

t.test('if both sides changed a field, the later value wins, and `lost` names the field', async (t) => {
  t.same(mergeBookmarks(base, edited({ title: 'two' }), edited({ title: 'three' })), {
    bookmark: edited({ title: 'three' }),
    lost: ['title'],
  })
  t.same(mergeBookmarks(base, edited({ title: 'two' }), edited({ title: 'two' })).lost, [], 'not an equal value')
})

t.test('tens of thousands of tags, as an imported file can have, are merged quickly', async (t) => {
  const tags = Array.from({ length: 30_000 }, (_, index) => `${index}`)
  let searches = 0
  const { includes } = Array.prototype
  t.intercept(Array.prototype, 'includes', {
    value(this: unknown[], ...one: [unknown]) {
      searches++
      return includes.apply(this, one)
    },
  })
  const { bookmark } = mergeBookmarks(
    { ...base, tags },
    { ...base, tags: tags.slice(1) },
    { ...base, tags: [...tags, 'new'] },
  )
  t.ok(searches < 100, `${searches} searches`)
  t.same(bookmark.tags, [...tags.slice(1), 'new'])
})

t.test('folder and position are one field, because a position has a meaning only in its folder', async (t) => {
  const { bookmark, lost } = mergeBookmarks(base, edited({ position: 'a7' }), edited({ parentId: 'g', position: 'a0' }))
  t.match([bookmark, lost], [{ parentId: 'g', position: 'a0' }, ['parentId']])
  const { parentId: _, position: __, ...top } = edited({ title: 'two' })
  t.same(mergeBookmarks(base, edited({ title: 'three' }), top).bookmark, top, 'no position is taken over')
})

t.test('an object is merged field by field, and keeps fields that this version does not know', async (t) => {
  const earlier = edited({ owner: { ...base.owner, login: 'bob', since: 2020 } as never })
  const later = edited({ owner: { ...base.owner, verified: true } as never })
  t.same(mergeBookmarks(base, earlier, later), {
    bookmark: edited({ owner: { ...base.owner, login: 'bob', since: 2020, verified: true } as never }),
    lost: [],
  })
})

t.test('without a base, every field that differs counts as changed on both sides', async (t) => {
  const later = edited({ title: 'two', tags: ['c'], dateModified: '2026-01-02T00:00:00Z' })
  t.same(mergeBookmarks(null, base, later), { bookmark: later, lost: ['title', 'tags'] })
  const elsewhere = { ...base, parentId: 'another' }
  t.same(mergeBookmarks(null, base, { ...base, position: 'a7' }).lost, [], 'except for positions in the same folder')
  t.same(mergeBookmarks(null, base, elsewhere).lost, ['parentId'])
})

t.test('a difference only in the dates of modification is not a conflict', async (t) => {
  const [earlier, later] = [edited({ dateModified: '2026-01-03' }), edited({ dateModified: '2026-01-02' })]
  t.same(mergeBookmarks(base, earlier, later), { bookmark: later, lost: [] })
})

t.test('the values that lost can be put back', async (t) => {
  const mine = edited({ title: 'two', parentId: 'g', position: 'a4' })
  const theirs = edited({ title: 'three', parentId: 'h', url: 'https://example.com/' })
  const { bookmark, lost } = mergeBookmarks(base, mine, theirs)
  t.same(lost.toSorted(), ['parentId', 'title'])
  t.same(differingFields(mine, bookmark).toSorted(), ['parentId', 'title', 'url'])
  t.same(withFieldsOf(mine, lost, bookmark), { ...mine, url: 'https://example.com/' })
})

const value = fc.oneof(
  fc.nat(2),
  fc.constantFrom('x', 'y', null),
  fc.record({ p: fc.nat(1), q: fc.nat(1) }, { requiredKeys: [], noNullPrototype: true }),
)
const fields = fc.record(
  {
    title: fc.constantFrom('one', 'two', 'three'),
    tags: fc.subarray(['a', 'b', 'c', 'd']),
    parentId: fc.constantFrom('f', 'g'),
    position: fc.constantFrom('a0', 'a1', 'a2'),
    dateModified: fc.constantFrom('2026-01-01', '2026-01-02'),
    owner: value,
    unknown: value,
    ['__proto__']: value,
  },
  { requiredKeys: ['title'], noNullPrototype: true },
)
const version = fields.map((fields) => ({ ...fields, id: 'x', source: 'bookmarks' }) as PlaintextBookmark)
const three = fc.tuple(fc.option(version), version, version)
const runs = { numRuns: depth(500, 100_000) }

t.test('two devices that merge the same versions make the same record; merging it again changes nothing', async () => {
  const property = fc.property(three, ([base, earlier, later]) => {
    const here = mergeBookmarks(base, earlier, later).bookmark
    const there = mergeBookmarks(base && shuffled(base), shuffled(earlier), shuffled(later)).bookmark
    return (
      hashOf(here) === hashOf(there) &&
      hashOf(mergeBookmarks(base, earlier, here).bookmark) === hashOf(here) &&
      hashOf(mergeBookmarks(base, here, there).bookmark) === hashOf(here) &&
      hashOf(mergeBookmarks(later, here, later).bookmark) === hashOf(here)
    )
  })
  fc.assert(property, runs)
})

t.test('each merged field has the value of one side, and `lost` names each change that was lost', async () => {
  const property = fc.property(three, ([base, earlier, later]) => {
    const { bookmark, lost } = mergeBookmarks(base, earlier, later)
    const isFrom = (one: PlaintextBookmark, other: PlaintextBookmark) => {
      const differing = differingFields(one, other)
      return (name: string) => !differing.includes(name)
    }
    const [asEarlier, asLater] = [isFrom(bookmark, earlier), isFrom(bookmark, later)]
    const isChanged = (version: PlaintextBookmark) => {
      const differing = base ? differingFields(base, version) : differingFields(earlier, later)
      return (name: string) => differing.includes(name)
    }
    const names = [...differingFields(bookmark, earlier), ...differingFields(bookmark, later)]
    const mixed = ['tags', 'owner', 'unknown', '__proto__']
    return names.every((name) => {
      const isOfOne = asEarlier(name) || asLater(name) || (base !== null && mixed.includes(name))
      const isInPlace = base === null && name === 'parentId' && earlier.parentId === later.parentId
      const isNeverTold = name === 'dateModified' || name === 'tags' || isInPlace
      const isTold = asEarlier(name) || !isChanged(earlier)(name) || isNeverTold
      const isKept = asLater(name) || isChanged(earlier)(name)
      return isOfOne && isKept && (isTold || lost.includes(name) || (base !== null && mixed.includes(name)))
    })
  })
  fc.assert(property, runs)
})

t.test('tags are a set: a tag that only one side added or removed is added or removed', async () => {
  const tags = fc.option(fc.subarray(['a', 'b', 'c', 'd']), { nil: undefined })
  const { tags: _, ...untagged } = base
  const tagged = (tags: string[] | undefined) => (tags ? { ...untagged, tags } : untagged)
  const property = fc.property(tags, tags, tags, (was = [], one, other) => {
    const { bookmark, lost } = mergeBookmarks(tagged(was), tagged(one), tagged(other))
    const isRight = (tag: string) => {
      const changed = [one, other].some((tags = []) => tags.includes(tag) !== was.includes(tag))
      return (bookmark.tags ?? []).includes(tag) === (was.includes(tag) !== changed)
    }
    return lost.length === 0 && ['a', 'b', 'c', 'd'].every(isRight)
  })
  fc.assert(property, runs)
})

function shuffled(bookmark: PlaintextBookmark): PlaintextBookmark {
  return Object.fromEntries(Object.entries(bookmark).reverse()) as PlaintextBookmark
}

function hashOf(bookmark: PlaintextBookmark): string {
  return sealJson(keys, 'x', toJson(bookmark)).data_hash
}

const moments = fc.uniqueArray(fc.integer({ min: 10, max: 60 }), { maxLength: 24 })
const entryOf = (at: readonly number[], earlier: readonly number[] = []): PlaintextBookmark => {
  const visits = [...new Set([...at, ...earlier])].map((minute) => `2026-11-21T08:${minute}:00.000Z`).sort()
  const [dateAdded = '', dateVisited = ''] = [visits.at(0), visits.at(-1)]
  const visited = { dateAdded, dateVisited, visits: visits.toReversed().slice(0, 20), visitCount: visits.length }
  return { id: 'h', title: '', source: 'history', ...(dateAdded && visited) }
}

const { cases } = readVectors<{
  cases: ({ label: string; lost: string[]; base: PlaintextBookmark | null } & Record<
    'earlier' | 'later' | 'merged',
    PlaintextBookmark
  >)[]
}>('visits')
for (const { label, base, earlier, later, merged, lost } of cases) {
  t.test(`vector: ${label}`, async (t) => t.same(mergeBookmarks(base, earlier, later), { bookmark: merged, lost }))
}

t.test('after a removal of a page no earlier visit comes back, in whatever order devices merge', async () => {
  const removal = fc.option(fc.integer({ min: 10, max: 60 }), { nil: 9 })
  const property = fc.property(fc.option(moments), moments, removal, moments, removal, (before, ...sides) => {
    const versionOf = (at: number[], removed: number): PlaintextBookmark => {
      const entry = entryOf(
        at.filter((minute) => minute > removed),
        (before ?? []).filter((minute) => minute > removed),
      )
      const dateModified = `2026-11-21T08:${removed}:00.000Z`
      if (removed > 9 && !entry.dateAdded) return { id: 'h', title: '', source: 'history', dateModified }
      return { ...entry, title: 'Page', url: 'https://example.org/', ...(removed > 9 && { dateModified }) }
    }
    const [one, removed, other, removedThere] = sides
    const [mine, theirs] = [versionOf(one, removed), versionOf(other, removedThere)]
    const base = before && versionOf([], 9)
    const { bookmark, lost } = mergeBookmarks(base, mine, theirs)
    const { url, visits = [], dateModified = '' } = bookmark
    return (
      lost.length === 0 &&
      hashOf(bookmark) === hashOf(mergeBookmarks(base, theirs, mine).bookmark) &&
      visits.every((visit) => visit > dateModified) &&
      (dateModified === '' || (url !== undefined) === visits.length > 0) &&
      [...(mine.visits ?? []), ...(theirs.visits ?? [])].every(
        (visit) => visit <= dateModified || visits.length === 20 || visits.includes(visit),
      )
    )
  })
  fc.assert(property, runs)
})

t.test('visits are added up in whatever order devices merge, and are never a conflict', async (t) => {
  const property = fc.property(fc.option(moments), moments, moments, (before, one, other) => {
    const base = before && entryOf(before)
    const [mine, theirs] = [entryOf(one, before ?? []), entryOf(other, before ?? [])]
    const { bookmark, lost } = mergeBookmarks(base, mine, theirs)
    const all = entryOf([...one, ...other], before ?? [])
    const count = bookmark.visitCount ?? 0
    return (
      lost.length === 0 &&
      hashOf(bookmark) === hashOf(mergeBookmarks(base, theirs, mine).bookmark) &&
      hashOf({ ...bookmark, visitCount: 0 }) === hashOf({ ...all, visitCount: 0 }) &&
      count >= Math.max(mine.visitCount ?? 0, theirs.visitCount ?? 0, bookmark.visits?.length ?? 0) &&
      count <= (mine.visitCount ?? 0) + (theirs.visitCount ?? 0) &&
      // A list of more than 20 visits was cut, so its count cannot be compared.
      (!base || [mine, theirs].some(({ visitCount = 0 }) => visitCount > 20) || count === (all.visitCount ?? 0))
    )
  })
  fc.assert(property, runs)
  const base = entryOf([10, 11])
  const { bookmark, lost } = mergeBookmarks(base, { ...entryOf([12], [10, 11]), title: 'a' }, { ...base, title: 'b' })
  t.same([bookmark, lost], [{ ...entryOf([12], [10, 11]), title: 'b' }, ['title']], 'a title can be a conflict')
})
