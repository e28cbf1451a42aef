import { BookmarkExists, KeyringChanged, QuotaExceeded, Unavailable } from '../../generated/errors.ts'
import { operations } from '../../generated/operations.ts'
import { type Forward, fieldsOf, isCallOf, isRecord, type MockAnswer, type MockCall, replaced } from './call.ts'

type Refusal = readonly [status: number, text: string]

/** The call does not reach its operation. The health report's answer provides the other headers. */
export async function refuse([status, error]: Refusal, { headers }: MockCall, forward: Forward): Promise<MockAnswer> {
  const { origin } = headers
  const { path: url, method } = operations.getHealth
  const own = origin === undefined ? {} : { origin }
  const health = await forward({ method, url, headers: own, payload: Buffer.alloc(0) })
  const retry = status === 429 || status === 503 ? { 'retry-after': '1' } : {}
  return replaced(health, status, { error }, retry)
}

export async function refuseDuplicates(call: MockCall, forward: Forward): Promise<MockAnswer> {
  if (isCallOf('createBookmark', call)) return refuse(BookmarkExists, call, forward)
  if (isCallOf('setKeyring', call)) return refuse(KeyringChanged, call, forward)
  return forward(call)
}

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
