import { randomBytes } from 'node:crypto'
import { getEventListeners } from 'node:events'
import t, { type Test } from 'tap'
import { deriveKeys, type Keys } from '../../../src/client/crypto/keys.ts'
import { decryptBookmark } from '../../../src/client/crypto/record.ts'
import { OfflineError, UnsentChangesError } from '../../../src/client/errors.ts'
import type { Change } from '../../../src/client/sync/exchange/transport.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import { bookmark, openPeople, type Person } from './device.ts'
import { down } from './network.ts'
import { disks } from './stores.ts'

const people = await openPeople()
const many = Array.from({ length: 3_000 }, (_, index) => bookmark(`b${index}`, `bookmark ${index}`))

for (const [where, makeDisk] of Object.entries(disks)) {
  t.test(`signing out during an import, with a store ${where}`, async (t) => {
    const person = await people.person(t)
    const disk = makeDisk()
    const store = disk(person.user.userId)
    const { sync, network } = person.device('a', { store })
    await sync.start()
    const begun = Promise.withResolvers<void>()
    const importing = sync.importBookmarks(many, { onProgress: (done) => done === 500 && begun.resolve() })
    await begun.promise
    const signedOut = sync.signOut({ discardUnsent: true })
    await t.rejects(importing, { name: 'AbortError' }, 'the import was cancelled')
    await signedOut

    t.same(unreadable(person, network.sent), [], 'no record was encrypted with another key')
    const again = disk(person.user.userId)
    t.teardown(() => again.close())
    t.same(await again.load(), { meta: undefined, rows: [] }, 'nothing is left on the device')
  })
}

t.test('an edit in progress at a sign-out counts as unsent, and the sign-out changes nothing', async (t) => {
  const person = await people.person(t)
  const { sync, network } = person.device('a')
  await sync.put(bookmark('x', 'one'))
  await sync.syncNow()
  const editing = sync.put(bookmark('x', 'two'))
  await t.rejects(sync.signOut(), new UnsentChangesError(1))
  await editing
  t.equal(sync.get('x')?.title, 'two')
  await sync.syncNow()
  t.same(await person.stored(), { x: 'two' })
  t.notOk(network.calls.includes('logout'))
  await sync.signOut()
  t.ok(network.calls.includes('logout'))
})

t.test('unsent deletes alone stop a sign-out, too', async (t) => {
  const person = await people.person(t)
  const { sync } = person.device('a')
  await sync.put([bookmark('x', 'one'), bookmark('y', 'two')])
  await sync.syncNow()
  await sync.remove(['x', 'y'])
  await t.rejects(sync.signOut(), new UnsentChangesError(2))
  await sync.syncNow()
  t.same(await person.stored(), {})
  await sync.signOut()
})

t.test('a sign-out waits for a running import, which counts as unsent, and refuses edits meanwhile', async (t) => {
  const person = await people.person(t)
  const { sync } = person.device('a')
  const begun = Promise.withResolvers<void>()
  const importing = sync.importBookmarks(many, { onProgress: (done) => done === 500 && begun.resolve() })
  await begun.promise
  const refused = t.rejects(sync.signOut(), new UnsentChangesError(many.length))
  await Promise.resolve()
  await t.rejects(sync.put(bookmark('x', 'made then')), { name: 'AbortError' })
  await importing
  await refused
  await sync.put(bookmark('x', 'made then'))
  t.equal(sync.bookmarks().size, many.length + 1)
})

t.test('an edit made at any moment of a sign-out either survives or is rejected', async (t) => {
  const outcomes = new Set<string>()
  for (let delay = -6; delay < 12; delay += 1) {
    const person = await people.person(t)
    const { sync } = person.device('a')
    await sync.start()
    const signOut = () =>
      sync.signOut().then(
        () => 'signed out',
        () => 'refused',
      )
    const edit = () =>
      sync.put(bookmark('x', 'one')).then(
        () => 'kept',
        () => 'rejected',
      )
    const [first, second] = delay < 0 ? [edit, signOut] : [signOut, edit]
    const begun = first()
    for (let turn = 0; turn < Math.abs(delay); turn += 1) await Promise.resolve()
    const [editing, signingOut] = delay < 0 ? [begun, second()] : [second(), begun]
    const outcome = `${await editing}, ${await signingOut}`
    outcomes.add(outcome)
    if (outcome.startsWith('kept')) t.equal(sync.get('x')?.title, 'one')
  }
  t.same([...outcomes].sort(), ['kept, refused', 'rejected, signed out'])
})

t.test('if the browser refuses access to its storage, a sign-out still ends the session', async (t) => {
  const refused = new DOMException('The browser refuses its storage', 'SecurityError')
  const broken = new DOMException('The disk is broken', 'UnknownError')
  for (const error of [refused, broken]) {
    const person = await people.person(t)
    const { sync, network, keys } = person.device('a')
    await sync.start()
    const storage = breakStorage(t, error)
    const signedOut = sync.signOut()
    await (error === refused ? signedOut : t.rejects(signedOut, error))
    storage.restore()
    t.ok(network.calls.includes('logout'))
    t.same(keys.recordKey, new Uint8Array(32))
    t.equal(sync.status().state, 'signed-out')
  }
})

t.test('if a sign-out can neither delete the key nor end the session, it reports both', async (t) => {
  const person = await people.person(t)
  const { sync, network } = person.device('a')
  await sync.start()
  const broken = new DOMException('The disk is broken', 'UnknownError')
  breakStorage(t, broken)
  network.fate = down
  const error = await sync.signOut().catch((error) => error)
  t.type(error, AggregateError)
  t.match(error.errors, [broken, OfflineError])
  t.equal(sync.status().state, 'signed-out')
})

t.test('a sign-out that was aborted before it began deletes nothing', async (t) => {
  const person = await people.person(t)
  const { sync, network, keys } = person.device('a')
  await sync.put(bookmark('x', 'one'))
  await sync.syncNow()
  const reason = new Error('The user has changed their mind')
  for (const discardUnsent of [false, true]) {
    await t.rejects(sync.signOut({ discardUnsent, signal: AbortSignal.abort(reason) }), reason)
  }
  await sync.put(bookmark('y', 'two'))
  t.same([sync.bookmarks().size, network.calls.includes('logout')], [2, false])
  t.notSame(keys.recordKey, new Uint8Array(32))
})

t.test('a sign-out whose `first` fails leaves a sync that works', async (t) => {
  const person = await people.person(t)
  const { sync } = person.device('a')
  await sync.put(bookmark('x', 'one'))
  await sync.syncNow()
  const reason = new Error('The extension is still busy')
  await t.rejects(sync.signOut({ first: () => Promise.reject(reason) }), reason)
  await sync.put(bookmark('y', 'two'))
  await sync.syncNow()
  t.equal(sync.bookmarks().size, 2)
})

t.test('unsent edits of any tab reject a sign-out before its `first` runs', async (t) => {
  const person = await people.person(t)
  const store = memoryStore()
  const [{ sync }, other] = [person.device('a', { store }), person.device('a', { store })]
  await sync.syncNow()
  await other.sync.put(bookmark('x', 'one'))
  const calls: string[] = []
  const first = async () => void calls.push('first')
  await t.rejects(sync.signOut({ first }), new UnsentChangesError(1))
  t.same(calls, [])
  await sync.syncNow()
  await sync.signOut({ first })
  t.same(calls, ['first'])
})

t.test('a stopped sync no longer listens to its abort signal', async (t) => {
  const person = await people.person(t)
  const { signal } = new AbortController()
  for (const end of ['stop', 'signOut'] as const) {
    const { sync } = person.device('a', { signal })
    t.equal(getEventListeners(signal, 'abort').length, 1)
    await sync[end]()
    t.same(getEventListeners(signal, 'abort'), [], end)
  }
})

t.test('signing out erases the keys from before a rotation, too', async (t) => {
  const person = await people.person(t)
  const { sync, keys } = person.device('a', { keys: deriveKeys(randomBytes(64)) })
  await sync.signOut()
  const { older } = keys
  for (const all of [keys, older]) {
    const { recordKey, hashKey, exportKey, keyringKey, idKey } = all as Keys
    t.same([recordKey, hashKey, exportKey, keyringKey, idKey], Array(5).fill(new Uint8Array(32)))
  }
})

function unreadable({ keys }: Person, changes: Change[]): string[] {
  return changes.flatMap(({ entity_id: id, encrypted_data = '', data_hash = '' }) => {
    try {
      decryptBookmark(keys, { id, encrypted_data, data_hash })
      return []
    } catch {
      return [id]
    }
  })
}

/** Makes the browser's storage fail until `restore` or the end of the test. */
function breakStorage(t: Test, error: Error): { restore(): void } {
  const value = {
    open() {
      throw error
    },
  }
  return t.intercept(globalThis, 'indexedDB', { value, configurable: true })
}
