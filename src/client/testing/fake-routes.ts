import {
  DeviceNotFound,
  InvalidChanges,
  KeyringChanged,
  KeyringNotFound,
  PairingChanged,
  PairingNotFound,
  SessionNotFound,
  SignInAgain,
} from '../../../generated/errors.ts'
import { quotas } from '../../../generated/limits.ts'
import type { components } from '../../../generated/openapi.ts'
import { type OperationId, operations } from '../../../generated/operations.ts'
import { fixedLimits } from '../../protocol/fixed-limits.ts'
import { claimedKeyId } from '../../protocol/key-id.ts'
import { dayMs } from '../../protocol/order.ts'
import { pairingMs } from '../../protocol/pairing.ts'
import { uuidv7 } from '../ids.ts'
import type { FakeAccount, FakeSession } from './fake-account.ts'
import { type Answer, type Call, done, doneIf, type FakeAnswer, failed, ok, okIfFound } from './fake-call.ts'
import * as history from './fake-history.ts'
import { unknownDevice } from './fake-records.ts'

/** A younger sign-in is asked of those that cannot be undone. */
const youngMs = quotas.youngLoginSeconds * 1000

/** The limits of a service whose operator has set none. The fake one refuses nothing because of them. */
const limits: components['schemas']['AccountLimits'] = {
  stored_bytes: quotas.storedBytes,
  stored_records: quotas.storedRecords,
  version_days: quotas.versionDays,
  versions_of_record: quotas.versionsOfRecord,
  export_bytes: quotas.exportBytes,
  requests_per_minute: quotas.requestsPerMinute,
  ...fixedLimits,
}

const answers: Record<OperationId, Answer | 'not played'> = {
  getSession: ({ account: { user, keyring } }) => ok({ authenticated: true, user, has_keyring: keyring !== undefined }),
  refreshSession: () => done,
  logout: () => done,
  startLogin: ({ url }) => ok({ authorizationUrl: new URL('/sign-in', url).href }),
  completeLogin: 'not played',
  getKeyring,
  setKeyring,
  listKeyringVersions,
  restoreKeyring,
  eraseKeyringVersions({ account }) {
    account.keyringVersions = []
    if (account.keyring) account.keyring = { ...account.keyring, id: uuidv7() }
    return done
  },
  getPairing: ({ account, id, now }) => okIfFound(pairingOf(account, id, now), PairingNotFound),
  sendToPairing,
  getExportKey: ({ account }) => ok({ key: account.exportKey }),
  setExportKey({ account, body: { key } }) {
    Object.assign(account, { exportKey: key, hasOwnExportKey: true })
    return done
  },

  pullChanges: ({ account, body, by, now }) => ok(account.records.pull(body, by, now)),
  pushChanges: push,
  importBookmarks: 'not played',
  getSyncStatus: ({ account, device }) => ok(account.records.status(device)),
  // The fake sockets are opened without a request.
  openRealtime: 'not played',

  ...history,
  createBookmark: 'not played',
  updateBookmark: 'not played',
  deleteBookmark: 'not played',

  getAccount: ({ account: { user, records } }) => ok({ user, usage: records.usage(), limits }),
  deleteAccount({ account }) {
    account.leave()
    account.endSessions(() => true)
    return done
  },
  listDevices: ({ account, device }) => ok({ devices: account.records.devices(device), next: null }),
  forgetDevice: ({ account, id }) => doneIf(account.records.forgetDevice(id), DeviceNotFound),
  listSessions: ({ account, session }) => ok({ sessions: account.sessions(session), next: null }),
  endOtherSessions({ account, session }) {
    account.endSessions((other) => other !== session)
    return done
  },
  endSession({ account, id }) {
    const isEnded = account.endSessions((one) => one.id === id)
    return doneIf(isEnded, SessionNotFound)
  },

  listExports: 'not played',
  createExport: 'not played',
  downloadExport: 'not played',
  deleteExport: 'not played',

  getHealth: 'not played',
}

/** Answers as the contract says. */
export async function answerCall(request: Request, account: FakeAccount, session: FakeSession): Promise<FakeAnswer> {
  const url = new URL(request.url)
  const device = request.headers.get('x-device-id') ?? undefined
  const body = request.body === null ? {} : await request.json()
  const now = account.now()
  session.lastUsedAt = now
  for (const [operation, answer] of Object.entries(answers)) {
    const { method, path } = operations[operation as OperationId]
    const id = method === request.method ? idIn(path, url.pathname) : undefined
    if (id === undefined || answer === 'not played') continue
    const call = { account, session, url, id, device, by: device ?? unknownDevice, now, body }
    return isTooOld(operation as OperationId, call) ? failed(SignInAgain) : answer(call)
  }
  return failed([501, `The fake service has no ${request.method} ${url.pathname}`])
}

/** '' if the path has none; undefined if it is another path. */
function idIn(path: string, pathname: string): string | undefined {
  const [before = '', after] = path.split('{id}')
  if (after === undefined) return path === pathname ? '' : undefined
  const id = pathname.slice(before.length, pathname.length - after.length)
  return pathname === before + id + after && /^[^/]+$/.test(id) ? decodeURIComponent(id) : undefined
}

function isTooOld(operation: OperationId, { account, session, now, body }: Call): boolean {
  if (session.createdAt > now - youngMs) return false
  if (operation === 'setKeyring') return body.revision > 1
  if (operation === 'setExportKey') return account.hasOwnExportKey && account.exportKey !== body.key
  if (operation === 'purgeBookmark') return ++session.purges > quotas.purgesOfOldLogin
  return operations[operation].youngLogin === 'always'
}

function getKeyring({ account: { keyring } }: Call): FakeAnswer {
  return okIfFound(keyring && { keyring: keyring.keyring, revision: keyring.revision }, KeyringNotFound)
}

function setKeyring(call: Call): FakeAnswer {
  const { account, now } = call
  const { keyring, revision } = call.body
  if (revision !== (account.keyring?.revision ?? 0) + 1) return failed(KeyringChanged)
  account.replaceKeyring({ id: uuidv7(), keyring, revision }, now)
  return getKeyring(call)
}

function listKeyringVersions({ account: { keyringVersions } }: Call): FakeAnswer {
  const versions = keyringVersions.map(({ keyring, ...version }) => {
    const key_id = claimedKeyId(keyring)
    return { ...version, ...(key_id && { key_id }), erased_at: version.replaced_at + quotas.versionDays * dayMs }
  })
  return ok({ versions })
}

function restoreKeyring(call: Call): FakeAnswer {
  const { account, id, now } = call
  const version = account.keyringVersions.find((one) => one.id === id)
  if (account.keyring && version) {
    account.keyringVersions = account.keyringVersions.filter((one) => one !== version)
    account.replaceKeyring({ id, keyring: version.keyring, revision: account.keyring.revision + 1 }, now)
  }
  return account.keyring?.id === id ? getKeyring(call) : failed(KeyringNotFound)
}

function sendToPairing({ account, id, body: { step, message }, now }: Call): FakeAnswer {
  const stored = pairingOf(account, id, now)
  if (!stored && step > 0) return failed(PairingNotFound)
  if (stored && stored.step === step && stored.message === message) return ok(stored)
  if (stored && stored.step !== step - 1) return failed(PairingChanged)
  const content = { step, message, expires_at: now + pairingMs }
  account.pairing = { id, content }
  return ok(content)
}

function pairingOf({ pairing }: FakeAccount, id: string, now: number) {
  return pairing?.id === id && pairing.content.expires_at > now ? pairing.content : undefined
}

function push({ account, body: { changes }, by, now }: Call): FakeAnswer {
  if (!Array.isArray(changes) || !changes.every(isChange)) return failed(InvalidChanges)
  return ok(account.records.push(changes, by, now))
}

function isChange(value: Record<string, unknown>): boolean {
  const { id, entity_type, entity_id, operation, timestamp, device_id, encrypted_data, data_hash } = value
  const texts = [id, entity_type, entity_id, operation, device_id]
  const data = operation === 'delete' ? [] : [encrypted_data, data_hash]
  const isText = (text: unknown) => typeof text === 'string' && /^[ -~]+$/.test(text)
  return [...texts, ...data].every(isText) && Number.isSafeInteger(timestamp)
}
