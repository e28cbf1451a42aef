import fc from 'fast-check'
import t from 'tap'
import type { Bookmark } from '../../src/web/library/kind.ts'
import { revertStep } from '../../src/web/library/reversible.ts'

const names = ['a', 'b', 'c', 'd', 'e']
const someNames = fc.uniqueArray(fc.constantFrom(...names))
const withTags = (tags: string[], title: string): Bookmark => ({ id: 'x', title, source: 'bookmarks', tags })

t.test('undo and redo of a step leave tags that another device has set meanwhile', async () => {
  const changes = fc.property(someNames, someNames, someNames, (before, after, now) => {
    const [was, made, current] = [withTags(before, 'one'), withTags(after, 'one'), withTags(now, 'two')]
    for (const [from, to] of [
      [was, made],
      [made, was],
    ] as const) {
      const { title, tags = [] } = revertStep(from, to, current)
      const isChanged = (name: string) => from.tags?.includes(name) !== to.tags?.includes(name)
      const hasName = (name: string) => (isChanged(name) ? from : current).tags?.includes(name)
      if (title !== 'two' || tags.length !== new Set(tags).size) return false
      if (names.some((name) => tags.includes(name) !== hasName(name))) return false
    }
    return true
  })
  fc.assert(changes)
})
