import { quotas } from '../../../generated/limits.ts'
import type { components } from '../../../generated/openapi.ts'
import * as paths from '../../../generated/paths.ts'
import { fixedLimits } from '../../protocol/fixed-limits.ts'
import type { FakeAccount, FakeSession } from './fake-account.ts'
import { unknownDevice } from './fake-records.ts'

export interface FakeAnswer {
  status: number
  body: unknown
}

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

/** Deleting the account takes a younger sign-in. */
const youngMs = 600_000

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

const routes: [method: string, path: string, answer: (call: Call) => FakeAnswer][] = [
  ['GET', paths.getSession, ({ account }) => ok({ authenticated: true, user: account.user })],
  ['POST', paths.refreshSession, () => done],
  ['POST', paths.logout, () => done],
  ['POST', paths.startLogin, ({ url }) => ok({ authorizationUrl: new URL('/sign-in', url).href })],
  ['GET', paths.getKeyring, ({ account }) => (account.keyring ? ok(account.keyring) : missing('Keyring'))],
  ['PUT', paths.setKeyring, setKeyring],
  ['GET', paths.getExportKey, ({ account }) => ok({ key: account.exportKey })],
  ['PUT', paths.setExportKey, setExportKey],

  ['POST', paths.pullChanges, ({ account, body, by, now }) => ok(account.records.pull(body, by, now))],
  ['POST', paths.pushChanges, push],
  ['GET', paths.getSyncStatus, ({ account, device }) => ok(account.records.status(device))],

  ['GET', paths.listVersions, listVersions],
  ['POST', paths.restoreBookmark, restoreBookmark],
  ['GET', paths.listTrash, ({ account }) => ok({ bookmarks: account.history.trash(), next: null })],
  ['DELETE', paths.purgeBookmark, ({ account, id }) => doneIf(account.history.purge(id), 'Bookmark')],
  ['GET', paths.listConflicts, ({ account }) => ok({ conflicts: account.history.conflicts(), next: null })],
  ['DELETE', paths.settleConflict, ({ account, id, now }) => doneIf(account.history.settle(id, now), 'Conflict')],
  ['POST', paths.rewindBookmarks, ({ account, body, by, now }) => ok(account.history.rewind(body, by, now))],

  ['GET', paths.getAccount, getAccount],
  ['DELETE', paths.deleteAccount, deleteAccount],
  ['GET', paths.listDevices, ({ account, device }) => ok({ devices: account.records.devices(device), next: null })],
  ['DELETE', paths.forgetDevice, ({ account, id }) => doneIf(account.records.forgetDevice(id), 'Device')],
  ['GET', paths.listSessions, ({ account, session }) => ok({ sessions: account.sessions(session), next: null })],
  ['DELETE', paths.endOtherSessions, endOtherSessions],
  [
    'DELETE',
    paths.endSession,
    ({ account, id }) =>
      doneIf(
        account.endSessions((one) => one.id === id),
        'Session',
      ),
  ],
]

/** Answers as the contract says. */
export async function answerCall(request: Request, account: FakeAccount, session: FakeSession): Promise<FakeAnswer> {
  const url = new URL(request.url)
  const device = request.headers.get('x-device-id') ?? undefined
  const body = request.body === null ? {} : await request.json()
  const now = account.now()
  session.lastUsedAt = now
  for (const [method, path, answer] of routes) {
    const id = method === request.method ? idIn(path, url.pathname) : undefined
    if (id === undefined) continue
    return answer({ account, session, url, id, device, by: device ?? unknownDevice, now, body })
  }
  return failed(501, `The fake service has no ${request.method} ${url.pathname}`)
}

/** '' if the path has none; undefined if it is another path. */
function idIn(path: string, pathname: string): string | undefined {
  const [before = '', after] = path.split('{id}')
  if (after === undefined) return path === pathname ? '' : undefined
  const id = pathname.slice(before.length, pathname.length - after.length)
  return pathname === before + id + after && /^[^/]+$/.test(id) ? decodeURIComponent(id) : undefined
}

function setKeyring({ account, body: { keyring, revision } }: Call): FakeAnswer {
  if (revision !== (account.keyring?.revision ?? 0) + 1) return failed(409, 'Keyring was changed')
  account.keyring = { keyring, revision }
  return ok(account.keyring)
}

function setExportKey({ account, body: { key } }: Call): FakeAnswer {
  account.exportKey = key
  return done
}

function push({ account, body: { changes }, by, now }: Call): FakeAnswer {
  if (!Array.isArray(changes) || !changes.every(isChange)) return failed(400, 'Invalid changes format')
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
  return versions ? ok({ versions, next: null }) : missing('Bookmark')
}

function restoreBookmark({ account, id, body, by, now }: Call): FakeAnswer {
  const restored = account.history.restore(id, body.version_id, by, now)
  if (restored === 'no version') return missing('Version')
  return restored ? ok(restored) : missing('Bookmark')
}

function getAccount({ account: { user, records } }: Call): FakeAnswer {
  return ok({ user, usage: records.usage(), limits })
}

function deleteAccount({ account, session, now }: Call): FakeAnswer {
  if (session.createdAt <= now - youngMs) return failed(403, 'Sign in again')
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

function doneIf(isDone: boolean, what: string): FakeAnswer {
  return isDone ? done : missing(what)
}

function missing(what: string): FakeAnswer {
  return failed(404, `${what} not found`)
}

export function failed(status: number, error: string): FakeAnswer {
  return { status, body: { error } }
}
