import fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  ApiError,
  decryptBookmark,
  type Keys,
  OfflineError,
  type PlaintextBookmark,
} from '../../../src/client/index.ts'
import type { Change } from '../../../src/client/sync/exchange/transport.ts'
import { pullAll } from '../../support/changes.ts'
import { depth } from '../../support/depth.ts'
import { backUp } from '../chaos/run.ts'
import { bookmark, type Device, openPeople, openVault, type Person, remove, send, sync, update } from './device.ts'
import { changesOf } from './network.ts'

/** After a restore: edits whose own devices never come back, and which other devices have seen. */

const people = await openPeople()

t.test('A lost edit that another device had seen becomes a conflict if a third device edits first', async (t) => {
  const { person, a, b, c, restore } = await threeInSync(t)
  await update(a, 'x', { description: "a's" }, b)
  await restore()
  await update(c, 'x', { title: "c's" }, b, c, b)
  t.match([b.sync.get('x'), c.sync.get('x')], Array(2).fill({ title: "c's", description: undefined }))
  t.match(await conflictsOf(person), [{ title: 'x', description: "a's" }])
  t.same([b.conflicts, c.conflicts], [[], []])
})

t.test('So does one that a device had edited in turn', async (t) => {
  const { person, a, b, c, restore } = await threeInSync(t)
  await update(a, 'x', { description: "a's" }, b)
  await update(b, 'x', { tags: ['b'] })
  await update(b, 'x', { tags: ['b', 'too'] })
  await restore()
  await update(c, 'x', { title: "c's" }, b, c)
  t.match(await conflictsOf(person), [{ title: 'x', description: "a's" }])
  t.match(b.conflicts, [{ fields: ['tags'], mine: { tags: ['b', 'too'] } }])
})

t.test('It is reported once: not again by its own device, and not by others', async (t) => {
  for (const order of ['ab', 'ba']) {
    const { person, a, b, c, restore } = await threeInSync(t)
    const d = person.device('d')
    await update(a, 'x', { description: "a's" }, b, d)
    await restore()
    const back = [...order].map((id) => (id === 'a' ? a : b))
    await update(c, 'x', { description: "c's" }, ...back, d, c, ...back)
    t.match(a.conflicts, [{ fields: ['description'], mine: { description: "a's" } }], order)
    t.same([b.conflicts, c.conflicts, d.conflicts, await conflictsOf(person)], [[], [], [], []], order)
  }
})

t.test('A lost bookmark whose id another device had used, too, is listed for its own device', async (t) => {
  const { person, a, b, restore } = await threeInSync(t)
  await send(a, bookmark('new', 'by a'))
  await person.world.pass(1_000)
  await send(b, bookmark('new', 'by b'))
  await restore()
  await update(b, 'new', { tags: ['b'] }, a, b)
  t.match([a.sync.get('new'), b.sync.get('new')], Array(2).fill({ title: 'by b', tags: ['b'] }))
  const told = [...a.conflicts.map(({ mine }) => mine), ...(await conflictsOf(person))]
  t.match(told, [{ title: 'by a' }])
  t.equal(told.length, 1)
})

t.test('An edit that the service still has is no conflict', async (t) => {
  const { person, a, b, c, restore, backUpNow } = await threeInSync(t)
  await update(a, 'x', { description: "a's" }, b, c)
  await backUpNow()
  await send(a, bookmark('new', 'new'))
  await update(c, 'x', { title: "c's" })
  await update(c, 'x', { title: "c's own" })
  await restore()
  await sync(c)
  await update(c, 'x', { tags: ['c'] }, b, c)
  t.same([await conflictsOf(person), b.conflicts, c.conflicts], [[], [], []])
})

t.test('An edit that had seen the lost one is no conflict', async (t) => {
  const { person, a, b, c, restore } = await threeInSync(t)
  const d = person.device('d')
  await update(a, 'x', { description: "a's" }, b, c)
  await update(a, 'y', { description: "a's" }, b, c, d)
  await update(c, 'y', { description: "c's" })
  await restore()
  await update(c, 'x', { title: "c's" }, b, d, c)
  t.match([b.sync.get('x'), d.sync.get('y')], [{ title: "c's", description: "a's" }, { description: "c's" }])
  await update(d, 'y', { title: "d's" }, b, c)
  t.same([await conflictsOf(person), b.conflicts, c.conflicts, d.conflicts], [[], [], [], []])
})

t.test('After a rotation of the keys, too, only what the service lacks becomes a conflict', async (t) => {
  const { vault, device, user, world, a, b } = await openVault(t)
  const c = device('c')
  await send(a, [bookmark('x', 'x'), bookmark('y', 'y')], b, c)
  await update(a, 'y', { description: "a's, in the backup" }, b, c)
  const putBack = await backUp(people.app, user.userId)
  await update(a, 'x', { description: "a's, lost" }, b)
  await world.pass(60_000)
  await putBack()
  const keys = await vault.rotate()
  await c.sync.adoptKeys(structuredClone(keys))
  await update(c, 'x', { title: "c's" })
  await update(c, 'y', { title: "c's" })
  await b.sync.adoptKeys(structuredClone(keys))
  await sync(b, c)
  t.match(await conflictsOf({ user, keys }), [{ title: 'x', description: "a's, lost" }])
  t.same((await conflictsOf({ user, keys })).length, 1)
})

for (const [what, error] of [
  ['the service', new ApiError(400, 'Validation failed')],
  ['a proxy', new OfflineError(undefined, { status: 413 })],
] as const)
  t.test(`If ${what} refuses a lost edit, the device that had seen it reports it`, async (t) => {
    const { a, b, c, restore } = await threeInSync(t)
    // Longer than the other one, because a proxy's 413 concerns all that are not smaller.
    const description = "a's".padEnd(500, '!')
    await update(a, 'x', { description }, b)
    await update(a, 'y', { description: "a's" }, b)
    await restore()
    await update(c, 'x', { title: "c's" })
    await update(c, 'y', { title: "c's" })
    b.network.fate = async (call) => {
      if (changesOf(call).some(({ entity_id }) => entity_id === 'x')) throw error
      return call.send()
    }
    await sync(b)
    t.match(b.conflicts, [{ id: 'x', mine: { title: 'x', description }, theirs: { title: "c's" } }])
    t.equal(b.conflicts.length, 1)
  })

t.test('A delete that another device had seen is listed, too; an edit of a deleted bookmark is not', async (t) => {
  const { person, a, b, c, restore } = await threeInSync(t)
  await remove(a, 'x', b)
  await update(a, 'y', { description: "a's" }, b)
  await restore()
  await remove(c, 'y')
  await update(c, 'x', { title: "c's" }, b, c)
  t.same(await conflictsOf(person), [null])
  t.equal(b.sync.get('x')?.title, "c's")
})

t.test('After any edits, the last one of each device that any other had seen is stored or listed', async (t) => {
  const device = fc.nat(2)
  const step = fc.record({ device, kind: fc.constantFrom('edit', 'send', 'sync', 'sync') })
  const steps = fc.array(step, { minLength: 4, maxLength: 12 })
  const property = fc.asyncProperty(steps, device, steps, async (before, lost, after) => {
    const { person, a, b, c, restore } = await threeInSync(t)
    const devices = [a, b, c]
    const edited = new Map<string, string | null | undefined>()
    await play(person, devices, before, (value, { sync }) => {
      edited.set(value, sync.get('x')?.description)
      return { description: value }
    })
    const back = devices.filter((_, index) => index !== lost)
    const made = back.flatMap(({ sync }) => sync.get('x')?.description ?? [])
    await restore()
    await play(person, back, after, (title) => ({ title }))
    await sync(...back, ...back)
    const known = [
      ...(await versionsOf(person)),
      ...back.flatMap(({ sync }) => sync.conflicts().map((one) => one.mine)),
    ]
    const all = new Set(known.map((one) => one?.description ?? null))
    // An edit of a value had seen it.
    for (const value of [...edited.keys()].reverse()) if (all.has(value)) all.add(edited.get(value) ?? null)
    for (const { sync } of devices) await sync.stop()
    const missing = made.filter((value) => !all.has(value))
    if (missing.length > 0) throw new Error(`nowhere: ${missing}`)
  })
  const numRuns = depth(30, 500)
  await fc.assert(property, { numRuns })
  t.pass(`${numRuns} restores`)
})

/** Three devices in sync, a backup of then, and functions to make another and to go back to the last one. */
async function threeInSync(t: Test) {
  const { person, a, b, c } = await people.open(t)
  await send(a, [bookmark('x', 'x'), bookmark('y', 'y')], b, c)
  let putBack = await backUp(people.app, person.user.userId)
  const backUpNow = async () => {
    putBack = await backUp(people.app, person.user.userId)
  }
  const restore = async () => {
    // The service's clock is later than all lost changes.
    await person.world.pass(60_000)
    await putBack()
  }
  return { person, a, b, c, restore, backUpNow }
}

/** What the service lists as conflicts; null for a delete. */
async function conflictsOf({ user, keys }: Pick<Person, 'user' | 'keys'>): Promise<(PlaintextBookmark | null)[]> {
  const { body } = await user.call('GET', '/api/v1/sync/conflicts')
  return body.conflicts.map((one: Sealed) => open(keys, one))
}

/** All versions of the bookmarks `x` and `y` that the service has, and their present states. */
async function versionsOf({ user, keys }: Person): Promise<(PlaintextBookmark | null)[]> {
  const lists = ['x', 'y'].map((id) => user.call('GET', `/api/v1/bookmarks/${id}/versions`))
  const versions = (await Promise.all(lists)).flatMap(({ body }) => body.versions as Sealed[])
  return [...versions, ...(await pullAll(user)).changes].map((one) => open(keys, one))
}

type Sealed = Pick<Change, 'operation' | 'entity_id' | 'encrypted_data' | 'data_hash'>

function open(keys: Keys, { operation, entity_id: id, encrypted_data = '', data_hash = '' }: Sealed) {
  return operation === 'delete' ? null : decryptBookmark(keys, { id, encrypted_data, data_hash })
}

interface Step {
  device: number
  kind: 'edit' | 'send' | 'sync'
}

/** Edits of `x`, each with its own value. `send` is an edit and a sync. */
async function play(
  person: Person,
  devices: Device[],
  steps: Step[],
  patch: (value: string, device: Device) => Partial<PlaintextBookmark>,
): Promise<void> {
  for (const [index, { device, kind }] of steps.entries()) {
    const one = devices[device % devices.length] as Device
    await person.world.pass(1_000)
    if (kind !== 'sync') await one.sync.update('x', patch(`${one.id} ${index}`, one))
    if (kind !== 'edit') await one.sync.syncNow()
  }
}
