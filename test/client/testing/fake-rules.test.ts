/** Random scripts get the same responses from the fake service and from the real one. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { fakeService } from '../../../src/client/testing/fake-service.ts'
import { buildApp } from '../../support/app.ts'
import { depth, isDeep } from '../../support/depth.ts'

/** After the real service's start: the fake one has no clock that was behind. */
const start = Date.now() + 600_000
const devices = ['a', 'b', 'c', 'unknown']

const change = fc.record({
  id: fc.nat(30).map((number) => `event-${number}`),
  entity: fc.constantFrom('x', 'x', 'y'),
  operation: fc.constantFrom('create', 'update', 'delete'),
  /** From the clock; the last is too far ahead. */
  ago: fc.constantFrom(0, 0, -1, -5, 1, 1000, -90_000_000),
  device: fc.constantFrom(...devices),
  data: fc.constantFrom('AAAA', 'BBBB', 'CCCC'),
  /** How many cursors back; null: without a base. */
  base: fc.option(fc.nat(4), { freq: 1 }),
  if_unseen: fc.constantFrom(undefined, undefined, 'overwrite', 'reject'),
  user: fc.constantFrom(undefined, undefined, undefined, 'self', 'somebody else'),
})
const id = fc.constantFrom('x', 'x', 'y')
const by = fc.constantFrom(...devices)
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ push: fc.array(change, { minLength: 1, maxLength: 4 }), by }) },
  {
    weight: 2,
    arbitrary: fc.record({ pull: fc.option(fc.nat(4)), limit: fc.option(fc.integer({ min: 1, max: 4 })), by }),
  },
  { weight: 1, arbitrary: fc.record({ pass: fc.constantFrom(0, 1, 60_000, -500) }) },
  { weight: 2, arbitrary: fc.record({ restore: id, which: fc.option(fc.nat(3)), by }) },
  { weight: 1, arbitrary: fc.record({ purge: id }) },
  { weight: 1, arbitrary: fc.record({ settle: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ rewind: fc.nat(4), dry: fc.boolean(), by }) },
  { weight: 1, arbitrary: fc.record({ forget: by }) },
)
type Step = typeof step extends fc.Arbitrary<infer Step> ? Step : never
/** Both sides get these requests, whose paths may name a thing that one side has made. */
interface Sent {
  method: string
  path: string
  body?: unknown
  by?: string
}
// biome-ignore lint/suspicious/noExplicitAny: the real one's was checked against the contract
type Send = (sent: Sent) => Promise<{ status: number; body: any }>

const lists = [
  ...['x', 'y'].map((id) => `/api/v1/bookmarks/${id}/versions`),
  ...['/api/v1/trash', '/api/v1/sync/conflicts', '/api/v1/sync/status', '/api/v1/account/devices'],
]

const app = await buildApp(t, { LOG_LEVEL: 'error' })

t.test('The fake service decides, numbers, keeps and lists as the real one does', async (t) => {
  const met: Record<string, number> = {}
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (script) => {
      let time = start
      const user = await app.user(randomUUID())
      const fake = fakeService({ now: () => time }).connect(user.userId)
      app.setClock(time)
      const sides = [
        withoutIds(({ method, path, body, by }) => user.call(method, path, { body, headers: headersOf(by) })),
        withoutIds(async ({ method, path, body, by }) => {
          const init = { method, headers: headersOf(by), ...(body !== undefined && { body: JSON.stringify(body) }) }
          const response = await fake.fetch(new Request(`http://fake.localhost${path}`, init))
          return { status: response.status, body: await response.json() }
        }),
      ]
      const cursors = [0]
      const cursor = (back: number) => cursors.at(-1 - (back % cursors.length)) ?? 0
      const compare = async (ask: (send: Send) => Promise<Sent>) => {
        const sent = await Promise.all(sides.map(({ send }) => ask(send)))
        const answers = await Promise.all(sides.map(({ answer }, index) => answer(sent[index] as Sent)))
        const [real, faked] = answers as [Answer, Answer]
        if (!isDeepStrictEqual(real, faked)) throw new Error(`${JSON.stringify(sent)}\nreal ${real}\nfake ${faked}`)
        return JSON.parse(real)
      }

      for (const taken of script) {
        if ('pass' in taken) {
          time += taken.pass
          app.setClock(time)
          continue
        }
        const { status, body } = await compare((send) => request(taken, user.userId, time, cursor, send))
        const [kind = ''] = Object.keys(taken)
        met[`${kind} ${status}`] = (met[`${kind} ${status}`] ?? 0) + 1
        if ('pull' in taken) cursors.push(body.last_sync_timestamp)
      }
      for (const path of lists) await compare(async () => ({ method: 'GET', path, by: 'a' }))
      await compare(async () => ({ method: 'GET', path: '/api/v1/sync/status' }))
      const [usage, faked] = await Promise.all(
        sides.map(({ send }) => send({ method: 'GET', path: '/api/v1/account' })),
      )
      assert.deepEqual(faked?.body.usage, usage?.body.usage)
    }),
    { numRuns: depth(50, 3000) },
  )
  t.comment(JSON.stringify(met))
  const expected = ['push', 'restore', 'purge', 'settle', 'rewind', 'forget'].map((kind) => `${kind} 200`)
  // A few scripts may miss some.
  t.same(isDeep ? expected.filter((kind) => !met[kind]) : [], [])
})

t.test('Of a bookmark with too many versions, the fake service erases the same ones as the real one', async (t) => {
  let time = start
  const user = await app.user(randomUUID())
  const fake = fakeService({ now: () => time }).connect(user.userId)
  const path = '/api/v1/sync/push'
  for (let n = 0; n < 70; n++) {
    time += n % 3 === 0 ? 7_500_000 : 1000
    app.setClock(time)
    const content = { encrypted_data: 'AAAA', data_hash: `${n}` }
    const timestamp = n % 7 === 6 ? 1 : time
    const edit = {
      id: `e${n}`,
      entity_type: 'bookmark',
      entity_id: 'x',
      operation: 'update',
      timestamp,
      device_id: 'a',
    }
    const body = { changes: [{ ...edit, ...content }] }
    await user.call('POST', path, { body })
    await fake.fetch(new Request(`http://fake.localhost${path}`, { method: 'POST', body: JSON.stringify(body) }))
  }
  const list = '/api/v1/bookmarks/x/versions'
  const idsOf = ({ versions }: { versions: { version_id: string }[] }) => versions.map(({ version_id }) => version_id)
  const kept = idsOf((await user.call('GET', list)).body)
  t.equal(kept.length, 50)
  t.same(idsOf(await (await fake.fetch(new Request(`http://fake.localhost${list}`))).json()), kept)
})

type Answer = string

function headersOf(by: string | undefined): Record<string, string> {
  return { ...(by !== undefined && { 'x-device-id': by }) }
}

/** Ids that each side makes become numbers, in the order in which they appear. */
function withoutIds(send: Send) {
  const ids = new Map<string, string>()
  const numbered = (id: string) => {
    if (!ids.has(id)) ids.set(id, `id ${ids.size}`)
    return ids.get(id) as string
  }
  const answer = async (sent: Sent): Promise<Answer> => {
    const { status, body } = await send(sent)
    return JSON.stringify(sorted({ status, body })).replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, numbered)
  }
  return { send, answer }
}

/** With the fields in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, field]) => [name, sorted(field)]),
  )
}

type Taken = Exclude<Step, { pass: number }>

async function request(
  taken: Taken,
  userId: string,
  time: number,
  cursor: (back: number) => number,
  send: Send,
): Promise<Sent> {
  /** The nth of what this side lists; the first listed is the newest. */
  const nth = async (path: string, list: string, index: number): Promise<string> => {
    const { body } = await send({ method: 'GET', path })
    const found = body[list] ?? []
    return found[index % found.length]?.version_id ?? 'none'
  }
  if ('pull' in taken) {
    const since = taken.pull === null ? {} : { since: taken.pull === 4 ? time + 1e9 : cursor(taken.pull) }
    const body = { ...since, ...(taken.limit !== null && { limit: taken.limit }) }
    return { method: 'POST', path: '/api/v1/sync/pull', body, by: taken.by }
  }
  if ('restore' in taken) {
    const path = `/api/v1/bookmarks/${taken.restore}`
    const version_id = taken.which === null ? undefined : await nth(`${path}/versions`, 'versions', taken.which)
    return { method: 'POST', path: `${path}/restore`, body: version_id ? { version_id } : {}, by: taken.by }
  }
  if ('purge' in taken) return { method: 'DELETE', path: `/api/v1/trash/${taken.purge}` }
  if ('forget' in taken) return { method: 'DELETE', path: `/api/v1/account/devices/${taken.forget}` }
  if ('settle' in taken) {
    const path = '/api/v1/sync/conflicts'
    return { method: 'DELETE', path: `${path}/${await nth(path, 'conflicts', taken.settle)}` }
  }
  if ('rewind' in taken) {
    const body = { to: Math.max(0, cursor(taken.rewind) - (taken.rewind % 2)), dry_run: taken.dry }
    return { method: 'POST', path: '/api/v1/sync/rewind', body, by: taken.by }
  }
  const changes = taken.push.map(({ id, entity, operation, ago, device, data, base, if_unseen, user }) => ({
    id,
    entity_type: 'bookmark',
    entity_id: entity,
    operation,
    timestamp: time - ago,
    device_id: device,
    ...(operation !== 'delete' && { encrypted_data: data, data_hash: `hash-of-${data}` }),
    ...(base !== null && { base: cursor(base) }),
    ...(if_unseen && { if_unseen }),
    ...(user !== undefined && { user_id: user === 'self' ? userId : user }),
  }))
  return { method: 'POST', path: '/api/v1/sync/push', body: { changes }, by: taken.by }
}
