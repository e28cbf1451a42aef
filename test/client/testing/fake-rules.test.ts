/** Random scripts get the same responses from the fake service and from the real one. */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { fakeService } from '../../../src/client/testing/fake-service.ts'
import { buildApp } from '../../support/app.ts'
import { depth } from '../../support/depth.ts'

const start = 1_764_000_000_000
const devices = ['a', 'b', 'c', 'unknown']

const change = fc.record({
  id: fc.nat(30).map((number) => `event-${number}`),
  entity: fc.constantFrom('x', 'y', 'z'),
  operation: fc.constantFrom('create', 'update', 'delete'),
  /** From the clock; the last is too far ahead. */
  ago: fc.constantFrom(0, 0, -1, -5, 1, 1000, -90_000_000),
  device: fc.constantFrom(...devices),
  data: fc.constantFrom('AAAA', 'BBBB', 'CCCC'),
  /** How many cursors back; null: without a base. */
  base: fc.option(fc.nat(4), { freq: 1 }),
  user: fc.constantFrom(undefined, undefined, undefined, 'self', 'somebody else'),
})
const step = fc.oneof(
  fc.record({ push: fc.array(change, { minLength: 1, maxLength: 4 }), by: fc.constantFrom(...devices) }),
  fc.record({
    pull: fc.option(fc.nat(4)),
    limit: fc.option(fc.integer({ min: 1, max: 4 })),
    by: fc.constantFrom(...devices),
  }),
  fc.record({ pass: fc.constantFrom(0, 1, 60_000, -500) }),
)

// The fake one keeps no versions.
const app = await buildApp(t, { LOG_LEVEL: 'error', KEEP_VERSIONS_DAYS: '0' })

t.test('The fake service decides, numbers and pages as the real one does', async (t) => {
  let [steps, conflicts] = [0, 0]
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (script) => {
      let time = start
      const user = await app.user(randomUUID())
      const fake = fakeService({ now: () => time }).connect(user.userId)
      app.setClock(time)
      const cursors = [0]
      const cursor = (back: number) => cursors.at(-1 - (back % cursors.length)) ?? 0

      for (const taken of script) {
        if ('pass' in taken) {
          time += taken.pass
          app.setClock(time)
          continue
        }
        const { path, body } = request(taken, user.userId, time, cursor)
        const headers = { 'x-device-id': taken.by }
        const real = await user.call('POST', path, { body, headers })
        const init = { method: 'POST', body: JSON.stringify(body), headers }
        const faked = await fake.fetch(new Request(`http://fake.localhost${path}`, init))
        // The epoch is each service's own.
        const answer = { status: faked.status, body: { ...(await faked.json()), epoch: real.body.epoch } }
        if (!isDeepStrictEqual({ status: real.status, body: real.body }, answer)) {
          throw new Error(
            `${path} ${JSON.stringify(body)}\nreal ${JSON.stringify(real.body)}\nfake ${JSON.stringify(answer.body)}`,
          )
        }
        steps++
        conflicts += real.body.conflicts?.length ?? 0
        if ('pull' in taken) cursors.push(real.body.last_sync_timestamp)
      }
    }),
    { numRuns: depth(80, 3000) },
  )
  t.ok(steps > 0 && conflicts > 0, `${steps} requests, ${conflicts} conflicts`)
})

type Taken = Exclude<typeof step extends fc.Arbitrary<infer Step> ? Step : never, { pass: number }>

function request(taken: Taken, userId: string, time: number, cursor: (back: number) => number) {
  if ('pull' in taken) {
    const since = taken.pull === null ? {} : { since: taken.pull === 4 ? time + 1e9 : cursor(taken.pull) }
    return { path: '/api/v1/sync/pull', body: { ...since, ...(taken.limit !== null && { limit: taken.limit }) } }
  }
  const changes = taken.push.map(({ id, entity, operation, ago, device, data, base, user }) => ({
    id,
    entity_type: 'bookmark',
    entity_id: entity,
    operation,
    timestamp: time - ago,
    device_id: device,
    ...(operation !== 'delete' && { encrypted_data: data, data_hash: `hash-of-${data}` }),
    ...(base !== null && { base: cursor(base) }),
    ...(user !== undefined && { user_id: user === 'self' ? userId : user }),
  }))
  return { path: '/api/v1/sync/push', body: { changes } }
}
