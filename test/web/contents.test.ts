import t from 'tap'
import type { Sync } from '../../src/client/index.ts'
import { withContents } from '../../src/web/library/contents.ts'
import { pick } from '../support/pick.ts'

t.test('A folder of any length is deleted and moved with its contents', async (t) => {
  const ids = Array.from({ length: 150_000 }, (_, index) => `b${index}`)
  const library: Pick<Sync, 'get' | 'contents'> = {
    get: (id) => ({ id, title: id, source: 'bookmarks', ...(id !== 'folder' && { url: 'https://example.org/' }) }),
    contents: () => ids,
  }
  t.same(pick(withContents(library as Sync, ['folder']), 'id'), ['folder', ...ids])
})
