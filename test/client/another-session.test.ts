import t from 'tap'
import {
  createClient,
  createSync,
  createVault,
  deriveKeys,
  encryptBookmark,
  memoryStore,
  replaceRecoveryCode,
  SignedOutError,
  type Vault,
} from '../../src/client/index.ts'
import { furnish } from '../hostile/requests.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, push } from '../support/changes.ts'
import { snapshot } from '../support/database.ts'
import { holdIntervals } from '../support/intervals.ts'
import { type Ann, type Row, rows } from './session/rows.ts'
import { bookmark } from './sync/device.ts'

// Bob signs in in Ann's browser while her page is open: before she starts an action, or between two calls of the action.

// Without intervals, the service does not erase Bob's pairing, which expires if the test takes long.
holdIntervals(t)
const app = await buildApp(t)
const origin = await app.listen()
const bob = await app.user('bob')
await furnish(bob, 'bob')
/** A function with more calls only polls by then, so Bob need not sign in any later. */
const mostCalls = 24

interface Browser {
  session: TestUser
  /** How many calls the browser has sent. */
  calls: number
  /** From this call on, the browser has Bob's cookies. */
  swapAt: number
}

function clientIn(browser: Browser) {
  return createClient({
    baseUrl: origin,
    deviceId: 'laptop',
    fetch: async (request) => {
      if (browser.calls++ >= browser.swapAt) browser.session = bob
      const { session, refresh } = browser.session
      const sent = new Request(request)
      sent.headers.set('cookie', `service_session=${session}; service_refresh=${refresh}`)
      return fetch(sent)
    },
  })
}

/** The vaults by Ann's user id, which changes when her account is deleted. */
const vaults = new Map<string, { vault: Vault; recoveryCode: string; keyrings: string[]; exportKey: string }>()

/** Ann with a new session, and with the same data each time. */
async function openAnn(): Promise<{ ann: Ann; browser: Browser }> {
  const user = await app.user('ann')
  const { userId } = user
  const browser = { session: user, calls: 0, swapAt: Number.POSITIVE_INFINITY }
  const client = clientIn(browser)
  const known = vaults.get(userId) ?? (await makeVault(user))
  vaults.set(userId, known)
  const { vault, recoveryCode, keyrings } = known
  for (const keyring of keyrings) {
    const { revision } = (await user.call('GET', '/api/v1/account/keyring')).body
    await user.call('PUT', '/api/v1/account/keyring', { body: { keyring, revision: revision + 1 } })
  }
  await user.call('PUT', '/api/v1/account/export-key', { body: { key: known.exportKey } })
  const [earlier] = (await user.call('GET', '/api/v1/account/keyring/versions')).body.versions
  const timestamp = Date.now()
  const sealed = (id: string) => ({ ...encryptBookmark(vault.keys, bookmark(id, 'stored')), entity_id: id, timestamp })
  await push(user, change(sealed('one')), change(sealed('gone')))
  await push(user, change({ entity_id: 'gone', operation: 'delete', timestamp: timestamp + 1, device_id: 'phone' }))
  const openSync: Ann['openSync'] = async (create = createSync) => {
    const keys = deriveKeys(vault.masterKey)
    const options = { client, userId, keys, deviceId: 'laptop', store: memoryStore(), webSocket: closedSocket }
    const sync = create(options)
    await sync.put(bookmark('new', 'not sent'))
    return sync
  }
  browser.calls = 0
  return { ann: { client, userId, vault, recoveryCode, earlier: earlier.id, openSync }, browser }
}

async function makeVault(user: TestUser) {
  const client = clientIn({ session: user, calls: 0, swapAt: Number.POSITIVE_INFINITY })
  const draft = await createVault(client, { userId: user.userId, passphrase: 'correct horse of Ann' })
  const vault = await draft.confirm()
  const stored = async () => (await user.call('GET', '/api/v1/account/keyring')).body.keyring
  const first = await stored()
  const { recoveryCode, confirm } = await replaceRecoveryCode(client, {
    userId: user.userId,
    recoveryCode: draft.recoveryCode,
  })
  await confirm()
  const { key: exportKey } = (await user.call('GET', '/api/v1/account/export-key')).body
  return { vault, recoveryCode, keyrings: [first, await stored()], exportKey }
}

/** A new user without a vault. */
async function openNewcomer(): Promise<{ ann: Ann; browser: Browser }> {
  newcomers++
  const user = await app.user(`newcomer ${newcomers}`)
  const browser = { session: user, calls: 0, swapAt: Number.POSITIVE_INFINITY }
  return { ann: { client: clientIn(browser), userId: user.userId } as Ann, browser }
}
let newcomers = 0

/** A socket that closes at once, without having opened. */
function closedSocket() {
  const socket = new EventTarget()
  queueMicrotask(() => socket.dispatchEvent(new Event('close')))
  return Object.assign(socket, { close: () => {}, send: () => {} })
}

/** The rows with a user's id, of all tables. */
async function rowsOf({ userId }: Pick<TestUser, 'userId'>): Promise<string> {
  const tables: [string, Record<string, unknown>[]][] = JSON.parse(await snapshot(app.context))
  return JSON.stringify(tables.map(([, rows]) => rows.filter((row) => row.user_id === userId || row.id === userId)))
}

const before = await rowsOf(bob)
t.match(before, /keyring-of-bob|ciphertext-of-bob/, 'Bob has data that could be lost')
const tried = new Set<Row>()
for (const [name, calls] of Object.entries(rows)) {
  for (const [method, row] of Object.entries(calls)) {
    // The methods of a pairing share one row, which makes the calls of all.
    if (tried.has(row)) continue
    tried.add(row)
    const title = method === '' ? name : `${name}, ${method}`
    t.test(`${title}: whenever Bob signs in, Ann gets an error, and his account stays unchanged`, async (t) => {
      const open = name === 'createVault' ? openNewcomer : openAnn
      // Signing out succeeds: the page then has no user, and Bob stays signed in.
      const isRejected = title !== 'createSync, signOut'
      for (let swapAt = 0; swapAt < mostCalls; swapAt++) {
        const { ann, browser } = await open()
        Object.assign(browser, { swapAt })
        const own = swapAt === 0 && (await rowsOf(ann))
        const error = await row(ann).then(
          () => undefined,
          (error: unknown) => error,
        )
        if (error !== undefined) t.match(error, { name: 'SignedOutError', isOtherUser: true }, `swapped at ${swapAt}`)
        t.equal(await rowsOf(bob), before, `not a byte of Bob's has changed, swapped at ${swapAt}`)
        if (own) {
          t.equal(error instanceof SignedOutError, isRejected)
          t.equal(await rowsOf(ann), own, 'nor has a byte of hers')
        }
        if (browser.session !== bob) {
          t.equal(error, undefined, `the function succeeds with ${swapAt} calls`)
          return
        }
      }
    })
  }
}
