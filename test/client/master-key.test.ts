import 'fake-indexeddb/auto'
import { openDB } from 'idb'
import t from 'tap'
import { forgetMasterKey, keepMasterKey, loadMasterKey } from '../../src/client/vault/master-key.ts'

const masterKey = new Uint8Array(32).map((_, index) => index)

t.test('a master key is kept for its person, until it is forgotten', async (t) => {
  t.equal(await loadMasterKey('ada'), undefined)
  await keepMasterKey('ada', masterKey)
  t.same(await loadMasterKey('ada'), masterKey)
  t.equal(await loadMasterKey('bob'), undefined)
  await forgetMasterKey('ada')
  t.equal(await loadMasterKey('ada'), undefined)
})

t.test('what lies in the browser holds the key only under one that cannot be exported', async (t) => {
  await keepMasterKey('ada', masterKey)
  const { wrappingKey, wrapped, ...rest } = await kept('ada')
  t.equal(wrappingKey.extractable, false)
  await t.rejects(crypto.subtle.exportKey('raw', wrappingKey), { name: 'InvalidAccessError' })
  t.strictSame(Object.keys(rest), ['iv'])
  t.equal(wrapped.byteLength, 32 + 16)
  t.notOk(Buffer.from(wrapped).includes(Buffer.from(masterKey.slice(0, 8))))
})

t.test("another person's kept key does not open, nor an altered one", async (t) => {
  await keepMasterKey('ada', masterKey)
  await keep('bob', await kept('ada'))
  t.equal(await loadMasterKey('bob'), undefined)
  const altered = await kept('ada')
  new DataView(altered.wrapped).setUint8(0, new DataView(altered.wrapped).getUint8(0) ^ 1)
  await keep('ada', altered)
  t.equal(await loadMasterKey('ada'), undefined)
})

const database = () => openDB('encrypted-bookmark-sync-keys', 1)

async function kept(userId: string) {
  const open = await database()
  const value = await open.get('master-keys', userId)
  open.close()
  return value as { wrappingKey: CryptoKey; wrapped: ArrayBuffer; iv: Uint8Array }
}

async function keep(userId: string, value: unknown): Promise<void> {
  const open = await database()
  await open.put('master-keys', value, userId)
  open.close()
}
