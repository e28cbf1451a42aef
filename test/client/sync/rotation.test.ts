import { randomBytes } from 'node:crypto'
import t from 'tap'
import { RequestTimeout } from '../../../generated/errors.ts'
import { ApiError, OfflineError, type RecordError } from '../../../src/client/errors.ts'
import { deriveKeys, type Keys, type Meta, memoryStore } from '../../../src/client/index.ts'
import { pullAll } from '../../support/changes.ts'
import { settled } from './clock.ts'
import { bookmark, type Device, numbered, openVault, type Person, send, shown, sync, update } from './device.ts'
import { answerLost, changesOf, down, type Fate, failing, up } from './network.ts'
import { markOf } from './vault-keys.ts'

/** The keys are rotated on one device while others make edits. */

const locked = { name: 'RecordError', fault: 'unknown-key' }

function heard({ changes, conflicts }: Device) {
  return { changes: changes.length, conflicts: [...conflicts] }
}

t.test('a rotation re-encrypts everything, and no device counts it as an edit', async (t) => {
  const { vault, a, b, sealed } = await openVault(t)
  await send(a, [bookmark('x', 'ex'), bookmark('y', 'why')])
  await send(b, bookmark('z', 'zed'), a)
  const before = [a, b].map(heard)

  const keys = await vault.rotate()
  const progress: number[][] = []
  await a.sync.adoptKeys(keys, { onProgress: (...counts) => progress.push(counts) })
  t.same(progress.flat(), [0, 3, 3, 3])
  t.same(await sealed(keys), [3, 0])

  await t.rejects(b.sync.syncNow(), locked)
  t.match(b.sync.status(), { state: 'offline', reason: 'keys' })
  t.same(shown(b), shown(a), 'the device still shows its bookmarks')
  await b.sync.adoptKeys(keys)
  await sync(b)
  t.same(shown(b), { x: 'ex', y: 'why', z: 'zed' })
  t.same([a, b].map(heard), before)
})

t.test('a device still knows its changed fields after a rotation, so that other devices merge correctly', async (t) => {
  const { vault, world, device, a, b } = await openVault(t)
  const c = device('c')
  await send(a, bookmark('x', 'ex', { description: 'old' }), b)
  await update(b, 'x', { parentId: 'f' })
  await world.pass(1000)
  await a.sync.update('x', { description: 'new', parentId: 'g' })
  const keys = await vault.rotate()
  await c.sync.adoptKeys(keys)
  await b.sync.adoptKeys(keys)
  await sync(c, b)
  await world.pass(1000)
  await b.sync.update('x', { parentId: 'h' })
  await a.sync.adoptKeys(keys)
  await sync(a, b, a)
  for (const { sync } of [a, b]) t.match(sync.get('x'), { description: 'new', parentId: 'h' })
  t.same([a.conflicts.map(({ fields }) => fields), b.conflicts], [[['parentId']], []])
})

t.test('edits that wait for the network are encrypted with the new key, and win over the rotation', async (t) => {
  const { vault, a, b, sealed } = await openVault(t)
  await send(a, [bookmark('x', 'ex'), bookmark('y', 'why'), bookmark('z', 'zed')], b)
  b.network.fate = down
  await b.sync.update('x', { title: 'offline' })
  await b.sync.remove('y')
  await b.sync.put(bookmark('new', 'made offline'))

  const keys = await vault.rotate()
  await a.sync.adoptKeys(keys)
  b.network.fate = up
  await t.rejects(b.sync.syncNow(), locked)
  t.match(b.sync.status(), { reason: 'keys', waiting: 3 }, 'nothing was sent under the old key')
  t.same(await sealed(keys), [3, 0])
  await b.sync.adoptKeys(keys)
  await sync(a, b)
  const sent = b.network.sent.flatMap(({ encrypted_data }) => encrypted_data ?? [])
  t.ok(sent.length >= 2 && sent.every((data) => data.startsWith(markOf(keys))), 'no change was sent under the old key')
  await a.sync.approveDeletions(1)
  t.same([shown(a), shown(b)], Array(2).fill({ new: 'made offline', x: 'offline', z: 'zed' }))
  t.same(await sealed(keys), [3, 0])
  t.same([a.conflicts, b.conflicts], [[], []])
})

t.test('a bookmark made unseen under a used id still reports all that it replaced after a rotation', async (t) => {
  const { world, vault, a, b } = await openVault(t)
  await send(a, bookmark('star', "a's", { description: "a's" }))
  await update(a, 'star', { tags: ['a'] })
  await world.pass(1000)
  await send(b, bookmark('star', "b's", { description: "b's" }))
  const keys = await vault.rotate()
  await b.sync.adoptKeys(keys)
  await a.sync.adoptKeys(keys)
  await sync(a)
  t.match(a.conflicts, [{ fields: ['title', 'description', 'tags'] }])
})

t.test('an edit based on one whose answer was lost also wins over the rotation', async (t) => {
  const { vault, a, b } = await openVault(t)
  a.network.fate = pushesOnly(1, answerLost)
  await a.sync.put(bookmark('x', 'ex'))
  await t.rejects(a.sync.syncNow(), { name: 'OfflineError' })
  a.network.fate = down
  await a.sync.update('x', { title: 'edited' })
  await sync(b)

  const keys = await vault.rotate()
  await b.sync.adoptKeys(keys)
  a.network.fate = up
  await a.sync.adoptKeys(keys)
  await sync(a, b)
  t.same([shown(a), shown(b)], Array(2).fill({ x: 'edited' }))
  t.same([a.conflicts, b.conflicts], [[], []])
})

t.test('an edit with the event id of a re-encrypted change counts as an edit, and its loser is reported', async (t) => {
  const { world, a, b } = await openVault(t)
  await send(a, bookmark('x', 'ex'), b)
  a.network.fate = (call) => (call.name === 'push' ? down(call) : up(call))
  await a.sync.update('x', { title: "a's" })
  await t.rejects(a.sync.syncNow(), { name: 'OfflineError' })
  await world.pass(1000)
  b.network.fate = (call) => {
    // The network fails after the changed push was sent.
    if (b.network.sent.some(({ id }) => id.endsWith('~001'))) return down(call)
    for (const change of changesOf(call)) change.id = `${a.network.sent.at(-1)?.id}~001`
    return up(call)
  }
  // The answer has another id than b sent.
  const rejected = t.rejects(update(b, 'x', { title: "b's" }), { name: 'OfflineError', status: 200 })
  await world.pass(1000)
  await rejected
  a.network.fate = up
  await sync(a)
  t.same(shown(a), { x: "b's" })
  t.match(a.conflicts, [{ id: 'x', fields: ['title'], mine: { title: "a's" }, theirs: { title: "b's" } }])
})

for (const error of [new ApiError(...RequestTimeout), new OfflineError()]) {
  t.test(`a rotation whose pushes are too large for the connection sends smaller ones: ${error.message}`, async (t) => {
    const { world, vault, a, sealed } = await openVault(t)
    await send(
      a,
      Array.from({ length: 40 }, (_, index) => bookmark(`b${index}`, 'one')),
    )
    const keys = await vault.rotate()
    a.network.fate = (call) => (changesOf(call).length > 15 ? failing(error)(call) : up(call))
    for (let attempt = 0; attempt < 3; attempt++) {
      let isOver = false
      const end = () => {
        isOver = true
      }
      a.sync.adoptKeys(keys).then(end, end)
      while (!isOver) await world.pass(1000)
    }
    t.same(await sealed(keys), [40, 0])
  })
}

t.test('an interrupted rotation continues where it stopped, on this device or another', async (t) => {
  const { user, vault, a, b, sealed, device } = await openVault(t)
  await a.sync.importBookmarks(Array.from({ length: 1001 }, (_, index) => bookmark(`b${index}`, `bookmark ${index}`)))
  await sync(a, b)
  const keys = await vault.rotate()
  const before = await newestStamp(user)

  a.network.fate = pushesOnly(1, answerLost)
  await t.rejects(a.sync.adoptKeys(keys), { name: 'OfflineError' })
  t.same(await sealed(keys), [500, 501], 'the answer to the first batch was lost')
  b.network.fate = pushesOnly(2, down)
  await t.rejects(b.sync.adoptKeys(keys), { name: 'OfflineError' })
  t.same(await sealed(keys), [1000, 1], 'the other device did not repeat finished work')
  const again = device('a', { store: a.store })
  await again.sync.adoptKeys(keys)
  t.same(await sealed(keys), [1001, 0])
  t.equal((await newestStamp(user)) - before, 1001, 'each was written once')
  t.same(shown(again), shown(b))
})

t.test('if two devices re-encrypt at once, each bookmark is written once', async (t) => {
  const { user, vault, a, b, sealed } = await openVault(t)
  await send(a, [bookmark('x', 'ex'), bookmark('y', 'why')], b)
  const keys = await vault.rotate()
  const before = await newestStamp(user)
  await Promise.all([a.sync.adoptKeys(keys), b.sync.adoptKeys(keys)])
  t.same(await sealed(keys), [2, 0])
  t.equal((await newestStamp(user)) - before, 2)
  for (const one of [a, b, a, b]) await one.sync.syncNow()
  t.same([a.conflicts, b.conflicts], [[], []])
})

t.test('if keys are replaced again during re-encryption, each bookmark ends under the newest', async (t) => {
  const { vault, a, sealed } = await openVault(t)
  await a.sync.importBookmarks(numbered(501))
  await sync(a)
  const pushing = Promise.withResolvers<void>()
  const adopted = Promise.withResolvers<void>()
  let pushes = 0
  a.network.fate = async (call) => {
    if (call.name !== 'push') return up(call)
    pushing.resolve()
    await adopted.promise
    return ++pushes > 9 ? down(call) : up(call)
  }
  const once = a.sync.adoptKeys(await vault.rotate())
  await pushing.promise
  const keys = await vault.rotate()
  const twice = a.sync.adoptKeys(keys)
  await settled()
  adopted.resolve()
  await Promise.all([once, twice])
  t.same(await sealed(keys), [501, 0])
  t.equal(pushes, 3, 'a batch under the keys that were replaced meanwhile, and two under the newest')
})

t.test('a device with an old version of the app loses nothing, and what it overwrites is reported', async (t) => {
  const { vault, device } = await openVault(t)
  const [a, old] = [device('a'), device('old')]
  // The old version does not know keyrings with several keys, and skips what it cannot decrypt.
  old.network.getKeyring = async () => '{}'
  await send(a, [bookmark('x', 'ex'), bookmark('y', 'why')], old)
  await a.sync.adoptKeys(await vault.rotate())
  await update(a, 'y', { title: 'under the new key' })

  await sync(old)
  t.same(shown(old), { x: 'ex', y: 'why' })
  const faults = old.errors.map(({ id, error }) => `${id}: ${(error as RecordError).fault}`)
  t.same(faults, ['x: unknown-key', 'y: unknown-key'])
  await old.sync.update('x', { title: 'edited there' })
  await update(old, 'y', { title: 'unseen' }, a)
  t.same(shown(a), { x: 'edited there', y: 'unseen' })
  // The old app does not say whether it had seen the version that it overwrote. One conflict too many loses nothing.
  const x = { id: 'x', fields: ['title'], mine: { title: 'ex' } }
  t.match(a.conflicts, [x, { id: 'y', fields: ['title'], mine: { title: 'under the new key' } }])
})

t.test('once the keys are adopted, the status reports no progress', async (t) => {
  const { vault, a, b } = await openVault(t)
  const keys = await vault.rotate()
  await a.sync.adoptKeys(keys)
  await send(a, numbered(10))
  await b.sync.adoptKeys(keys)
  t.match(b.sync.status(), { state: 'offline', progress: undefined })
  t.same(Object.keys(shown(b)).length, 10)
})

t.test('a record under a key that is not in the keyring is skipped, and does not lock the device', async (t) => {
  const { vault, a, b, device } = await openVault(t)
  await vault.rotate()
  const stranger = device('c', { keys: deriveKeys(randomBytes(64)) })
  const keys = vault.keys
  for (const { sync } of [a, b]) await sync.adoptKeys(keys)
  await send(stranger, bookmark('x', 'forged'))
  await send(a, bookmark('y', 'why'), b)
  t.same(shown(b), { y: 'why' })
  t.match(b.errors, [{ id: 'x', error: { fault: 'unknown-key' } }])
})

t.test('keys that arrive during a pull decrypt the pulled changes', async (t) => {
  const { vault, a, b } = await openVault(t)
  await send(a, bookmark('x', 'ex'), b)
  const keys = await vault.rotate()
  await a.sync.adoptKeys(keys)
  await send(a, bookmark('y', 'why'))

  const asking = b.network.hold('getKeyring')
  const pulled = b.sync.syncNow()
  await asking.reached
  const adopting = b.sync.adoptKeys(keys)
  await settled()
  asking.release()
  await Promise.all([pulled, adopting])
  t.same(shown(b), { x: 'ex', y: 'why' })
  t.same(b.errors, [])
})

t.test('records that could not be decrypted are pulled again once their key is there', async (t) => {
  const { vault, a, b, device } = await openVault(t)
  await send(a, [bookmark('x', 'ex'), bookmark('z', 'zed')], b)
  const keys = await vault.rotate()
  await a.sync.adoptKeys(keys)
  await a.sync.update('x', { title: 'under the new key' })
  await send(a, bookmark('y', 'why'))
  // The service returns the earlier keyring.
  b.network.getKeyring = async () => '{}'
  await sync(b)
  const faults = b.errors.map(({ id, error }) => `${id}: ${(error as RecordError).fault}`)
  t.same(faults, ['z: unknown-key', 'x: unknown-key', 'y: unknown-key'])
  await b.sync.update('z', { description: 'made meanwhile' })
  await b.sync.stop()

  const again = device('b', { store: b.store, keys })
  await send(again, bookmark('own', 'made before the next pull'), a)
  t.same(shown(again), { own: 'made before the next pull', x: 'under the new key', y: 'why', z: 'zed' })
  t.same(shown(a), shown(again))
  t.match(a.sync.get('z'), { description: 'made meanwhile' })
  t.same([a.conflicts, again.conflicts, again.errors], [[], [], []])
  const pulls = again.network.count('pull')
  await sync(again)
  t.equal(again.network.count('pull') - pulls, 1, 'a sync pulls only once')
})

t.test('another tab with the old keys sends nothing encrypted with them', async (t) => {
  const { vault, device, user } = await openVault(t)
  const store = memoryStore()
  const [a, tab] = [device('a', { store }), device('a', { store })]
  await send(a, bookmark('x', 'ex'), tab)
  await a.sync.adoptKeys(await vault.rotate())
  await sync(a)
  await tab.sync.put(bookmark('y', 'under the old key'))
  await t.rejects(tab.sync.syncNow(), locked)
  t.equal((await pullAll(user)).changes.length, 1)
})

t.test('a device that had newer keys sends nothing under the keys of an older keyring on the service', async (t) => {
  const { vault, device, sealed } = await openVault(t)
  const replaced = { ...locked, message: 'These keys were replaced' }
  const store = memoryStore()
  const once = await vault.rotate()
  const [a, b] = [device('a'), device('b', { keys: once, store })]
  await a.sync.put(bookmark('x', 'ex'))
  for (const { sync } of [a, b]) await (sync === a.sync ? sync.adoptKeys(once) : sync.syncNow())
  const twice = await vault.rotate()
  await a.sync.adoptKeys(twice)

  await t.rejects(a.sync.adoptKeys(once), replaced)
  const first = once.older as Keys
  await t.rejects(b.sync.adoptKeys(first), replaced)
  // Earlier releases stored no `replaced`.
  const { meta } = await store.load()
  const { replaced: _, ...earlier } = meta as Meta
  await store.write([], earlier)
  const again = device('b', { keys: first, store })
  await again.sync.put(bookmark('y', 'made after the rotation'))
  await t.rejects(again.sync.syncNow(), replaced)
  t.same(await sealed(twice), [1, 0])

  await again.sync.adoptKeys(twice)
  await sync(a)
  t.same(await sealed(twice), [2, 0])
  t.same(shown(a), { x: 'ex', y: 'made after the rotation' })
})

t.test('keys that follow older ones than this device has are accepted, because the service lost some', async (t) => {
  const { vault, device, sealed } = await openVault(t)
  const lost = deriveKeys(Buffer.concat([randomBytes(32), vault.masterKey]))
  const store = memoryStore()
  const a = device('a', { keys: lost, store })
  await send(a, bookmark('x', 'ex'))
  const keys = await vault.rotate()
  const again = device('a', { keys, store })
  await send(again, bookmark('y', 'why'))
  t.same(await sealed(keys), [1, 1])
})

t.test('a tab with replaced keys that becomes the leader encrypts nothing with them', async (t) => {
  const { vault, device, sealed } = await openVault(t)
  const store = memoryStore()
  const once = await vault.rotate()
  const [a, tab] = [device('a', { store, keys: once }), device('a', { store, keys: once })]
  await send(a, bookmark('x', 'ex'), tab)
  const twice = await vault.rotate()
  await a.sync.adoptKeys(twice)
  await a.sync.stop()
  await tab.sync.start()
  await settled()
  t.match(tab.sync.status(), { reason: 'keys' })
  t.same(await sealed(twice), [1, 0])
})

/** The first pushes succeed. The one with this number, and all after it, meet the fate `last`. */
function pushesOnly(count: number, last: Fate): Fate {
  let pushes = 0
  return (call) => (call.name === 'push' && ++pushes >= count ? last(call) : up(call))
}

async function newestStamp(user: Person['user']): Promise<number> {
  return (await pullAll(user)).cursor
}
