import fc from 'fast-check'
import { isFarAhead } from '../../../src/protocol/order.ts'
import type { TestApp, TestUser } from '../../support/app.ts'
import { change, push } from '../../support/changes.ts'
import { sweepVersions } from '../../support/sweeps.ts'
import type { Entity, Kept, Model } from './model.ts'

const dayMs = 86_400_000
const type = fc.constantFrom('bookmark' as const, 'bookmark' as const, 'group' as const, 'history' as const)
const id = fc.constantFrom('a', 'b', 'c')
const device = fc.constantFrom('d1', 'd2', 'unknown')
/** A quarter is too long to be stored in the record's own row. */
const bytes = fc.integer({ min: 10, max: 2000 })
const edit = fc.record({
  type,
  id,
  device: fc.constantFrom('d1', 'd2'),
  operation: fc.constantFrom('create' as const, 'update' as const, 'update' as const, 'delete' as const),
  /** Relative to the server's time, so that edits win and lose. */
  hours: fc.integer({ min: -4, max: 2 }),
  bytes,
  /** True if the edit is sent again later. */
  again: fc.boolean(),
})
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('push' as const), edits: fc.array(edit, { minLength: 1, maxLength: 3 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('import' as const), id, device, bytes }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('POST' as const, 'PUT' as const, 'DELETE' as const),
      id,
      device,
      bytes,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pull' as const), device: fc.constantFrom('d1', 'd2') }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('restore' as const),
      id,
      device,
      which: fc.option(fc.nat(4), { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('purge' as const), id }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('settle' as const), which: fc.nat(9) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('rewind' as const), device, back: fc.nat(9), dry_run: fc.boolean() }),
  },
  /** The clock is set ahead or back. */
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('clock' as const), minutes: fc.integer({ min: -3_000, max: 3_000 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('sweep' as const), days: fc.integer({ min: 1, max: 29 }) }) },
)
export const script = fc.array(step, { minLength: 3, maxLength: 14 })
/** Edits of one bookmark. With those of other bursts, they are often more than the versions that are kept. */
const burst = fc.record({
  do: fc.constant('burst' as const),
  id,
  count: fc.integer({ min: 20, max: 60 }),
  minutes: fc.constantFrom(0, 0, 1, 59, 61, 130),
  /** True if all edits are in one push and older than the stored version. */
  isLate: fc.boolean(),
})
export const scriptOfBursts = fc
  .array(fc.tuple(burst, fc.array(step, { maxLength: 5 })), { minLength: 2, maxLength: 4 })
  .map((parts) => parts.flatMap(([first, others]) => [first, ...others]))
type Step = typeof step | typeof burst extends fc.Arbitrary<infer S> ? S : never

export interface Player {
  app: TestApp
  name: string
  user: TestUser
  model: Model
  /** The server's time. */
  now: number
  sent: ReturnType<typeof change>[]
  /** The number of contents made so far, so that each differs. */
  made: number
}

/** Sends the same to the service and to the model. Throws if their responses differ. */
export async function play(player: Player, next: Step): Promise<void> {
  player.now += next.do === 'sweep' ? next.days * dayMs : 7
  player.app.setClock(player.now)
  const expected = await steps[next.do](player, next as never)
  if (expected) throw new Error(`${JSON.stringify(next)}: ${expected}`)
}

type Steps = { [Do in Step['do']]: (player: Player, next: Extract<Step, { do: Do }>) => Promise<string | undefined> }

const steps: Steps = {
  async push(player, { edits }) {
    const changes = edits.map(({ type, id, device, operation, hours, bytes }) =>
      change({
        entity_type: type,
        entity_id: id,
        operation,
        device_id: device,
        timestamp: player.now + hours * 3_600_000,
        ...(operation !== 'delete' && content(player, bytes)),
      }),
    )
    const retried = player.sent.splice(0, 1)
    player.sent.push(...changes.filter((_, index) => edits[index]?.again))
    return pushed(player, [...changes, ...retried])
  },
  async import(player, { id, device, bytes }) {
    const { user, model, now } = player
    const bookmark = { id, ...content(player, bytes) }
    const found = () => model.entities.get(`bookmark/${id}`)?.current
    const isFree = (found()?.operation ?? 'delete') === 'delete'
    const made = () => {
      const before = found()
      const timestamp = Math.max(now, (before?.timestamp ?? -1) + 1)
      return [change({ entity_id: id, device_id: device, timestamp, ...base(device, before), ...contentOf(bookmark) })]
    }
    const isStored = !isFree || model.push(now, made)
    const { status } = await user.call('POST', '/api/v1/sync/import', {
      body: { bookmarks: [bookmark] },
      ...by(device),
    })
    return differs(status, isStored ? 200 : 413)
  },
  POST: rest,
  PUT: rest,
  DELETE: rest,
  async pull({ user, model }, { device }) {
    const cursor = model.pull(device)
    const { body } = await user.call('POST', '/api/v1/sync/pull', by(device))
    return differs(body.last_sync_timestamp, cursor)
  },
  async restore({ user, model, now }, { id, device, which }) {
    const entity = model.entities.get(`bookmark/${id}`)
    const source = entity && model.source(entity, which)
    const body = which === undefined || !source ? {} : { version_id: source.event_id }
    const answer = await user.call('POST', `/api/v1/bookmarks/${id}/restore`, { body, ...by(device) })
    if (!entity || !source) return differs(answer.status, 404)
    const restored =
      body.version_id === undefined
        ? source
        : firstToArrive(entity.kept.filter(({ event_id, data }) => data && event_id === source.event_id))
    if (restored && body.version_id !== undefined) restored.isOpen = false
    const { current } = entity
    const { device_id: maker, sequence } = current
    const seen = device === 'unknown' || maker === device || sequence <= (model.cursors.get(device) ?? 0)
    const isSame = current.operation === 'update' && current.data_hash === restored?.data_hash
    const made = {
      event_id: '',
      operation: 'update' as const,
      device_id: device,
      timestamp: Math.max(now, current.timestamp + 1),
    }
    const winner = { ...made, data: restored?.data, data_hash: restored?.data_hash ?? null, unseen: !seen && !isSame }
    model.write(now, [{ key: `bookmark/${id}`, winner, source: restored }])
    return differs([answer.status, answer.body.encrypted_data], [200, restored?.data?.text])
  },
  async purge({ user, model }, { id }) {
    const entity = model.entities.get(`bookmark/${id}`)
    const isDeleted = entity?.current.operation === 'delete'
    if (entity && isDeleted) entity.kept = []
    const { status } = await user.call('DELETE', `/api/v1/trash/${id}`)
    return differs(status, isDeleted ? 200 : 404)
  },
  async settle({ user, model }, { which }) {
    const open = model.open()
    const id = open[which % open.length]?.event_id ?? 'none'
    const first = firstToArrive(open.filter(({ event_id }) => event_id === id))
    if (first) first.isOpen = false
    const { status } = await user.call('DELETE', `/api/v1/sync/conflicts/${id}`)
    return differs(status, open.length > 0 ? 200 : 404)
  },
  async rewind({ user, model, now }, { device, back, dry_run }) {
    // The target is a time or a sequence number, often one of the latest.
    const sequences = [...model.entities.values()].flatMap(({ states }) => states.map(([sequence]) => sequence))
    const times = [...model.entities.values()].flatMap(({ current, first }) => [current.at, first.at, now])
    const to = ([...sequences, ...times].sort().at(-1 - back) ?? 1) - (back % 2)
    const counts = model.rewind(now, to, device, dry_run)
    const { body } = await user.call('POST', '/api/v1/sync/rewind', { body: { to, dry_run }, ...by(device) })
    return differs(body, { ...counts, next: null })
  },
  async burst(player, { id, count, minutes, isLate }) {
    // The session may have expired before the burst ends.
    player.user = await player.app.user(player.name)
    const edits = (length: number, age: number) =>
      Array.from({ length }, () =>
        change({
          entity_id: id,
          operation: 'update',
          timestamp: player.now - age,
          device_id: 'd1',
          ...content(player, 10),
        }),
      )
    if (isLate) return pushed(player, edits(count, 2 * dayMs))
    for (let left = count; left > 0; left--) {
      player.now += minutes * 60_000 + 7
      player.app.setClock(player.now)
      const difference = await pushed(player, edits(1, 0))
      if (difference) return difference
    }
    return undefined
  },
  async clock(player, { minutes }) {
    player.now += minutes * 60_000
    player.app.setClock(player.now)
    // The session may have expired.
    player.user = await player.app.user(player.name)
    return undefined
  },
  async sweep(player) {
    const { app, model, name, now } = player
    model.sweep(now)
    await sweepVersions(app.context, now)
    // The session may have expired.
    player.user = await app.user(name)
    return undefined
  },
}

async function rest(
  player: Player,
  { do: method, id, device, bytes }: Extract<Step, { do: 'POST' | 'PUT' | 'DELETE' }>,
) {
  const { user, model, now } = player
  const before = model.entities.get(`bookmark/${id}`)?.current
  const isAllowed = method === 'POST' ? !before : before && before.operation !== 'delete'
  const sent = content(player, bytes)
  const operation = ({ POST: 'create', PUT: 'update', DELETE: 'delete' } as const)[method]
  const made = {
    device_id: device,
    operation,
    timestamp: Math.max(now, (before?.timestamp ?? -1) + 1),
    ...base(device, before),
  }
  const isStored = isAllowed && model.push(now, [change({ entity_id: id, ...made, ...(method !== 'DELETE' && sent) })])
  const path = `/api/v1/bookmarks${method === 'POST' ? '' : `/${id}`}`
  const body = method === 'DELETE' ? {} : { body: method === 'POST' ? { id, ...sent } : sent }
  const { status } = await user.call(method, path, { ...body, ...by(device) })
  const refused = isAllowed ? 413 : method === 'POST' ? 409 : 404
  return differs(status, isStored ? (method === 'POST' ? 201 : 200) : refused)
}

async function pushed({ user, model, now }: Player, changes: ReturnType<typeof change>[]) {
  // A repeated change may be from before the clock was set back, and then is too far ahead.
  const considered = changes.filter(({ timestamp }) => !isFarAhead(timestamp, now))
  const isStored = model.push(now, considered)
  const { status } = await push(user, ...changes)
  return differs(status, isStored ? 200 : 413)
}

/** The version that arrived first, of several with one event id. The service uses that one. */
function firstToArrive(versions: Kept[]): Kept | undefined {
  const arrival = ({ began, sequence }: Kept) => began ?? sequence
  return versions.toSorted((one, other) => arrival(one) - arrival(other))[0]
}

function content(player: Player, bytes: number) {
  player.made += 1
  return { encrypted_data: 'x'.repeat(bytes), data_hash: `hash-${player.made}` }
}

function contentOf({ encrypted_data, data_hash }: { encrypted_data: string; data_hash: string }) {
  return { encrypted_data, data_hash }
}

function base(device: string, before: Entity['current'] | undefined) {
  return device === 'unknown' && before ? { base: before.sequence } : {}
}

function by(device: string) {
  return { headers: device === 'unknown' ? {} : { 'x-device-id': device } }
}

function differs(actual: unknown, expected: unknown): string | undefined {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)]
  return one === other ? undefined : `${one} instead of ${other}`
}
