import t from 'tap'
import { readOnce } from '../../src/service/http/pages.ts'
import { pick } from '../support/pick.ts'

t.test('A value that was read is kept; a failed read is repeated', async (t) => {
  let reads = 0
  const read = readOnce(async () => {
    reads += 1
    if (reads === 1) throw new Error('too many open files')
    return 'a page'
  })
  const together = await Promise.allSettled([read(), read()])
  t.same(pick(together, 'status'), ['rejected', 'rejected'])
  t.equal(reads, 1)
  t.same([await read(), await read(), reads], ['a page', 'a page', 2])
})
