import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { components as messages } from '../../generated/asyncapi.ts'
import { Keyring } from '../../generated/keyring-limits.ts'
import { DeviceName, EncryptedData, PairingMessage, PushRequest, quotas } from '../../generated/limits.ts'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import type { OperationId, Schemas } from '../../src/service/contract/schemas.ts'
import { type FilledAccount, sequenceOf, tokenOf } from './accounts.ts'

/** The parts of a call that neither its operation (method, path) nor its account (cookie) determines. */
export interface HostileCall {
  /** Replaces `{id}` in the path. */
  id?: string
  query?: string
  headers?: Record<string, string>
  body?: object
  /** True if the service always refuses the call, as test/hostile/every-call.test.ts checks. */
  isRefused?: true
}

export interface HostileCaller {
  account: FilledAccount
  /** Sends a call that prepares the hostile one. Resolves to the parsed body of the response. */
  call(operation: OperationId, call?: HostileCall): Promise<unknown>
}

/** Returns the call with this number: simultaneous calls are numbered from 0. */
type Prepare = (caller: HostileCaller, number: number) => HostileCall | Promise<HostileCall>

/** The most expensive calls of each operation, by name. The type requires every operation of the contract. */
export const callsOf: Record<OperationId, Record<string, Prepare>> = {
  getHealth: { plain: () => ({}) },
  startLogin: {
    plain: () => ({ body: { returnTo: '/' } }),
    encoded: () => ({ body: { returnTo: `/%${'25'.repeat(1_000)}` }, isRefused: true }),
  },
  completeLogin: {
    unknown: () => ({ query: `?code=${'c'.repeat(1_000)}&state=${'s'.repeat(1_000)}` }),
  },
  logout: { plain: ({ account }, n) => ({ headers: cookies('session', tokenOf(account, 'session', n)) }) },
  getSession: {
    many: ({ account }, n) => ({
      headers: cookies(
        'session',
        ...[1, 2, 3, 4, 5, 6, 7, 8].map((no) => tokenOf(account, 'session', -no - n)),
        account.session,
      ),
    }),
  },
  refreshSession: { plain: ({ account }, n) => ({ headers: cookies('refresh', tokenOf(account, 'refresh', n)) }) },
  listBookmarks: {
    thousand: () => ({ query: '?limit=1000' }),
    'last-page': ({ account }, n) => ({ query: `?page=${account.records - n}&limit=1` }),
    'last-thousand': ({ account }) => ({ query: `?page=${Math.floor(account.records / 1_000)}&limit=1000` }),
  },
  createBookmark: {
    small: () => ({ body: content }),
    large: () => ({ body: { ...content, encrypted_data: 'r'.repeat(EncryptedData.maxLength) } }),
  },
  getBookmark: { plain: (_, n) => ({ id: `b${n}` }) },
  updateBookmark: { plain: (_, n) => ({ id: `b${n}`, body: content }) },
  deleteBookmark: { plain: (_, n) => ({ id: `b${n}` }) },
  listVersions: { all: (_, n) => ({ id: `b${n}`, query: '?limit=1000' }) },
  restoreBookmark: {
    version: (_, n) => ({ id: `b${n}`, body: { version_id: `e1-${n}` } }),
    trash: (_, n) => ({ id: `t${n}` }),
  },
  listTrash: { thousand: () => ({ query: '?limit=1000' }) },
  purgeBookmark: { plain: (_, n) => ({ id: `t${n}` }) },
  getSyncStatus: {
    'new-device': () => ({ headers: { 'x-device-id': 'new' } }),
    'all-devices': () => ({}),
  },
  pullChanges: {
    all: () => ({ body: { since: 0, limit: 10_000 } }),
    'new-device': (_, n) => ({ headers: { 'x-device-id': `new-${n}` }, body: { since: 0, limit: 1 } }),
    settling: () => ({ headers: { 'x-device-id': 'tablet' }, body: { since: 0, limit: 10_000 } }),
  },
  pushChanges: {
    losing: ({ account }, call) => push(account, call, (n) => ({ timestamp: 1, entity_id: `b${n}` })),
    'losing-of-devices': ({ account }, call) =>
      push(account, call, (n) => ({ timestamp: 1, entity_id: `b${n}`, device_id: newDevice(account, n) })),
    'losing-of-one': ({ account }, call) => push(account, call, (n) => ({ timestamp: n + 1, entity_id: `b${call}` })),
    winning: ({ account }, call) => push(account, call, (n) => ({ entity_id: `b${n}` })),
    'winning-of-devices': ({ account }, call) =>
      push(account, call, (n) => ({ entity_id: `b${n}`, device_id: newDevice(account, n) })),
    deleting: ({ account }, call) => push(account, call, (n) => ({ entity_id: `b${n}`, operation: 'delete' })),
    reviving: ({ account }, call) => push(account, call, (n) => ({ entity_id: `t${n}` })),
    creating: ({ account }, call) => push(account, call, () => ({ entity_id: randomUUID() })),
  },
  importBookmarks: {
    known: ({ account }, call) => ({ body: { bookmarks: many(account, call, (n) => ({ id: `b${n}`, ...content })) } }),
    new: ({ account }, call) => ({
      body: { bookmarks: many(account, call, () => ({ id: randomUUID(), ...content })) },
    }),
  },
  listConflicts: { thousand: () => ({ query: '?limit=1000' }) },
  settleConflict: { plain: ({ account }, n) => ({ id: `e${account.versions - 1}-${n}` }) },
  rewindBookmarks: {
    dry: ({ account }) => ({ body: { to: sequenceOf(account, 1, 0), dry_run: true } }),
    'dry-late': ({ account }) => ({ body: { to: sequenceOf(account, account.versions - 1, 0), dry_run: true } }),
    wet: ({ account }) => ({ body: { to: sequenceOf(account, 1, 0), dry_run: false } }),
  },
  openRealtime: { plain: (_, n) => ({ query: '?since=0', headers: { 'x-device-id': `socket-${n}` } }) },
  listExports: { plain: () => ({}) },
  createExport: { plain: () => ({}) },
  downloadExport: { plain: async (caller) => ({ id: await finishedExport(caller) }) },
  deleteExport: { plain: async (caller) => ({ id: await finishedExport(caller) }) },
  getExportKey: { plain: () => ({}) },
  setExportKey: { plain: () => ({ body: { key: Buffer.alloc(32).toString('base64') } }) },
  getKeyring: {
    plain: async (caller, n) => {
      if (n === 0) await setKeyrings(caller, 1)
      return {}
    },
  },
  setKeyring: { plain: (_, n) => ({ body: keyring(n + 1) }) },
  listKeyringVersions: {
    all: async (caller, n) => {
      if (n === 0) await setKeyrings(caller, quotas.keyringVersions)
      return {}
    },
  },
  restoreKeyring: { plain: async (caller, n) => ({ id: n === 0 ? await replacedKeyring(caller) : 'unknown' }) },
  eraseKeyringVersions: { plain: () => ({}) },
  getPairing: {
    largest: async ({ call }, n) => {
      if (n === 0) await call('sendToPairing', largestMessage)
      return { id: largestMessage.id }
    },
  },
  reservePairing: { plain: (_, n) => ({ id: `pairing-${n}`, body: { user_id: `user-${n}` }, isRefused: true }) },
  endPairing: { plain: (_, n) => ({ id: `pairing-${n}` }) },
  sendToPairing: { largest: () => largestMessage },
  listSessions: { thousand: () => ({ query: '?limit=1000' }) },
  endOtherSessions: { plain: () => ({}) },
  endSession: {
    plain: async ({ call }, n) => {
      const { sessions } = (await call('listSessions', { query: '?limit=1000' })) as Schemas['SessionPage']
      return { id: sessions.filter(({ current }) => !current)[n]?.id ?? '' }
    },
  },
  listDevices: { thousand: () => ({ query: '?limit=1000' }) },
  renameDevice: {
    largest: (_, n) => ({
      id: `device-${n}`,
      body: { encrypted_name: 'A'.repeat(DeviceName.encrypted_name.maxLength) },
    }),
  },
  forgetDevice: { plain: (_, n) => ({ id: `device-${n}` }) },
  getAccount: { plain: () => ({}) },
  deleteAccount: { plain: () => ({}) },
}

/** Operations that also run on the account with many records: their cost depends on records rather than versions. */
export const largeAccountCalls = [
  'listBookmarks',
  'pullChanges',
  'getSyncStatus',
  'rewindBookmarks',
  'listDevices',
] as const

type MessageName = Extract<keyof messages['schemas'], `${string}Message`>

/** The messages that a client sends on a WebSocket and those that it waits for. */
export interface SocketCall {
  since?: number
  /** Sent at once, each in its own frame. */
  messages: string[]
  /** How many changes to wait for. */
  changes?: number
}

/** For each message of the contract, sent or received, the use of a socket that makes it cost the service the most. */
export const socketCallsOf: Record<MessageName, (account: FilledAccount, socket: number, size: number) => SocketCall> =
  {
    ConnectedMessage: () => ({ messages: [] }),
    SyncMessage: (account, n) => ({
      since: sequenceOf(account, account.versions, n),
      messages: [],
      changes: account.records + account.trash - n - 1,
    }),
    ChangeMessage: (_, socket, size) => ({ messages: repeated(size / 10, (n) => edit(`b${socket * size + n}`)) }),
    PingMessage: (_account, _socket, size) => ({ messages: repeated(size, () => '{"type":"ping"}') }),
    PongMessage: (_account, _socket, size) => ({ messages: repeated(size, () => '{"type":"pong"}') }),
    ErrorMessage: (_account, _socket, size) => ({ messages: repeated(size, () => '') }),
  }

const content = { encrypted_data: 'y', data_hash: 'b'.repeat(64) }
const largestMessage = { id: 'pairing', body: { step: 0, message: 'm'.repeat(PairingMessage.message.maxLength) } }

function cookies(kind: 'session' | 'refresh', ...tokens: string[]): Record<string, string> {
  return { cookie: tokens.map((token) => `service_${kind}=${token}`).join('; ') }
}

function repeated<T>(length: number, make: (number: number) => T): T[] {
  return Array.from({ length }, (_, number) => make(number))
}

function edit(entity_id: string): string {
  return JSON.stringify({ type: 'sync', event: changeOf({ entity_id }) })
}

/** The elements of the push or import with this number. Calls use different records until all have been used. */
function many<T>({ records }: FilledAccount, call: number, make: (number: number) => T): T[] {
  const size = Math.min(PushRequest.changes.maxItems, records)
  return repeated(size, (index) => make((call * size + index) % records))
}

function push(account: FilledAccount, call: number, make: (number: number) => Partial<Schemas['Change']>): HostileCall {
  return { headers: { 'x-device-id': 'phone' }, body: { changes: many(account, call, (n) => changeOf(make(n))) } }
}

function newDevice({ records }: FilledAccount, number: number): string {
  return `device-${records + number}`
}

function changeOf(own: Partial<Schemas['Change']>): object {
  const common = { entity_type: 'bookmark', operation: 'update', timestamp: Date.now(), device_id: 'phone' }
  return { id: randomUUID(), ...common, ...content, ...own }
}

/** The largest keyring. The service checks the form of a keyring, but cannot check the keys in it. */
function keyring(revision: number): Schemas['Keyring'] {
  const [example] = openapi.components.schemas.Keyring.properties.keyring.examples as [string]
  const others = example.length + ',"padding":""'.length
  return {
    keyring: JSON.stringify({ ...JSON.parse(example), padding: 'k'.repeat(Keyring.keyring.maxLength - others) }),
    revision,
  }
}

async function setKeyrings({ call }: HostileCaller, revisions: number): Promise<void> {
  for (let revision = 1; revision <= revisions; revision++) await call('setKeyring', { body: keyring(revision) })
}

async function replacedKeyring(caller: HostileCaller): Promise<string> {
  await setKeyrings(caller, 2)
  const { versions } = (await caller.call('listKeyringVersions')) as Schemas['KeyringVersionList']
  return versions[0]?.id ?? ''
}

async function finishedExport({ call }: HostileCaller): Promise<string> {
  for (; ; await sleep(10)) {
    const { exports } = (await call('listExports')) as Schemas['ExportList']
    const finished = exports.find(({ status }) => status === 'completed')
    if (finished) return finished.id
    if (exports.length === 0) await call('createExport')
  }
}
