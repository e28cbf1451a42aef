/** A device is lost, while another one is at hand: over HTTP and the platform's WebSocket. */
import t from 'tap'
import { openAccount } from '../../../src/client/account.ts'
import { deriveKeys } from '../../../src/client/crypto/keys.ts'
import { decryptBookmark } from '../../../src/client/crypto/record.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import { createVault, rotateKeys } from '../../../src/client/vault/vault.ts'
import { pullAll } from '../../support/changes.ts'
import { sharedApp } from '../../support/shared-app.ts'
import { bookmark } from './device.ts'
import { clientOf, open } from './real-device.ts'
import { until } from './turns.ts'

t.test('a lost laptop: signed out, cut off, and a copy of its disk opens nothing written afterwards', async (t) => {
  const { listen, user } = await sharedApp()
  const [laptopUser, phoneUser] = [await user('carol'), await user('carol')]
  const { userId } = phoneUser
  const baseUrl = await listen()
  const phoneClient = clientOf({ baseUrl, user: phoneUser, id: 'phone' }).client
  const created = await createVault(phoneClient, { userId, passphrase: 'correct horse' })
  const vault = await created.confirm()
  const laptopStore = memoryStore()
  const laptop = open(t, {
    baseUrl,
    user: laptopUser,
    keys: deriveKeys(vault.masterKey),
    id: 'laptop',
    store: laptopStore,
  })
  const phone = open(t, { baseUrl, user: phoneUser, keys: vault.keys, id: 'phone' })
  await laptop.put([bookmark('x', 'before'), bookmark('y', 'too')])
  await Promise.all([laptop.start(), phone.start()])
  await until(() => laptop.status().state === 'online' && phone.bookmarks().size === 2)

  const account = openAccount({ client: phoneClient, userId, sync: phone })
  const [lost] = (await account.sessions()).filter(({ current }) => !current)
  await account.endSession(lost?.id ?? '')
  // Its socket is closed: nothing else could tell it.
  await until(() => laptop.status().state === 'signed-out')
  await laptop.put(bookmark('x', 'by the thief'))
  await t.rejects(laptop.syncNow(), { name: 'SignedOutError' })
  const { status } = await laptopUser.call('POST', '/api/v1/sync/push', { body: { changes: [] } })
  t.equal(status, 401)

  const draft = await rotateKeys(phoneClient, { userId, recoveryCode: created.recoveryCode }, 'correct horse')
  const { keys } = await draft.confirm()
  await phone.adoptKeys(keys)
  await phone.put([bookmark('x', 'after'), bookmark('z', 'new')])
  await until(() => phone.status().waiting === 0)

  const disk = { rows: (await laptopStore.load()).rows, keys: deriveKeys(vault.masterKey) }
  t.equal(disk.rows.length, 2)
  const { changes } = await pullAll(phoneUser)
  t.equal(changes.length, 3)
  const first = Buffer.of(1)
  for (const { entity_id: id, encrypted_data = '', data_hash = '' } of changes) {
    t.ok(decryptBookmark(keys, { id, encrypted_data, data_hash }))
    const without = Buffer.from(encrypted_data, 'base64').subarray(keys.prefix.length)
    const renamed = Buffer.concat([first, without]).toString('base64')
    for (const data of [encrypted_data, renamed]) {
      t.throws(() => decryptBookmark(disk.keys, { id, encrypted_data: data, data_hash }), { name: 'RecordError' })
    }
  }
  // Who knows a bookmark's whole content could else look for its hash.
  const hashes = disk.rows.map(({ version }) => version?.data_hash)
  t.same(
    changes.filter(({ data_hash }) => hashes.includes(data_hash)),
    [],
  )
})
