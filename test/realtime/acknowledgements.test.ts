import t from 'tap'
import type { RecordRow } from '../../src/service/db/tables/records.ts'
import { Acknowledgements } from '../../src/service/realtime/connection.ts'

const row = (entity_id: string, stamp: number): RecordRow => ({
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
  bytes: 4,
  data_stamp: stamp,
  first_stamp: stamp,
  versions: 0,
})

/** Pushes a change of the row's entity; returns the stamp of what must be sent now. */
async function push(
  acknowledgements: Acknowledgements,
  entity: string,
  written: RecordRow | undefined,
  cursor: number,
) {
  const due = await acknowledgements.acknowledge(
    row(entity, 0),
    async () => written,
    () => cursor,
  )
  return due?.stamp
}

t.test('A change that the socket has not reached yet is sent once, in its turn', async (t) => {
  const acknowledgements = new Acknowledgements()
  const now = await push(acknowledgements, 'x', row('x', 20), 10)
  t.equal(now, undefined, 'not now: what lies between 10 and 20 comes first')
  const taken = [row('y', 15), row('x', 20), row('x', 30)].map((change) => acknowledgements.take(change))
  t.same(taken, [false, true, false])
})

t.test('A change that the socket reaches before its push has returned is not sent again', async (t) => {
  const acknowledgements = new Acknowledgements()
  const taken: boolean[] = []
  const due = await acknowledgements.acknowledge(
    row('x', 0),
    async () => {
      taken.push(acknowledgements.take(row('x', 20)))
      return row('x', 20)
    },
    () => 20,
  )
  taken.push(acknowledgements.take(row('x', 30)))
  t.same({ due, taken }, { due: undefined, taken: [true, false] })
})

t.test('A retry of what the socket has passed is sent at once', async (t) => {
  t.equal(await push(new Acknowledgements(), 'x', row('x', 20), 30), 20)
})

t.test('A newer change of the entity acknowledges an older one', async (t) => {
  const acknowledgements = new Acknowledgements()
  t.equal(await push(acknowledgements, 'x', row('x', 20), 10), undefined)
  t.equal(acknowledgements.take(row('x', 25)), true)
})

t.test('A rejected change does not cancel the acknowledgement of an earlier one', async (t) => {
  const acknowledgements = new Acknowledgements()
  await push(acknowledgements, 'x', row('x', 20), 10)
  t.equal(await push(acknowledgements, 'x', undefined, 10), undefined)
  t.equal(acknowledgements.take(row('x', 20)), true)
  await push(acknowledgements, 'y', undefined, 10)
  t.equal(acknowledgements.take(row('y', 30)), false)
})

t.test('A push that fails is not acknowledged', async (t) => {
  const acknowledgements = new Acknowledgements()
  const failed = acknowledgements.acknowledge(
    row('x', 0),
    () => Promise.reject(new Error('the disk is full')),
    () => 10,
  )
  await t.rejects(failed, { message: 'the disk is full' })
  t.equal(acknowledgements.take(row('x', 20)), false)
})

t.test('At most 1,000 are kept', async (t) => {
  const acknowledgements = new Acknowledgements()
  for (let n = 0; n < 1000; n++) await push(acknowledgements, `x${n}`, row(`x${n}`, 100 + n), 10)
  await t.rejects(push(acknowledgements, 'one-more', row('one-more', 2000), 10), { code: 'TooManyRequests' })
})
