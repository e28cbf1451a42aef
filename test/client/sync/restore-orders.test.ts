import fc from 'fast-check'
import t, { type Test } from 'tap'
import { ApiError, type Meta, memoryStore, OfflineError } from '../../../src/client/index.ts'
import { pullAll } from '../../support/changes.ts'
import { depth } from '../../support/depth.ts'
import { pick } from '../../support/pick.ts'
import { backUp } from '../chaos/run.ts'
import { until } from './clock.ts'
import { bookmark, type Device, online, openPeople, type Person, remove, send, shown, sync, update } from './device.ts'
import { changesOf, down, up } from './network.ts'

/** The service is restored from a backup at any moment, while devices have newer changes. */

const people = await openPeople()

t.test('Edits made before a device notices a restore are kept, too', async (t) => {
  const { a, b, person, restore } = await restorable(t)
  await a.sync.put([bookmark('x', 'later'), bookmark('new', 'new')])
  await remove(a, 'y', b)
  await b.sync.update('x', { title: 'edited on b, not sent' })
  await b.sync.update('z', { tags: ['b'] })
  await a.sync.put(bookmark('own', "a's, not sent"))
  await restore()
  await sync(a, b, a)
  t.same(
    [shown(a), shown(b), await person.stored()],
    Array(3).fill({ new: 'new', own: "a's, not sent", x: 'edited on b, not sent', z: 'z' }),
  )
  t.same(a.sync.get('z')?.tags, ['b'])
  t.same([a.conflicts, b.conflicts, a.errors, b.errors], [[], [], [], []])
})

t.test("An edit made before its device notices a restore is merged with another device's lost changes", async (t) => {
  const { a, b, person, restore } = await restorable(t)
  await b.sync.put([bookmark('x', 'lost'), bookmark('new', 'also lost')])
  await remove(b, 'y', a)
  await restore()
  await a.sync.put(bookmark('own', 'made then'))
  await update(a, 'x', { tags: ['made then'] }, b, a)
  t.same(
    [shown(a), shown(b), await person.stored()],
    Array(3).fill({ new: 'also lost', own: 'made then', x: 'lost', z: 'z' }),
  )
  t.same(b.sync.get('x')?.tags, ['made then'])
  t.same([a.conflicts, b.conflicts, a.errors, b.errors], [[], [], [], []])
})

t.test('An edit of a lost change that arrives first is reported to the device that made the change', async (t) => {
  const { a, b, person, restore } = await restorable(t)
  await send(b, bookmark('x', 'lost'), a)
  await restore()
  await update(a, 'x', { title: 'made then' }, b, a)
  t.same([shown(a).x, shown(b).x, (await person.stored()).x], Array(3).fill('made then'))
  // The service cannot know that `a` had seen the lost change.
  t.match(b.conflicts, [{ fields: ['title'], mine: { title: 'lost' }, theirs: { title: 'made then' } }])
})

t.test('If a device stops in the middle of handling a restore, its next start completes it', async (t) => {
  const { a, b, person, restore } = await restorable(t)
  await send(a, bookmark('x', 'later'), b)
  await restore()
  let pulls = 0
  b.network.fate = async (call) => {
    const answer = await call.send()
    if (call.name === 'pull' && ++pulls === 2) throw new Error('stopped here')
    return answer
  }
  await t.rejects(b.sync.syncNow(), /stopped here/)
  await b.sync.stop()
  const again = person.device('b', { store: b.store })
  await sync(again)
  t.same(await person.stored(), { x: 'later', y: 'y', z: 'z' })
})

t.test("An open app notices a restore by the channel's greeting, or by the answer to an edit", async (t) => {
  const { a, b, person, putBack } = await restorable(t)
  await send(a, bookmark('x', 'lost'), b)
  await a.sync.start()
  await until(() => a.network.socket?.isOpen === true)
  const epoch = await putBack()
  a.network.socket?.greet(person.world.time, epoch)
  await until(() => a.restored.length === 1 && a.sync.status().waiting === 0)
  t.match(await person.stored(), { x: 'lost' })

  const c = person.device('c')
  for (const [device, id] of [
    [b, 'y'],
    [c, 'new'],
  ] as const) {
    await online(person, device)
    await putBack()
    await device.sync.put(bookmark(id, 'made then'))
    await until(() => device.restored.length === 1 && device.sync.status().waiting === 0)
  }
  t.same(await person.stored(), { new: 'made then', x: 'lost', y: 'made then', z: 'z' })
  t.same([a.conflicts, b.conflicts], [[], []])
})

t.test('A store of an earlier version of this package, without an epoch, takes over the service’s', async (t) => {
  const { a, person, restore } = await restorable(t)
  const { meta, rows } = await a.store.load()
  await a.sync.stop()
  const { epoch, ...earlier } = meta as Meta
  const store = memoryStore()
  await store.write(rows, { ...earlier, pulled: earlier.cursor, witness: 'bookmark/z' } as Meta)
  const again = person.device('a', { store })
  await send(again, bookmark('x', 'lost'))
  t.match((await store.load()).meta, { epoch })
  await restore()
  await sync(again)
  t.same(await person.stored(), { x: 'lost', y: 'y', z: 'z' })
})

t.test('A lost bookmark deleted before it was sent again stays deleted, although other devices have it', async (t) => {
  const { a, b, person, restore } = await restorable(t)
  await send(a, bookmark('new', 'new'), b)
  await restore()
  let removing = Promise.resolve()
  a.sync.on('restored', () => {
    removing = a.sync.remove('new')
  })
  await sync(a, b, a)
  await removing
  t.same([shown(a), shown(b), await person.stored()], Array(3).fill({ x: 'x', y: 'y', z: 'z' }))
})

t.test('An edit that waits during a restore gets the right time, even if its clock was hours ahead', async (t) => {
  const { a, b, person, restore } = await restorable(t)
  await send(a, bookmark('x', 'lost'), b)
  await person.world.pass(7_200_000)
  const real = person.world.clock()
  const aheadMs = 6 * 3_600_000
  await b.sync.stop()
  const later = person.device('b', { store: b.store, clock: { ...real, now: () => real.now() + aheadMs } })
  await later.sync.put(bookmark('x', 'made then'))
  await restore()
  await sync(later, a)
  const [{ timestamp } = { timestamp: 0 }] = (await pullAll(person.user)).changes.slice(-1)
  t.equal(Math.round((timestamp - person.world.time) / 1000), 0)
  t.same([shown(a).x, shown(later).x, (await person.stored()).x], Array(3).fill('made then'))
})

t.test('A lost bookmark that is deleted after a refused edit stays deleted on all devices', async (t) => {
  const { a, b, person, restore } = await restorable(t)
  await send(a, bookmark('new', 'lost'), b)
  b.network.fate = async (call) => {
    if (changesOf(call).length > 0) throw new ApiError(400, 'Validation failed')
    return call.send()
  }
  await update(b, 'new', { title: 'refused' })
  t.match(b.sync.quarantined(), [{ id: 'new' }])
  b.network.fate = up
  await restore()
  await sync(b)
  await remove(b, 'new', a, b)
  t.same([shown(a), shown(b), await person.stored()], Array(3).fill({ x: 'x', y: 'y', z: 'z' }))
})

t.test('An edit of a lost change stays newer than it, even if that was made with a clock far ahead', async (t) => {
  const person = await people.person(t)
  const putBack = await backUp(people.app, person.user.userId)
  const [a, b] = [person.device('a', { skew: 3 * 3_600_000 }), person.device('b')]
  await send(a, bookmark('x', 'x'), b, a)
  await a.sync.remove('x')
  await putBack()
  await sync(a, b, a)
  t.same([shown(a), shown(b), await person.stored()], [{}, {}, {}])
})

t.test('An overwritten edit is reported even if its device edited another field after the backup', async (t) => {
  const { a, b, person } = await restorable(t)
  const seen = b.sync.seen()
  await person.world.pass(1_000)
  await update(a, 'x', { title: 'by a' })
  const putBack = await backUp(people.app, person.user.userId)
  await update(a, 'x', { description: 'by a, after the backup' }, b)
  await b.sync.put({ ...bookmark('x', 'by b'), description: 'by a, after the backup' }, { seen })
  await person.world.pass(60_000)
  await putBack()
  await sync(b, a, b)
  t.match(a.conflicts, [{ id: 'x', fields: ['title'], mine: { title: 'by a' }, theirs: { title: 'by b' } }])
  t.same([shown(a).x, shown(b).x, (await person.stored()).x], ['by b', 'by b', 'by b'])
})

for (const when of ['', ', while that device has an unsent edit', ', after a second restore'])
  t.test(`The edit that a lost edit was based on is reported to its own device${when}`, async (t) => {
    const { a, b, person, putBack, restore } = await restorable(t)
    const c = person.device('c')
    await sync(c)
    await update(a, 'x', { url: 'https://a.example', tags: ['a'] }, b)
    await update(b, 'x', { description: 'by b', tags: ['b'] }, a)
    if (when.includes('unsent')) await a.sync.update('x', { dateVisited: '2026-01-01T00:00:00Z' })
    await restore()
    if (when.includes('second')) {
      await sync(a)
      await person.world.pass(60_000)
      await putBack()
    }
    await update(c, 'x', { url: 'https://c.example' }, b, a, b, c)
    const mine = { url: 'https://a.example', description: 'by b' }
    t.match(a.conflicts, [{ id: 'x', fields: ['url'], mine, theirs: { url: 'https://c.example' } }])
    t.match(b.conflicts, [{ id: 'x', mine }])
    t.same(
      [a, b].map(({ conflicts }) => conflicts.map(({ fields }) => fields)),
      [[['url']], [['description', 'tags']]],
    )
    t.same([a.sync.get('x'), b.sync.get('x')], Array(2).fill(c.sync.get('x')))
  })

t.test('A bookmark made elsewhere under the id of a lost one conflicts with it, and the loser learns it', async (t) => {
  const { a, b, c, person } = await madeUnderOneId(t)
  await update(c, 'new', { description: 'by c, too' }, a, c, b)
  const expected = { title: 'by a', description: 'by c, too' }
  t.match([a.sync.get('new'), b.sync.get('new'), c.sync.get('new')], Array(3).fill(expected))
  t.match(c.conflicts, [{ id: 'new', fields: ['title'], mine: { title: 'by c' }, theirs: { title: 'by a' } }])
  t.equal((await person.stored()).new, 'by a')
})

for (const when of ['', ', and had reached its maker'])
  t.test(`If a bookmark and its replacement are lost, an edit still reports a conflict${when}`, async (t) => {
    const { a, b, person, restore } = await restorable(t)
    await send(a, bookmark('new', 'by a'))
    await person.world.pass(1_000)
    await send(b, bookmark('new', 'by b'))
    if (when) await sync(b)
    await restore()
    await b.sync.update('new', { tags: ['b'] })
    await sync(b, a, b)
    t.match(a.conflicts, [{ id: 'new', fields: ['title'], mine: { title: 'by a' }, theirs: { title: 'by b' } }])
    t.same([shown(a).new, shown(b).new, (await person.stored()).new, b.conflicts], ['by b', 'by b', 'by b', []])
  })

t.test('What a bookmark replaces again after a restore is reported with all that lies beneath', async (t) => {
  const { person, a, b } = await people.open(t)
  const c = person.device('c')
  await send(a, bookmark('x', "a's", { description: "a's" }), b)
  await update(b, 'x', { title: "b's" })
  const putBack = await backUp(people.app, person.user.userId)
  await person.world.pass(60_000)
  await send(c, bookmark('x', "c's", { description: "c's" }), c)
  await update(c, 'x', { tags: ['c'] })
  await putBack()
  await sync(c, b)
  t.match(b.conflicts, [{ fields: ['title', 'description'], mine: { title: "b's", description: "a's" } }])
})

t.test('A replacement that was lost and sent again reports what it replaced, even after another edit', async (t) => {
  const { a, b, person, restore } = await restorable(t)
  await send(a, bookmark('new', 'by a'))
  await person.world.pass(1_000)
  await send(b, bookmark('new', 'by b'), b)
  await restore()
  await sync(b)
  await update(b, 'new', { tags: ['b'] }, a)
  t.match(a.conflicts, [{ id: 'new', fields: ['title'], mine: { title: 'by a' }, theirs: { title: 'by b' } }])
})

t.test(
  'An edit stored between two restores is reported if another device edits what it knows from before',
  async (t) => {
    const { a, b, putBack, person } = await restorable(t)
    await send(a, bookmark('new', 'new'), b)
    await person.world.pass(60_000)
    await putBack()
    await update(a, 'new', { description: "a's" })
    await b.sync.update('new', { tags: ['b'] })
    await person.world.pass(60_000)
    await putBack()
    await sync(b, a, b)
    t.match(a.conflicts, [{ id: 'new', fields: ['description'], mine: { description: "a's" } }])
  },
)

t.test('An edit that wins over a lost one reports it, even if it was followed by an unsent one', async (t) => {
  const { a, b, person, restore } = await restorable(t)
  const c = person.device('c')
  await sync(c)
  await update(a, 'x', { title: "a's" })
  await person.world.pass(1_000)
  await update(b, 'x', { title: "b's" })
  await b.sync.update('x', { description: "b's" })
  await restore()
  await sync(a, c)
  await update(c, 'x', { url: 'https://c.example' })
  await sync(b, a, c, b, a, c)
  const told = [a, b, c].flatMap(({ sync }) => sync.conflicts())
  t.match(told[0], { fields: ['title'], mine: { title: "a's" } })
})

t.test('The loser gets a conflict after a second restore, too, before the winner was sent again', async (t) => {
  const { a, c, person, putBack } = await madeUnderOneId(t)
  await person.world.pass(60_000)
  await putBack()
  await sync(c, a, c)
  t.match(c.conflicts, [{ id: 'new', mine: { title: 'by c' }, theirs: { title: 'by a' } }])
  t.same([shown(a).new, shown(c).new, (await person.stored()).new], ['by a', 'by a', 'by a'])
})

t.test('A device that was offline gets the changes that the service lost from the other devices', async (t) => {
  const { a, b, person, restore } = await restorable(t)
  await send(a, bookmark('x', 'later'))
  await restore()
  await sync(b)
  t.same(await person.stored(), { x: 'x', y: 'y', z: 'z' }, 'b cannot know')
  await sync(a, b)
  t.same(pick([shown(b), await person.stored()], 'x'), ['later', 'later'])
  t.same([a.conflicts, b.conflicts], [[], []])
})

t.test('Held deletes of other devices are held again once the service has them again', async (t) => {
  const { a, b, restore } = await restorable(t, 12)
  await remove(
    a,
    Array.from({ length: 8 }, (_, index) => `b${index}`),
    b,
  )
  t.match(b.sync.status().heldDeletions, { count: 8 })
  await restore()
  await sync(b)
  t.equal(b.sync.status().heldDeletions, undefined, 'the service has lost the deletes')
  await sync(a, b)
  t.match(b.sync.status().heldDeletions, { count: 8 }, 'the deleting device has sent them again')
  await b.sync.approveDeletions(8)
  t.same(shown(b), shown(a))
})

t.test('After any edits and in any order of devices, everything is as before the restore', async (t) => {
  const device = fc.nat(2)
  const step = fc.record({ device, kind: fc.constantFrom('put', 'remove', 'tag', 'sync'), id: fc.nat(5) })
  const steps = fc.array(step, { minLength: 4, maxLength: 25 })
  const property = fc.asyncProperty(steps, steps, fc.array(device, { maxLength: 6 }), async (first, second, order) => {
    const person = await people.person(t)
    const devices = ['a', 'b', 'c'].map((id) => person.device(id))
    await play(person, devices, first)
    await sync(...devices, ...devices)
    const restore = await backUp(people.app, person.user.userId)
    await play(person, devices, second)
    // All edits are sent first. Otherwise the order of arrival would decide.
    await sync(...devices, ...devices)
    const before = await person.stored()
    const told = devices.map(({ conflicts }) => conflicts.length)
    await restore()
    await sync(...order.map((index) => devices[index] as Device), ...devices, ...devices)
    const after = await person.stored()
    const shows = devices.map((device) => JSON.stringify(shown(device)))
    const errors = devices.flatMap(({ errors }) => errors)
    const isTold = devices.some(({ conflicts }, index) => conflicts.length > (told[index] ?? 0))
    for (const { sync } of devices) await sync.stop()
    if (JSON.stringify(after) !== JSON.stringify(before))
      throw new Error(`${JSON.stringify(before)} became ${JSON.stringify(after)}`)
    if (new Set(shows).size > 1) throw new Error(`they differ: ${shows}`)
    if (isTold || errors.length > 0) throw new Error('there was a conflict or an error without a cause')
  })
  const numRuns = depth(8, 300)
  await fc.assert(property, { numRuns })
  t.pass(`${numRuns} restores`)
})

/** Two devices in sync, and a function that restores the service to that moment. */
async function restorable(t: Test, count = 0) {
  const { person, a, b } = await people.open(t)
  const many = Array.from({ length: count }, (_, index) => bookmark(`b${index}`, `${index}`))
  await send(a, count > 0 ? many : ['x', 'y', 'z'].map((id) => bookmark(id, id)), b)
  const putBack = await backUp(people.app, person.user.userId)
  return {
    person,
    a,
    b,
    putBack,
    async restore() {
      // The service's clock is later than all lost changes.
      await person.world.pass(60_000)
      await putBack()
    },
  }
}

/**
 * `a` and `b` had a bookmark that the service lost. `c` had made another one under the same id before, and sent it
 * since. `a` has received that, but could not send its own again yet.
 */
async function madeUnderOneId(t: Test) {
  const { a, b, person, putBack, restore } = await restorable(t)
  const c = person.device('c')
  await c.sync.put(bookmark('new', 'by c'))
  await person.world.pass(1_000)
  await send(a, bookmark('new', 'by a'), b, a)
  await restore()
  await sync(c)
  a.network.fate = async (call) => (call.name === 'push' ? down(call) : up(call))
  await t.rejects(a.sync.syncNow(), OfflineError)
  a.network.fate = up
  return { person, putBack, a, b, c }
}

interface Step {
  device: number
  kind: 'put' | 'remove' | 'tag' | 'sync'
  id: number
}

async function play(person: Person, devices: Device[], steps: Step[]): Promise<void> {
  for (const [index, { device, kind, id }] of steps.entries()) {
    const { sync } = devices[device] as Device
    await person.world.pass(1_000)
    const name = `b${id}`
    if (kind === 'put') await sync.put(bookmark(name, `${name} of step ${index}`))
    else if (kind === 'remove') await sync.remove(name)
    else if (kind === 'tag' && sync.get(name)) await sync.update(name, { tags: [`step ${index}`] })
    else await sync.syncNow()
  }
}
