import { isDeepStrictEqual } from 'node:util'
import type { PlaintextBookmark } from '../../src/client/index.ts'

/** Throws at a difference, and says which. */
export function expectEqual(what: string, actual: unknown, expected: unknown): void {
  if (isDeepStrictEqual(actual, expected)) return
  throw new Error(`${what} is ${inspect(actual)} instead of ${inspect(expected)}`)
}

type Item = { id: string; title: string } & Record<string, unknown>

/** Every bookmark and folder by its id: none may be missing, none added, and every field must be equal. */
export function compareBookmarks(where: string, actual: Iterable<Item>, expected: Iterable<Item>): void {
  const found = new Map(Array.from(actual, (item) => [item.id, item]))
  for (const wanted of expected) {
    const what = `${where}: ${inspect(wanted.title)}`
    const item = found.get(wanted.id)
    if (!item) throw new Error(`${what} is missing`)
    for (const field of Object.keys({ ...wanted, ...item })) {
      expectEqual(`${what}: ${field}`, item[field], wanted[field])
    }
    found.delete(wanted.id)
  }
  const [surplus] = found.values()
  if (surplus) throw new Error(`${where}: ${inspect(surplus.title)} was not there before`)
}

/** The items of a bookmark file in their order; on each reading they get other ids. */
export function compareSequences(where: string, actual: PlaintextBookmark[], expected: PlaintextBookmark[]): void {
  expectEqual(`${where}: the number of items`, actual.length, expected.length)
  const ids = new Map(actual.map(({ id }, index) => [id, expected[index]?.id ?? id]))
  const renamed = actual.map((item) => ({
    ...item,
    id: ids.get(item.id) ?? item.id,
    parentId: item.parentId && ids.get(item.parentId),
  }))
  compareBookmarks(where, renamed, expected)
}

/** Icons are long: the beginning is enough to see which it is. */
function inspect(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing'
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}
