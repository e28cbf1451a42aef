import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { writeBookmarkFile } from '../../../src/client/bookmark-file/write.ts'
import { depth } from '../../support/depth.ts'
import { bookmarksIn, sequenceOf } from './samples.ts'
import { fileOf, type Item, style, tree } from './writers.ts'

t.test('files in the style of any program are read completely, and again from the file that we write', async () => {
  fc.assert(
    fc.property(tree, style, (items, style) => {
      const read = bookmarksIn(fileOf(items, style))
      assert.deepEqual(itemsOf(read), items)
      assert.deepEqual(sequenceOf(bookmarksIn(writeBookmarkFile(read))), sequenceOf(read))
    }),
    { numRuns: depth(500, 20_000) },
  )
})

function itemsOf(bookmarks: PlaintextBookmark[]): Item[] {
  const inFolder = Map.groupBy(bookmarks, ({ parentId }) => parentId)
  const itemOf = ({ id, title, url, description, tags = [], dateAdded = '' }: PlaintextBookmark): Item => ({
    ...{ title, url, description: description ?? undefined, tags, seconds: Date.parse(dateAdded) / 1000 },
    children: (inFolder.get(id) ?? []).map(itemOf),
  })
  return (inFolder.get(undefined) ?? []).map(itemOf)
}
