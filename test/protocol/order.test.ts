import fc from 'fast-check'
import t from 'tap'
import { compareVersions, isRetry, isSameChange, isSameContent, type Version } from '../../src/protocol/order.ts'
import { depth } from '../support/depth.ts'

const version: fc.Arbitrary<Version> = fc.record({
  timestamp: fc.integer({ min: 0, max: 3 }),
  device_id: fc.constantFrom('A', 'B', 'a', 'b', 'aa'),
  operation: fc.constantFrom('create', 'update', 'delete'),
  event_id: fc.constantFrom('e1', 'e2'),
  data_hash: fc.constantFrom('h1', 'h2', null),
  encrypted_data: fc.constantFrom('d1', 'd2', null),
})

t.test('Two changes of an entity have one order, in whatever way they are compared', async (t) => {
  fc.assert(
    fc.property(version, version, version, (a, b, c) => {
      const ab = Math.sign(compareVersions(a, b))
      if (ab !== -Math.sign(compareVersions(b, a))) return false
      const bc = Math.sign(compareVersions(b, c))
      return !(ab >= 0 && bc >= 0) || compareVersions(a, c) >= 0
    }),
    { numRuns: depth(1000, 5000) },
  )
  t.pass('antisymmetric and transitive')
})

t.test('The order is the same without the ciphertext, except that a retry is equal', async (t) => {
  const withoutData = ({ encrypted_data: _, ...rest }: Version): Version => rest
  fc.assert(
    fc.property(version, version, (a, b) => {
      const order = compareVersions(withoutData(a), withoutData(b))
      return isRetry(a, b) ? order === 0 : Math.sign(order) === Math.sign(compareVersions(a, b))
    }),
    { numRuns: depth(1000, 5000) },
  )
  t.pass('a client, which keeps no ciphertext, finds the same winner')
})

t.test('Each sentence of the push conflict rule holds', async (t) => {
  const base: Version = {
    timestamp: 5,
    device_id: 'm',
    operation: 'update',
    event_id: 'e',
    data_hash: 'h',
    encrypted_data: 'd',
  }
  const greater = (fields: Partial<Version>) => compareVersions({ ...base, ...fields }, base) > 0
  t.ok(greater({ timestamp: 6, device_id: 'a' }), '1. timestamps are compared first')
  t.ok(greater({ device_id: 'n' }), '2. equal timestamps: device_id decides')
  t.ok(greater({ device_id: 'ma' }), '2. lexicographically: a prefix is smaller')
  t.notOk(greater({ device_id: 'Z' }), '2. by bytes: upper case is smaller')
  t.ok(greater({ operation: 'delete' }), 'then delete after update')
  t.notOk(greater({ operation: 'create' }), 'then create before update')
  t.ok(greater({ event_id: 'f' }), 'then the event id')
  t.ok(greater({ data_hash: 'i' }), 'then the hash')
  t.ok(greater({ encrypted_data: 'e' }), 'then the data')
})

t.test('Which changes count as the same content, and which as the same change', async (t) => {
  const edit = { operation: 'update', data_hash: 'h' } as const
  const deletion = { operation: 'delete', data_hash: null } as const
  const both = (a: typeof edit | typeof deletion, b: Partial<Version>) => {
    return [isSameContent(a, { ...a, ...b }), isSameChange(a, { ...a, ...b })]
  }
  t.same(both(edit, {}), [true, true], 'equal hashes by the same operation')
  t.same(both(edit, { operation: 'create' }), [true, false], 'equal hashes by another operation')
  t.same(both(edit, { data_hash: 'i' }), [false, false], 'another hash')
  t.same(both(deletion, { data_hash: 'h' }), [true, true], 'two deletes: a hash of their own is ignored')
  t.same(both(edit, { operation: 'delete' }), [false, false], 'an edit and a delete')
})
