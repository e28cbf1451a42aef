import t from 'tap'
import { done } from '../../src/service/operations/operation.ts'
import { buildApp } from '../support/app.ts'
import { snapshot } from '../support/database.ts'
import { keyringOf } from '../support/keyrings.ts'
import { sharedApp, sharedUser } from '../support/shared-app.ts'

const keyPath = '/api/v1/account/export-key'
const keyringPath = '/api/v1/account/keyring'
const someKey = Buffer.alloc(32, 7).toString('base64')

t.test('the export key is made at the first login, has 32 bytes, and stays the same', async (t) => {
  const app = await sharedApp()
  const ada = await app.user('ada')
  const { status, headers, body } = await ada.call('GET', keyPath)
  t.equal(status, 200)
  t.equal(headers['cache-control'], 'private, no-store')
  t.equal(Buffer.from(body.key, 'base64').length, 32)
  t.strictSame((await (await app.user('ada')).call('GET', keyPath)).body, body)
  t.notSame((await (await app.user('bob')).call('GET', keyPath)).body, body)
})

t.test('PUT replaces the export key, for that user only', async (t) => {
  const [ada, bob] = [await sharedUser(), await sharedUser()]
  const before = (await bob.call('GET', keyPath)).body
  const { status, body } = await ada.call('PUT', keyPath, { body: { key: someKey } })
  t.equal(status, 200)
  t.strictSame(body, done)
  t.strictSame((await ada.call('GET', keyPath)).body, { key: someKey })
  t.strictSame((await bob.call('GET', keyPath)).body, before)
})

t.test('the key of an export that is unknown or another user’s is not found', async (t) => {
  const [ada, bob] = [await sharedUser(), await sharedUser()]
  const { id } = (await ada.call('POST', '/api/v1/exports')).body
  t.strictSame((await ada.call('GET', `${keyPath}?export=${id}`)).body, (await ada.call('GET', keyPath)).body)
  for (const [user, each] of [
    [bob, id],
    [ada, 'x'],
    [ada, '0199f6a0-1c00-7000-8000-000000000001'],
  ] as const) {
    const { status, body } = await user.call('GET', `${keyPath}?export=${each}`)
    t.equal(status, 404)
    t.strictSame(body, { error: 'Export not found' })
  }
})

t.test('export keys are encrypted in the database', async (t) => {
  const app = await buildApp(t)
  const ada = await app.user('ada')
  await ada.call('PUT', keyPath, { body: { key: someKey } })
  await ada.call('POST', '/api/v1/exports')
  const stored = await snapshot(app.context)
  t.ok(stored.includes(ada.userId), 'the data have the user')
  t.notOk(stored.includes(someKey))
  t.notOk(stored.includes(Buffer.from(someKey, 'base64').toString('base64url')))
  t.notMatch(app.log.join(''), someKey)
})

t.test('a keyring is stored unchanged, with the stored revision plus 1', async (t) => {
  const [ada, bob] = [await sharedUser(), await sharedUser()]
  const first = { keyring: ` ${keyringOf('~')} `, revision: 1 }
  const second = { keyring: keyringOf('x'.repeat(16_384 - keyringOf('').length)), revision: 2 }
  for (const keyring of [first, second]) {
    const { status, body } = await ada.call('PUT', keyringPath, { body: keyring })
    t.equal(status, 200)
    t.strictSame(body, keyring)
    const stored = await ada.call('GET', keyringPath)
    t.equal(stored.headers['cache-control'], 'private, no-store')
    t.strictSame(stored.body, keyring)
  }
  t.equal((await bob.call('GET', keyringPath)).status, 404, 'another user has none')
})

t.test('a revision other than the stored one plus 1 changes nothing', async (t) => {
  const ada = await sharedUser()
  const put = (keyring: string, revision: number) =>
    ada.call('PUT', keyringPath, { body: { keyring: keyringOf(keyring), revision } })
  t.equal((await put('a', 2)).status, 409, 'the first revision is 1')
  t.equal((await ada.call('GET', keyringPath)).status, 404)
  await put('a', 1)
  await put('b', 2)
  for (const revision of [1, 2, 4, Number.MAX_SAFE_INTEGER]) {
    const { status, body } = await put('c', revision)
    t.equal(status, 409, `${revision}`)
    t.strictSame(body, { error: 'Keyring was changed' })
  }
  t.strictSame((await ada.call('GET', keyringPath)).body, { keyring: keyringOf('b'), revision: 2 })
})

t.test('if two devices store a keyring at once, one wins and the other gets an error', async (t) => {
  const ada = await sharedUser()
  for (const revision of [1, 2, 3]) {
    const devices = ['phone', 'laptop', 'desktop']
    const answers = await Promise.all(
      devices.map((name) => ada.call('PUT', keyringPath, { body: { keyring: keyringOf(name), revision } })),
    )
    t.strictSame(answers.map(({ status }) => status).sort(), [200, 409, 409])
    const winner = answers.find(({ status }) => status === 200)
    t.strictSame((await ada.call('GET', keyringPath)).body, winner?.body)
  }
})
