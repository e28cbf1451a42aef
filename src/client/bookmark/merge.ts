import type { PlaintextBookmark } from '../bookmark.ts'
import { isEqual } from './equal.ts'

export interface MergedBookmark {
  bookmark: PlaintextBookmark
  /** Names of the fields whose earlier value lost. `parentId` stands for `parentId` and `position` together. */
  lost: string[]
}

/**
 * Merges two versions of a bookmark, neither of which was made on top of the other, field by field. A field that only one
 * version has changed gets that value. A field that both have changed differently gets the later version's value, except:
 *
 * - with a base, `tags` is a set: additions and removals of both versions count
 * - with a base, the fields of an object, such as `owner`, are merged one by one in the same way
 * - an earlier `dateModified` does not count as lost
 * - nor does an earlier `position` in the same folder without a base: both versions have added the bookmark there, and
 *   neither has moved it
 * - a history entry gets the visits of both versions, and none counts as lost: see `mergeVisits`. If its page was removed,
 *   only later visits count; without any, it stays removed
 *
 * Every device that merges the same versions gets the same bookmark. Unknown fields are merged like known ones.
 *
 * @param base the version on which both were made; null if there is none: then both have changed all fields that differ
 */
export function mergeBookmarks(
  base: PlaintextBookmark | null,
  earlier: PlaintextBookmark,
  later: PlaintextBookmark,
): MergedBookmark {
  const { fields, lost } = mergeFields(base && toFields(base), toFields(earlier), toFields(later), mergeTags)
  const isVisited = earlier.source === 'history' && later.source === 'history'
  const visited = isVisited ? mergeVisits(base, earlier, later) : {}
  const isDecided = (name: string) => name === 'dateModified' || Object.hasOwn(visited, name)
  const all = asFields({ ...Object.fromEntries(fields), ...visited })
  return { bookmark: toBookmark(all), lost: lost.filter((name) => !isDecided(name)) }
}

/** The most visits that a history entry lists. */
export const mostVisits = 20

/**
 * Merges the visits of a history entry: first date, last date, newest visits, and their number: with a base, its number and what
 * both have added, a listed visit of both once; else the greater. If the page was removed, only later visits count.
 */
function mergeVisits(base: PlaintextBookmark | null, earlier: PlaintextBookmark, later: PlaintextBookmark): object {
  const [first, last] = [earlier.dateModified ?? '', later.dateModified ?? ''].sort() as [string, string]
  // A removal counts if only one version has it. If only one version has undone a removal of the base, the undoing counts.
  const removedAt = base?.dateModified === last ? first : last
  const [was, one, other] = [base ?? {}, earlier, later].map((version) => since(removedAt, version)) as [
    Visited,
    Visited,
    Visited,
  ]
  const inOrder = (name: 'dateAdded' | 'dateVisited') =>
    [one[name], other[name]].filter((date) => date !== undefined).sort()
  const [dateAdded] = inOrder('dateAdded')
  const dateVisited = inOrder('dateVisited').at(-1)
  const before = new Set(was.visits)
  const [visits, others] = [new Set(one.visits), new Set(other.visits)]
  const all = [...new Set([...visits, ...others])].sort().reverse()
  const counts = [one.visitCount ?? 0, other.visitCount ?? 0] as const
  const both = [...visits].filter((visit) => others.has(visit) && !before.has(visit)).length
  const sum = base ? counts[0] + counts[1] - (was.visitCount ?? 0) - both : 0
  const visitCount = Math.max(...counts, all.length, sum)
  const page = all.length > 0 ? [later, earlier].find(({ url }) => url) : undefined
  return {
    dateAdded,
    dateVisited,
    visits: all[0] && all.slice(0, mostVisits),
    visitCount: visitCount || undefined,
    ...(removedAt && { url: page?.url, title: page?.title ?? '', dateModified: removedAt }),
  }
}

type Visited = { [Name in 'dateAdded' | 'dateVisited' | 'visits' | 'visitCount']?: PlaintextBookmark[Name] | undefined }

/** The visits since the page was removed (`dateModified`; empty if never). A version with that removal counts whole. */
function since(removedAt: string, version: Partial<PlaintextBookmark>): Visited {
  if ((version.dateModified ?? '') === removedAt) return version
  const visits = (version.visits ?? []).filter((visit) => visit > removedAt)
  return { visits, visitCount: visits.length, dateAdded: visits.at(-1), dateVisited: visits[0] }
}

/** The names of the fields in which two bookmarks differ, as in `lost`. */
export function differingFields(one: Partial<PlaintextBookmark>, other: Partial<PlaintextBookmark>): string[] {
  const [fields, others] = [toFields(one), toFields(other)]
  return [...new Set([...fields.keys(), ...others.keys()])].filter(
    (name) => !isEqual(fields.get(name), others.get(name)),
  )
}

/** The bookmark with the values that `other` has in these fields, named as in `lost`. */
export function withFieldsOf<B extends Partial<PlaintextBookmark>>(
  other: Partial<PlaintextBookmark>,
  names: readonly string[],
  bookmark: B,
): B {
  const [fields, others] = [toFields(bookmark), toFields(other)]
  for (const name of names) {
    if (others.has(name)) fields.set(name, others.get(name))
    else fields.delete(name)
  }
  return toBookmark(fields) as B
}

type Fields = Map<string, unknown>
type MergeField = (name: string, was: unknown, earlier: unknown, later: unknown) => { value: unknown } | undefined

function mergeFields(
  base: Fields | null,
  earlier: Fields,
  later: Fields,
  mergeSpecial: MergeField = () => undefined,
): { fields: Fields; lost: string[] } {
  const lost: string[] = []
  const merge = (name: string): unknown => {
    const [was, one, other] = [base?.get(name), earlier.get(name), later.get(name)]
    if (isEqual(one, other)) return other
    if (base && isEqual(one, was)) return other
    if (base && isEqual(other, was)) return one
    const special = base && mergeSpecial(name, was, one, other)
    if (special) return special.value
    const isNested = base && name !== 'parentId' && isObject(one) && isObject(other)
    if (!isNested) {
      const isAddedThere = !base && name === 'parentId' && folderIn(one) === folderIn(other)
      if (!isAddedThere) lost.push(name)
      return other
    }
    const inner = mergeFields(asFields(isObject(was) ? was : {}), asFields(one), asFields(other))
    if (inner.lost.length > 0) lost.push(name)
    return Object.fromEntries(inner.fields)
  }
  const names = new Set([...later.keys(), ...earlier.keys()])
  const merged = [...names].map((name) => [name, merge(name)] as const)
  return { fields: new Map(merged.filter(([, value]) => value !== undefined)), lost }
}

function mergeTags(name: string, was: unknown, earlier: unknown, later: unknown): { value: unknown } | undefined {
  if (name !== 'tags') return undefined
  const sets = [was ?? [], earlier ?? [], later ?? []]
  if (!sets.every(isStrings)) return undefined
  // Sets, because a bookmark of an imported file may have tens of thousands of tags.
  const [before, one, other] = sets.map((tags) => new Set(tags)) as [Set<string>, Set<string>, Set<string>]
  const kept = [...other].filter((tag) => one.has(tag) || !before.has(tag))
  const added = [...one].filter((tag) => !before.has(tag))
  const tags = [...new Set([...kept, ...added])]
  return { value: tags.length === 0 && later === undefined ? undefined : tags }
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

/** The fields, with folder and position as one field: a position means nothing in another folder. */
function toFields(bookmark: Partial<PlaintextBookmark>): Fields {
  const fields = asFields(bookmark)
  const place = ['parentId', 'position'].flatMap((name) => (fields.has(name) ? [[name, fields.get(name)]] : []))
  fields.delete('position')
  if (place.length > 0) fields.set('parentId', Object.fromEntries(place))
  return fields
}

function folderIn(place: unknown): unknown {
  return (place as Partial<PlaintextBookmark> | undefined)?.parentId
}

function toBookmark(fields: Fields): PlaintextBookmark {
  const { parentId: place = {}, ...rest } = Object.fromEntries(fields)
  return { ...rest, ...(place as object) } as PlaintextBookmark
}

function asFields(object: object): Fields {
  return new Map(Object.entries(object).filter(([, value]) => value !== undefined))
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
