import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { buildTree, type TreeNode } from '../../../src/client/bookmark/tree.ts'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { arrange } from '../../../src/client/bookmark-file/arrange.ts'
import { type ImportRules, planImport } from '../../../src/client/sync/edits/import.ts'
import { depth } from '../../support/depth.ts'

const existingIds = [...'abcdef']
const listedIds = [...existingIds.slice(0, 2), ...'uvwxyz']
/** A listed folder that an existing bookmark had lost would take it back. */
const existing = bookmarksOf(existingIds, [...existingIds.slice(2), 'gone'])
/** Some of it may exist under the same id, or go into folders that exist. */
const list = bookmarksOf(listedIds, [...listedIds, ...existingIds, 'gone']).map(markedAsByBrowsers)
/** Its ids are new, as those of a file are. */
const file = bookmarksOf([...'uvwxyz'], [...'uvwxyz', ...existingIds, 'gone']).map(markedAsByBrowsers)
const rules = fc.constantFrom<ImportRules>({}, { duplicates: 'keep' })
const numRuns = depth(200, 30_000)

t.test('importing any list a second time changes nothing, nor does importing a file that is read again', async (t) => {
  const isFirst = fc.asyncProperty(existing, list, async (before, list) =>
    changesNothing(await imported(before, list, {}), list),
  )
  await t.resolves(fc.assert(isFirst, { numRuns }))
  const property = fc.asyncProperty(existing, file, async (before, file) => {
    return changesNothing(await imported(before, file, {}), readAgain(file))
  })
  await t.resolves(fc.assert(property, { numRuns }))
})

t.test('in every folder what comes is below what was there, in the order of the list', async (t) => {
  const property = fc.asyncProperty(existing, list, rules, async (before, list, rules) => {
    const order = [...arrange(list).values()].flat().map(({ id }) => id)
    const wasIn = contentsOf(buildTree(before))
    for (const [folder, contents] of contentsOf(buildTree(await imported(before, list, rules)))) {
      const [old, comers] = [wasIn.get(folder) ?? [], contents.slice(wasIn.get(folder)?.length ?? 0)]
      if (old.some((id, index) => id !== contents[index])) return false
      // Several listed folders may go into one.
      const from = Map.groupBy(comers, (id) => list.find((one) => one.id === id)?.parentId)
      for (const ids of from.values()) {
        if (`${ids}` !== `${order.filter((id) => ids.includes(id))}`) return false
      }
    }
    return true
  })
  await t.resolves(fc.assert(property, { numRuns }))
})

t.test('nothing that exists changes, except for positions where there were none; nothing listed is lost', async (t) => {
  const property = fc.asyncProperty(existing, list, rules, async (before, list, rules) => {
    const after = new Map((await imported(before, list, rules)).map((bookmark) => [bookmark.id, bookmark]))
    const isKept = before.every((bookmark) => {
      const position = /^a\d$/.test(bookmark.position ?? '') ? bookmark.position : after.get(bookmark.id)?.position
      return isDeepStrictEqual({ ...bookmark, position }, { position, ...after.get(bookmark.id) })
    })
    const urls = new Set([...after.values()].map(({ url }) => url))
    const exists = new Set(before.map(({ id }) => id))
    return isKept && list.every(({ id, url, attributes }) => exists.has(id) || urls.has(url) || isOther(attributes))
  })
  await t.resolves(fc.assert(property, { numRuns }))
})

t.test('a list may be flat, have thousands of folders of one title, or be nested thousands deep', async (t) => {
  const count = depth(5000, 50_000)
  const flat = many(count, () => ({}))
  const sameFolders = many(count, (index) =>
    index % 2 ? { parentId: `${index - 1}` } : { url: undefined, title: 'f' },
  )
  const deep = many(count, (index) => ({ url: undefined, ...(index > 0 && { parentId: `${index - 1}` }) }))
  for (const list of [flat, sameFolders, deep]) {
    t.equal((await planImport(list, [])).added.size, count)
    t.equal((await planImport(readAgain(list), buildTree(await imported([], list, {})))).added.size, 0)
  }
})

function bookmarksOf(ids: string[], parents: string[]): fc.Arbitrary<PlaintextBookmark[]> {
  const kind = fc.constantFrom<Partial<PlaintextBookmark>>(
    {},
    {},
    ...['personal_toolbar_folder', 'unfiled_bookmarks_folder', 'bookmarks_menu_folder'].map(marked),
    { type: 'separator' },
    { url: 'https://example.org/1' },
    { url: 'https://example.org/2' },
  )
  const fields = fc.record(
    {
      id: fc.constantFrom(...ids),
      title: fc.constantFrom('A', 'B'),
      source: fc.constant('bookmarks' as const),
      parentId: fc.constantFrom(...parents),
      position: fc.constantFrom('a0', 'a1', 'a1', 'zz!', ''),
    },
    { requiredKeys: ['id', 'title', 'source'] },
  )
  const bookmark = fc.tuple(fields, kind).map(([fields, kind]) => ({ ...fields, ...kind }))
  return fc.uniqueArray(bookmark, { selector: ({ id }) => id })
}

function marked(mark: string): Partial<PlaintextBookmark> {
  return { attributes: { [mark]: 'true' } }
}

/** Each mark once, and at the top level. */
function markedAsByBrowsers(list: PlaintextBookmark[]): PlaintextBookmark[] {
  const marks = new Set<string>()
  return list.map((bookmark) => {
    const { attributes, ...unmarked } = bookmark
    const [mark] = Object.keys(attributes ?? {})
    if (mark === undefined || marks.has(mark) || bookmark.parentId !== undefined) return unmarked
    marks.add(mark)
    return bookmark
  })
}

/** Its contents go to the top level. */
function isOther(attributes: PlaintextBookmark['attributes']): boolean {
  return attributes?.unfiled_bookmarks_folder === 'true'
}

/** As a file that is read again: with other ids. What is in folders that are not listed stays in them. */
function readAgain(list: PlaintextBookmark[]): PlaintextBookmark[] {
  const ids = new Map(list.map(({ id }) => [id, `again-${id}`]))
  return list.map(({ parentId, ...bookmark }) => ({
    ...bookmark,
    id: ids.get(bookmark.id) as string,
    ...(parentId !== undefined && { parentId: ids.get(parentId) ?? parentId }),
  }))
}

async function changesNothing(before: PlaintextBookmark[], list: PlaintextBookmark[]): Promise<boolean> {
  const { added, placed } = await planImport(list, buildTree(before))
  return added.size === 0 && placed.length === 0
}

async function imported(before: PlaintextBookmark[], list: PlaintextBookmark[], rules: ImportRules) {
  const { added, placed } = await planImport(list, buildTree(before), rules)
  const moved = new Map(placed.map((bookmark) => [bookmark.id, bookmark]))
  return [...before.map((bookmark) => moved.get(bookmark.id) ?? bookmark), ...added.values()]
}

/** The ids in each folder, in order. */
function contentsOf(tree: TreeNode[]): Map<string, string[]> {
  const all = new Map([['top', tree]])
  for (const nodes of all.values()) for (const { bookmark, children } of nodes) all.set(bookmark.id, children)
  return new Map([...all].map(([folder, nodes]) => [folder, nodes.map(({ bookmark }) => bookmark.id)]))
}

function many(
  count: number,
  fieldsOf: (index: number) => Partial<Record<keyof PlaintextBookmark, string | undefined>>,
) {
  return Array.from({ length: count }, (_, index) => {
    const plain = { id: `${index}`, title: 'title', source: 'bookmarks', url: `https://example.org/${index}` }
    const fields = Object.entries({ ...plain, ...fieldsOf(index) }).filter(([, value]) => value !== undefined)
    return Object.fromEntries(fields) as unknown as PlaintextBookmark
  })
}
