import fc from 'fast-check'
import t from 'tap'
import { compareVersions } from '../../../src/client/sync/exchange/order.ts'
import { compareVersions as compareAsService } from '../../../src/sync/order.ts'

const version = fc.record({
  timestamp: fc.integer({ min: 0, max: 3 }),
  device_id: fc.constantFrom('A', 'B', 'a', 'b', 'aa'),
  operation: fc.constantFrom('create' as const, 'update' as const, 'delete' as const),
  event_id: fc.constantFrom('e1', 'e2'),
  data_hash: fc.constantFrom('h1', 'h2', null),
})

t.test('the client knows the order by which the service decides', async (t) => {
  fc.assert(
    fc.property(version, version, (a, b) => {
      const expected = compareAsService({ ...a, encrypted_data: null }, { ...b, encrypted_data: null })
      return Math.sign(compareVersions(a, b)) === Math.sign(expected)
    }),
    { numRuns: 5000 },
  )
  t.pass()
})
