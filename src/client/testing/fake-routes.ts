import {
  BookmarkNotFound,
  ConflictNotFound,
  DeviceNotFound,
  InvalidChanges,
  KeyringChanged,
  KeyringNotFound,
  PairingChanged,
  PairingNotFound,
  SessionNotFound,
  SignInAgain,
  VersionNotFound,
} from '../../../generated/errors.ts'
import { quotas } from '../../../generated/limits.ts'
import type { components } from '../../../generated/openapi.ts'
import { type OperationId, operations } from '../../../generated/operations.ts'
import { fixedLimits } from '../../protocol/fixed-limits.ts'
import { pairingMs } from '../../protocol/pairing.ts'
import type { FakeAccount, FakeSession } from './fake-account.ts'
import { unknownDevice } from './fake-records.ts'

export interface FakeAnswer {
  status: number
  body: unknown
}

/** The status and the text. */
type FakeError = readonly [number, string]

interface Call {
  account: FakeAccount
  session: FakeSession
  url: URL
  /** The one in the path, decoded. */
  id: string
  /** The `X-Device-ID`, if any. */
  device: string | undefined
  /** The same, or `unknown`. */
  by: string
  now: number
  // biome-ignore lint/suspicious/noExplicitAny: bodies are not validated, except where an app could easily be wrong
  body: any
}

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

type Answer = (call: Call) => FakeAnswer

const answers: Record<OperationId, Answer | 'not played'> = {
  getSession: ({ account }) =>
    ok({ authenticated: true, user: account.user, has_keyring: account.keyring !== undefined }),
  refreshSession: () => done,
  logout: () => done,
  startLogin: ({ url }) => ok({ authorizationUrl: new URL('/sign-in', url).href }),
  completeLogin: 'not played',
  getKeyring: ({ account }) => (account.keyring ? ok(account.keyring) : failed(KeyringNotFound)),
  setKeyring,
  listKeyringVersions: ({ account }) =>
    ok({ versions: account.keyringVersions.map(({ keyring, ...version }) => version) }),
  restoreKeyring,
  eraseKeyringVersions: ({ account }) => {
    account.eraseKeyringVersions()
    return done
  },
  getPairing: ({ account, id, now }) => {
    const found = pairingOf(account, id, now)
    return found ? ok(found) : failed(PairingNotFound)
  },
  sendToPairing,
  getExportKey: ({ account }) => ok({ key: account.exportKey }),
  setExportKey,

  pullChanges: ({ account, body, by, now }) => ok(account.records.pull(body, by, now)),
  pushChanges: push,
  importBookmarks: 'not played',
  getSyncStatus: ({ account, device }) => ok(account.records.status(device)),
  // The fake sockets are opened without a request.
  openRealtime: 'not played',

  listBookmarks: ({ account }) => {
    const data = account.history.bookmarks()
    return ok({ data, meta: { total: data.length, page: 1, limit: data.length } })
  },
  createBookmark: 'not played',
  getBookmark: ({ account, id }) => {
    const found = account.history.bookmark(id)
    return found ? ok(found) : failed(BookmarkNotFound)
  },
  updateBookmark: 'not played',
  deleteBookmark: 'not played',
  listVersions,
  restoreBookmark,
  listTrash: ({ account }) => ok({ bookmarks: account.history.trash(), next: null }),
  purgeBookmark: ({ account, id }) => doneIf(account.history.purge(id), BookmarkNotFound),
  listConflicts: ({ account }) => ok({ conflicts: account.history.conflicts(), next: null }),
  settleConflict: ({ account, id, now }) => doneIf(account.history.settle(id, now), ConflictNotFound),
  rewindBookmarks: ({ account, body, by, now }) => ok(account.history.rewind(body, by, now)),

  getAccount,
  deleteAccount,
  listDevices: ({ account, device }) => ok({ devices: account.records.devices(device), next: null }),
  forgetDevice: ({ account, id }) => doneIf(account.records.forgetDevice(id), DeviceNotFound),
  listSessions: ({ account, session }) => ok({ sessions: account.sessions(session), next: null }),
  endOtherSessions,
  endSession: ({ account, id }) => {
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

function setKeyring({ account, body: { keyring, revision }, now }: Call): FakeAnswer {
  if (revision !== (account.keyring?.revision ?? 0) + 1) return failed(KeyringChanged)
  account.replaceKeyring({ keyring, revision }, now)
  return ok(account.keyring)
}

function restoreKeyring({ account, id, now }: Call): FakeAnswer {
  return account.restoreKeyring(id, now) ? ok(account.keyring) : failed(KeyringNotFound)
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

function setExportKey({ account, body: { key } }: Call): FakeAnswer {
  account.exportKey = key
  account.hasOwnExportKey = true
  return done
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

function listVersions({ account, id }: Call): FakeAnswer {
  const versions = account.history.versions(id)
  return versions ? ok({ versions, next: null }) : failed(BookmarkNotFound)
}

function restoreBookmark({ account, id, body, by, now }: Call): FakeAnswer {
  const restored = account.history.restore(id, body.version_id, by, now)
  if (restored === 'no version') return failed(VersionNotFound)
  return restored ? ok(restored) : failed(BookmarkNotFound)
}

function getAccount({ account: { user, records } }: Call): FakeAnswer {
  return ok({ user, usage: records.usage(), limits })
}

function deleteAccount({ account }: Call): FakeAnswer {
  account.leave()
  account.endSessions(() => true)
  return done
}

function endOtherSessions({ account, session }: Call): FakeAnswer {
  account.endSessions((other) => other !== session)
  return done
}

function ok(body: unknown): FakeAnswer {
  return { status: 200, body }
}

const done = ok({ success: true })

function doneIf(isDone: boolean, notFound: FakeError): FakeAnswer {
  return isDone ? done : failed(notFound)
}

export function failed([status, error]: FakeError): FakeAnswer {
  return { status, body: { error } }
}
