import t from 'tap'
import type { TreeNode } from '../../../src/client/bookmark/tree.ts'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { type MoveParts, moveBookmark } from '../../../src/client/sync/edits/move.ts'

t.test('The folder to move into is looked for behind folders of any length', async (t) => {
  const node = (id: string, children: TreeNode[]): TreeNode => ({
    bookmark: { id, title: id, source: 'bookmarks' },
    children,
  })
  const tree = [
    node(
      'long',
      Array.from({ length: 150_000 }, (_, index) => node(`b${index}`, [])),
    ),
  ]
  const live = new Map<string, PlaintextBookmark>([['moved', { id: 'moved', title: '', source: 'bookmarks' }]])
  const parts = { tree: { read: () => tree }, replica: { live, commit: async (plan: () => string[]) => plan() } }
  await t.rejects(moveBookmark(parts as unknown as MoveParts, 'moved', { parentId: 'missing' }), {
    message: 'There is no folder missing that moved could be moved into',
  })
})
