import { v7 as uuidv7 } from 'uuid'
import type { components } from '../../generated/client.ts'
import * as errors from '../../generated/errors.ts'
import {
  BookmarkExists,
  KeyringChanged,
  PairingChanged,
  QuotaExceeded,
  SignInAgain,
  Unavailable,
} from '../../generated/errors.ts'
import { type OperationId, operations } from '../../generated/operations.ts'
import {
  type Forward,
  fieldsOf,
  isCallOf,
  isRecord,
  type MockAnswer,
  type MockCall,
  replaced,
  withBody,
} from './call.ts'

type Refusal = readonly [status: number, text: string]

/** Answers with an error; the service does not get the call. Headers such as those of CORS come from getHealth. */
export async function refuse(refusal: Refusal, { headers }: MockCall, forward: Forward): Promise<MockAnswer> {
  const { origin } = headers
  const [status, error] = refusal
  const [code = 'BadRequest'] = Object.entries(errors).find(([, one]) => one === refusal) ?? []
  const { path: url, method } = operations.getHealth
  const own = origin === undefined ? {} : { origin }
  const health = await forward({ method, url, headers: own, payload: Buffer.alloc(0) })
  const retry = status === 429 || status === 503 ? { 'retry-after': '1' } : {}
  return replaced(health, status, { error }, { ...retry, 'x-error-code': code })
}

export async function refuseDuplicates(call: MockCall, forward: Forward): Promise<MockAnswer> {
  if (isCallOf('createBookmark', call)) return refuse(BookmarkExists, call, forward)
  if (isCallOf('setKeyring', call)) return refuse(KeyringChanged, call, forward)
  if (isCallOf('sendToPairing', call)) return refuse(PairingChanged, call, forward)
  return forward(call)
}

/** Refuses what may require a recent sign-in. The first keyring never does. */
export async function refuseOldSignIns(call: MockCall, forward: Forward): Promise<MockAnswer> {
  const isFirst = isCallOf('setKeyring', call) && fieldsOf(call)?.revision === 1
  return needingRecentSignIn.some((operation) => isCallOf(operation, call)) && !isFirst
    ? refuse(SignInAgain, call, forward)
    : forward(call)
}

const needingRecentSignIn = Object.entries(operations).flatMap(([operation, { recentSignIn }]) =>
  recentSignIn === 'never' ? [] : [operation as OperationId],
)

const storing = ['createBookmark', 'updateBookmark', 'pushChanges', 'importBookmarks'] as const

export async function refuseStoring(call: MockCall, forward: Forward): Promise<MockAnswer> {
  const stores = storing.some((operation) => isCallOf(operation, call)) && !pushesOnlyDeletes(call)
  return stores ? refuse(QuotaExceeded, call, forward) : forward(call)
}

function pushesOnlyDeletes(call: MockCall): boolean {
  const changes = isCallOf('pushChanges', call) ? fieldsOf(call)?.changes : undefined
  return Array.isArray(changes) && changes.every((change) => isRecord(change) && change.operation === 'delete')
}

export async function refuseSockets(call: MockCall, forward: Forward): Promise<MockAnswer> {
  return isCallOf('openRealtime', call) ? refuse(Unavailable, call, forward) : forward(call)
}

type Change = components['schemas']['Change']

/**
 * Plays another device of the same person, which changes the same bookmarks before a push, with later timestamps. It
 * deletes those that the push writes, and edits those that the push deletes. The mock cannot encrypt, so an edit sends
 * the stored ciphertext.
 */
export async function withRival(call: MockCall, forward: Forward): Promise<MockAnswer> {
  if (!isCallOf('pushChanges', call)) return forward(call)
  const changes = fieldsOf(call)?.changes
  if (!isChanges(changes)) return forward(call)
  const rivals = await Promise.all(changes.map((change) => rivalOf(change, call, forward)))
  const rivalCall = withBody(call, { changes: rivals.filter((rival) => rival !== undefined) })
  await forward({ ...rivalCall, headers: { ...rivalCall.headers, 'x-device-id': rivalDevice } })
  return forward(call)
}

/** True if a rival change can be made for each. The service reports all other faults. */
function isChanges(changes: unknown): changes is Change[] {
  return Array.isArray(changes) && changes.every((change) => isRecord(change) && typeof change.entity_id === 'string')
}

const rivalDevice = 'mock-rival'

async function rivalOf(change: Change, call: MockCall, forward: Forward): Promise<Change | undefined> {
  const { entity_type, entity_id, timestamp } = change
  const rival = { id: uuidv7(), entity_type, entity_id, timestamp: timestamp + 1, device_id: rivalDevice }
  if (change.operation !== 'delete') return { ...rival, operation: 'delete' }
  const url = operations.getBookmark.path.replace('{id}', encodeURIComponent(entity_id))
  const { cookie, authorization } = call.headers
  const headers = { cookie, ...(authorization && { authorization }) }
  const stored = await forward({ ...call, method: 'GET', url, payload: Buffer.alloc(0), headers })
  if (stored.status !== 200) return undefined
  const { encrypted_data, data_hash } = JSON.parse(stored.body.toString())
  return { ...rival, operation: 'update', encrypted_data, data_hash }
}
