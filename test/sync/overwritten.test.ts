import fc from 'fast-check'
import t from 'tap'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import type { TestUser } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { sharedApp } from '../support/shared-app.ts'

/** Each with a content of its own, so that losing one is a loss. */
let made = 0
const edit = (device_id: string, timestamp: number, base: number) =>
  change({
    id: `event-${++made}`,
    entity_id: 'x',
    operation: 'update',
    device_id,
    timestamp,
    base,
    data_hash: `hash-${made}`,
  })

async function current(person: TestUser) {
  const { body } = await person.call('POST', '/api/v1/sync/pull', { body: {} })
  return { event: body.changes[0], cursor: body.last_sync_timestamp as number }
}

const push = (person: TestUser, ...changes: unknown[]) =>
  person.call('POST', '/api/v1/sync/push', { body: { changes } })

t.test('a version replaced unseen is named by every later one, also that it was made on an unseen one', async (t) => {
  const { user } = await sharedApp()
  const edits = fc.array(fc.record({ device: fc.constantFrom('a', 'b', 'c'), pulls: fc.boolean() }), {
    maxLength: 10,
  })
  let run = 0
  await fc.assert(
    fc.asyncProperty(edits, async (sequence) => {
      const person = await user(`writer-${++run}`)
      const seen: Record<string, number> = {}
      const lost = new Map<string, [timestamp: number, isMadeOnUnseen: boolean]>()
      let stored: { device: string; timestamp: number; stamp: number } | undefined
      const earlier: { device: string; stamp: number }[] = []
      for (const [index, { device, pulls }] of sequence.entries()) {
        if (pulls) seen[device] = (await current(person)).cursor
        const base = seen[device] ?? 0
        const timestamp = 1000 + index
        await push(person, edit(device, timestamp, base))
        if (stored && stored.device !== device && stored.stamp > base) {
          const { device: maker } = stored
          const isOnUnseen = earlier.some((one) => one.stamp > base && one.device !== maker)
          lost.delete(stored.device)
          lost.set(stored.device, [stored.timestamp, isOnUnseen])
        }
        if (stored) earlier.push(stored)
        const { event, cursor } = await current(person)
        const named = (event.overwritten ?? []).map((one: Schemas['OverwrittenVersion']) => [
          one.device_id,
          [one.timestamp, one.made_on_unseen ?? false],
        ])
        if (JSON.stringify(named) !== JSON.stringify([...lost])) return false
        stored = { device, timestamp, stamp: cursor }
      }
      return true
    }),
    { numRuns: depth(20, 200) },
  )
  t.pass(`${run} sequences`)
})

t.test('a tie is unseen by both; equal content loses nothing; a win over a rival in one push: nothing', async (t) => {
  const { user } = await sharedApp()
  const tie = await user('tie')
  await push(tie, edit('a', 5, 0))
  await push(tie, edit('b', 5, 2 ** 52))
  t.strictSame((await current(tie)).event.overwritten, [{ device_id: 'a', timestamp: 5 }])

  const same = await user('same')
  await push(same, { ...edit('a', 5, 0), data_hash: 'equal' })
  await push(same, { ...edit('b', 6, 0), data_hash: 'equal' })
  t.equal((await current(same)).event.overwritten, undefined)

  const rivals = await user('rivals')
  await push(rivals, edit('a', 5, 0), edit('b', 5, 0))
  t.equal((await current(rivals)).event.overwritten, undefined, 'the response to the push reports it')
})

t.test('it outlives REST writes and imports, and names 16 devices at most', async (t) => {
  const { user } = await sharedApp()
  const person = await user('many')
  for (let device = 0; device < 20; device++) await push(person, edit(`d${device}`, 1000 + device, 0))
  const names = (overwritten: { device_id: string }[]) => overwritten.map(({ device_id }) => device_id)
  const latest = Array.from({ length: 16 }, (_, index) => `d${index + 3}`)
  t.strictSame(names((await current(person)).event.overwritten), latest)
  const body = { encrypted_data: 'data', data_hash: 'hash' }
  await person.call('PUT', '/api/v1/bookmarks/x', { body })
  t.strictSame(names((await current(person)).event.overwritten), latest)
  await person.call('DELETE', '/api/v1/bookmarks/x')
  await person.call('POST', '/api/v1/sync/import', { body: { bookmarks: [{ id: 'x', ...body }] } })
  t.strictSame(names((await current(person)).event.overwritten), latest)
})
