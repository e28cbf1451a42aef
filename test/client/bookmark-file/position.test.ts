import t from 'tap'
import { byPosition } from '../../../src/client/bookmark-file/arrange.ts'
import { positionAt } from '../../../src/client/bookmark-file/read.ts'

t.test('positions rise as strings, in the format of fractional-indexing', async (t) => {
  const indexes = [0, 1, 9, 10, 35, 36, 61, 62, 63, 3905, 3906, 3907, 100_000, 10_000_000]
  const expected = ['a0', 'a1', 'a9', 'aA', 'aZ', 'aa', 'az', 'b00', 'b01', 'bzz', 'c000', 'c001', 'cOzu']
  t.same(indexes.slice(0, expected.length).map(positionAt), expected)
  const all = [...Array.from({ length: 5000 }, (_, index) => index), ...indexes.slice(-2)].map(positionAt)
  t.ok(all.every((position, index) => index === 0 || position > (all[index - 1] ?? '')))
  // An integer part: its first letter gives its length. No fraction, so no zero at its end.
  const lengths = all.map((position) => position.charCodeAt(0) - 95)
  t.ok(all.every(({ length }, index) => length === lengths[index]))
})

t.test('items without a position come after those with one, in their order', async (t) => {
  const [a, b, none] = [{ position: 'Z' }, { position: 'a' }, {}]
  t.equal(byPosition(a, b), -1)
  t.equal(byPosition(b, a), 1)
  t.equal(byPosition(a, { position: 'Z' }), 0)
  t.equal(byPosition(none, a), 1)
  t.equal(byPosition(a, none), -1)
  t.equal(byPosition(none, { position: 7 }), 0)
})
