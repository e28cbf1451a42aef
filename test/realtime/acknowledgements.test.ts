import t from 'tap'
import type { Row } from '../../src/db/records.ts'
import { Acknowledgements } from '../../src/realtime/acknowledgements.ts'

const row = (entity_id: string, stamp: number): Row => ({
  user_id: 'ada',
  entity_type: 'bookmark',
  entity_id,
  encrypted_data: 'data',
  data_hash: 'hash',
  created_at: 1,
  updated_at: 1,
  deleted_at: null,
  stamp,
  event_id: 'event',
  operation: 'create',
  timestamp: 1,
  device_id: 'device-a',
  conflict_resolved: 0,
  resolution_strategy: null,
  overwritten: null,
})

t.test('A change that the socket still has before it is taken in its turn, once', async (t) => {
  const acknowledgements = new Acknowledgements()
  acknowledgements.begin(row('x', 0))
  t.equal(acknowledgements.end(row('x', 20), 10), false, 'not now: what lies between 10 and 20 comes first')
  t.equal(acknowledgements.take(row('y', 15)), false)
  t.equal(acknowledgements.take(row('x', 20)), true)
  t.equal(acknowledgements.take(row('x', 30)), false)
})

t.test('A change that comes by before its push has returned is not sent again', async (t) => {
  const acknowledgements = new Acknowledgements()
  acknowledgements.begin(row('x', 0))
  t.equal(acknowledgements.take(row('x', 20)), true)
  t.equal(acknowledgements.end(row('x', 20), 20), false)
  t.equal(acknowledgements.take(row('x', 30)), false)
})

t.test('A retry of what lies behind the socket is sent at once', async (t) => {
  const acknowledgements = new Acknowledgements()
  acknowledgements.begin(row('x', 0))
  t.equal(acknowledgements.end(row('x', 20), 30), true)
})

t.test('A newer change of the entity acknowledges an older one', async (t) => {
  const acknowledgements = new Acknowledgements()
  acknowledgements.begin(row('x', 0))
  t.equal(acknowledgements.end(row('x', 20), 10), false)
  t.equal(acknowledgements.take(row('x', 25)), true)
})

t.test('A rejected change leaves what an earlier one still has to come', async (t) => {
  const acknowledgements = new Acknowledgements()
  acknowledgements.begin(row('x', 0))
  acknowledgements.end(row('x', 20), 10)
  acknowledgements.begin(row('x', 0))
  t.equal(acknowledgements.end(undefined, 10), false)
  t.equal(acknowledgements.take(row('x', 20)), true)
  acknowledgements.begin(row('y', 0))
  acknowledgements.end(undefined, 10)
  t.equal(acknowledgements.take(row('y', 30)), false)
})

t.test('1,000 are kept and no more', async (t) => {
  const acknowledgements = new Acknowledgements()
  for (let n = 0; n < 1000; n++) {
    t.equal(acknowledgements.full, false)
    acknowledgements.begin(row(`x${n}`, 0))
    acknowledgements.end(row(`x${n}`, 100 + n), 10)
  }
  t.equal(acknowledgements.full, true)
})
