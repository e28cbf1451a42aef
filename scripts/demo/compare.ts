import { isDeepStrictEqual } from 'node:util'
import type { PlaintextBookmark } from '../../src/client/bookmark.ts'

/** Something is not as it was. The message names the first thing that differs. */
export class Difference extends Error {
  override name = 'Difference'
}

export function expectEqual(what: string, actual: unknown, expected: unknown): void {
  if (isDeepStrictEqual(actual, expected)) return
  throw new Difference(`${what} is ${inspect(actual)} instead of ${inspect(expected)}`)
}

/** Every bookmark and folder by its id: none may be missing, none added, and every field must be equal. */
export function compareBookmarks(
  where: string,
  actual: Iterable<PlaintextBookmark>,
  expected: readonly PlaintextBookmark[],
): void {
  const found = new Map(Array.from(actual, (bookmark) => [bookmark.id, bookmark]))
  for (const bookmark of expected) {
    const other = found.get(bookmark.id)
    if (!other) throw new Difference(`${where}: ${inspect(bookmark.title)} is missing`)
    compareFields(`${where}: ${inspect(bookmark.title)}`, other, bookmark)
    found.delete(bookmark.id)
  }
  const [surplus] = found.values()
  if (surplus) throw new Difference(`${where}: ${inspect(surplus.title)} was not there before`)
}

/** What a bookmark file says, item by item in its order: ids differ on each reading. */
export function compareSequences(
  where: string,
  actual: readonly PlaintextBookmark[],
  expected: readonly PlaintextBookmark[],
): void {
  expectEqual(`${where}: the number of items`, actual.length, expected.length)
  const wanted = sequenceOf(expected)
  sequenceOf(actual).forEach((item, index) => {
    compareFields(`${where}: item ${index + 1}, ${inspect(item.title)}`, item, wanted[index] ?? {})
  })
}

function sequenceOf(bookmarks: readonly PlaintextBookmark[]) {
  const paths = new Map<string | undefined, string[]>()
  return bookmarks.map(({ id, parentId, title, url, type, dateAdded, dateModified, tags, favicon, description }) => {
    const folders = paths.get(parentId) ?? []
    paths.set(id, [...folders, title])
    return { folders, title, url, type, dateAdded, dateModified, tags, favicon, description }
  })
}

function compareFields(what: string, actual: Record<string, unknown>, expected: Record<string, unknown>): void {
  for (const field of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    expectEqual(`${what}: ${field}`, actual[field], expected[field])
  }
}

/** Icons are long: the beginning is enough to see which it is. */
function inspect(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing'
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}
