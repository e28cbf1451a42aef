/** `openAccount` on the service: its lists, the end of sessions, and a device's data after the account's deletion. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { mostDeviceName, openAccount } from '../../src/client/account.ts'
import {
  createSync,
  createTabs,
  deriveKeys,
  indexedDbStore,
  keepMasterKey,
  loadMasterKey,
} from '../../src/client/index.ts'
import type { TestUser } from '../support/app.ts'
import { pick } from '../support/pick.ts'
import { sharedApp } from '../support/shared-app.ts'
import { type Connection, clientOver } from './connection.ts'
import { openSealed, subKeys } from './second-implementation.ts'
import { bookmark } from './sync/device.ts'
import { Browser } from './sync/tab-locks.ts'
import './sync/stores.ts'

const { user, db } = await sharedApp()
const masterKey = randomBytes(32)
const path = '/api/v1/account'

/** A browser in which the person is signed in. Each call of the returned function opens a tab. */
function browserOf(ann: TestUser, deviceId = 'laptop') {
  const locks = new Browser()
  const { userId } = ann
  return () => {
    const connection: Connection = { session: ann }
    const client = clientOver(connection, deviceId)
    const store = indexedDbStore(userId)
    const tabs = createTabs(userId, { locks: locks.tab().locks })
    const types = ['bookmark', 'group', 'history'] as const
    const sync = createSync({ client, keys: deriveKeys(masterKey), userId, deviceId, store, tabs, types })
    t.teardown(() => sync.stop())
    return Object.assign(connection, {
      sync,
      account: openAccount({ client, userId, sync, keys: deriveKeys(masterKey) }),
    })
  }
}

const options = (ann: TestUser) => ({ client: clientOver({ session: ann }, 'other'), userId: ann.userId })

const leftOf = async ({ userId }: TestUser) => ({
  databases: await databasesOf(userId),
  masterKey: await loadMasterKey(userId),
})

const databasesOf = async (userId: string) =>
  (await indexedDB.databases()).filter(({ name }) => name?.includes(userId)).length

t.test("The account's usage and limits are read from the service", async (t) => {
  const ann = await user('ann')
  const { sync, account } = browserOf(ann)()
  await sync.put(bookmark('x', 'x'))
  await sync.syncNow()
  const { body } = await ann.call('GET', path)
  const { user: person, usage, limits } = await account.account()
  t.same(person.userId, ann.userId)
  t.same([usage.records, usage.versionBytes, usage.devices], [1, 0, 1])
  t.same(Object.values(limits), Object.values(body.limits))
  t.equal(limits.requestsPerMinute, body.limits.requests_per_minute)
})

t.test('A lost phone can be signed out and removed from the list; all other sessions can be ended', async (t) => {
  const [ann, phone, tablet] = [await user('ben'), await user('ben'), await user('ben')]
  const [{ sync, account }, lost] = [browserOf(ann)(), browserOf(phone, 'phone')()]
  await sync.put(bookmark('x', 'x'))
  for (const device of [sync, lost.sync]) await device.syncNow()
  t.match(await account.devices(), [
    { id: 'laptop', current: true, pendingChanges: 0, lastSeen: Number },
    { id: 'phone', current: false },
  ])
  const sessions = (await account.sessions()).map(({ id, current, sockets }) => [id, current, sockets])
  const expected = [tablet, phone, ann].map(({ loginId }) => [loginId, loginId === ann.loginId, 0])
  t.same(sessions, expected)
  await account.endSession(phone.loginId)
  await account.forgetDevice('phone')
  await t.rejects(lost.sync.syncNow(), { name: 'SignedOutError' })
  t.same(pick(await account.devices(), 'id'), ['laptop'])
  await t.rejects(account.endSession(phone.loginId), { name: 'ApiError', status: 404 })
  await t.rejects(account.forgetDevice('phone'), { name: 'ApiError', status: 404 })

  await account.signOutOthers()
  t.match(await account.sessions(), [{ id: ann.loginId, current: true, createdAt: Number, lastUsedAt: Number }])
  t.equal((await tablet.call('GET', path)).status, 401)
})

t.test("A device's name is encrypted for that device, and only the vault's keys decrypt it", async (t) => {
  const ann = await user('nina')
  const [{ sync, account }, phone] = [browserOf(ann)(), browserOf(ann, 'phone')()]
  for (const device of [sync, phone.sync]) await device.syncNow()
  const name = '💻'.repeat(50)
  await account.renameDevice('laptop', name)
  await account.renameDevice('phone', 'Ännchens Telefon')
  t.same(pick(await phone.account.devices(), 'name'), [name, 'Ännchens Telefon'])
  const stranger = openAccount({ ...options(ann), sync, keys: deriveKeys(randomBytes(32)) })
  t.same(pick(await stranger.devices(), 'name'), [undefined, undefined])
  const locked = openAccount({ ...options(ann), sync })
  t.same(pick(await locked.devices(), 'name'), [undefined, undefined])
  await t.rejects(locked.renameDevice('phone', 'x'), TypeError)
  await t.rejects(account.renameDevice('phone', 'x'.repeat(mostDeviceName + 1)), RangeError)
  await t.rejects(account.renameDevice('tablet', 'x'), { name: 'ApiError', status: 404 })

  const [laptop] = (await ann.call('GET', `${path}/devices`)).body.devices
  t.equal(laptop.encrypted_name.length, 440, 'the name is padded to 256 bytes')
  const text = openSealed(subKeys(masterKey), 'device', 'laptop', laptop.encrypted_name)
  t.same(JSON.parse(text), { name }, 'another implementation opens the name')
  const body = { encrypted_name: laptop.encrypted_name }
  await ann.call('PUT', `${path}/devices/phone`, { body })
  t.same(pick(await account.devices(), 'name'), [name, undefined], 'the name does not open for another device')
  await account.renameDevice('laptop', '')
  t.same(pick(await account.devices(), 'name'), [undefined, undefined])
})

t.test('A deleted account is gone from service and browser before another tab learns of the sign-out', async (t) => {
  const ann = await user('cleo')
  const open = browserOf(ann)
  const [here, there] = [open(), open()]
  await keepMasterKey(ann.userId, masterKey)
  await here.sync.put(bookmark('x', 'x'))
  await here.sync.groups.put({ id: 'x', title: 'x', source: 'groups' })
  await here.sync.history.put({ id: 'x', title: 'x', source: 'history', url: 'https://example.org/' })
  await here.sync.syncNow()
  await there.sync.syncNow()
  await here.sync.put(bookmark('y', 'not sent yet'))
  const channel = new BroadcastChannel(`ebs-${ann.userId}`)
  t.teardown(() => channel.close())
  const heard = new Promise<void>((resolve) => {
    channel.onmessage = ({ data }) => data.state === 'signed-out' && setImmediate(resolve)
  })
  // Before this tab gets the response, the other tab learns that the session has ended, and tells this tab.
  here.session = {
    ...ann,
    async call(method, path, request) {
      const answered = await ann.call(method, path, request)
      if (method === 'DELETE') {
        await t.rejects(there.sync.syncNow(), { name: 'SignedOutError' })
        await heard
      }
      return answered
    },
  }
  const leftWhenTold: Promise<unknown>[] = []
  here.sync.on('status', ({ state }) => state === 'signed-out' && leftWhenTold.push(leftOf(ann)))

  await here.account.deleteAccount()
  t.same(await Promise.all(leftWhenTold), [{ databases: 0, masterKey: undefined }])
  const left = [here, there].flatMap(({ sync }) => [sync.bookmarks(), sync.groups.records(), sync.history.records()])
  t.same([...left.map(({ size }) => size), there.sync.status().state], [0, 0, 0, 0, 0, 0, 'signed-out'])
  t.equal((await ann.call('GET', path)).status, 401)
})

t.test('If the account cannot be deleted, no data are deleted, and the error has the reason', async (t) => {
  const ann = await user('dora')
  const open = browserOf(ann)
  const first = open()
  await first.sync.put(bookmark('x', 'x'))
  await first.sync.syncNow()
  await first.sync.put(bookmark('y', 'not sent yet'))
  const outcome = async (session: TestUser | null) => {
    const tab = Object.assign(open(), { session })
    await tab.sync.start()
    const error = await tab.account.deleteAccount().catch(({ name }) => name)
    return [error, tab.sync.bookmarks().size, await databasesOf(ann.userId)]
  }

  await first.sync.stop()
  const tooOld = Date.now() - 11 * 60_000
  await db.updateTable('logins').set({ created_at: tooOld }).where('id', '=', ann.loginId).execute()
  t.same(await outcome(ann), ['SignInAgainError', 2, 1])
  t.same(await outcome(null), ['OfflineError', 2, 1])
  t.same(await outcome(await user('another')), ['SignedOutError', 2, 1], 'another user is signed in')
  t.equal((await ann.call('GET', path)).body.usage.records, 1)

  const again = await user('dora')
  const call: TestUser['call'] = async (method, path, request) => {
    const answered = await again.call(method, path, request)
    if (method === 'DELETE') throw new TypeError('The answer was lost')
    return answered
  }
  t.same(await outcome({ ...again, call }), ['OfflineError', 2, 1])
  t.same(await outcome(ann), ['SignedOutError', 2, 1], 'the service has deleted the account')
  const last = open()
  await last.sync.signOut({ discardUnsent: true })
  t.same([last.sync.bookmarks().size, await databasesOf(ann.userId)], [0, 0])
})

t.test('If the browser cannot delete the key of a deleted account, the call rejects with that error', async (t) => {
  const broken = new DOMException('The disk is broken', 'UnknownError')
  const { open } = indexedDB
  for (const isAnswered of [true, false]) {
    const ann = await user('eve')
    const tab = browserOf(ann)()
    await tab.sync.start()
    const call: TestUser['call'] = async (method, path, request) => {
      if (path.endsWith('logout') && !isAnswered) throw new TypeError('There is no network')
      return ann.call(method, path, request)
    }
    tab.session = { ...ann, call }
    indexedDB.open = (name, version) => {
      if (name.endsWith('-keys')) throw broken
      return open.call(indexedDB, name, version)
    }
    await t.rejects(tab.account.deleteAccount(), broken)
    indexedDB.open = open
    t.equal((await ann.call('GET', path)).status, 401)
  }
})
