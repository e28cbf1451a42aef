import { v7 as uuidv7 } from 'uuid'
import { PushRequest, quotas } from '../../generated/limits.ts'
import type { Schemas } from '../../src/service/contract/schemas.ts'

type Change = Schemas['Change']

/** A change, with the fields filled in that the test does not care about. */
export function change(fields: Partial<Change> & { entity_id: string }): Change {
  const id = fields.id ?? uuidv7()
  const operation = fields.operation ?? 'create'
  const content = operation === 'delete' ? {} : { encrypted_data: `data-${id}`, data_hash: `hash-${id}` }
  return { id, entity_type: 'bookmark', operation, timestamp: Date.now(), device_id: 'device-a', ...content, ...fields }
}

type Call<Answer> = (method: string, path: string, request: object) => Promise<Answer>

/** Pushes the changes in one request, and resolves to the response. */
export function push<Answer>({ call }: { call: Call<Answer> }, ...changes: object[]): Promise<Answer> {
  return call('POST', '/api/v1/sync/push', { body: { changes } })
}

/** Pushes the changes in as many requests as needed, one after another. Each change must be accepted. */
export async function pushMany(user: { call: Call<Outcome> }, changes: Change[]): Promise<void> {
  for (const batch of batchesOf(changes)) {
    const { status, body } = await push(user, ...batch)
    if (body.accepted !== batch.length) throw new Error(`push responded with ${status} ${JSON.stringify(body)}`)
  }
}

/** Imports the bookmarks in as many requests as needed. */
export async function importMany(
  { call }: { call: Call<Outcome> },
  bookmarks: Schemas['ImportBookmark'][],
  headers: Record<string, string> = {},
): Promise<void> {
  for (const batch of batchesOf(bookmarks)) {
    const { status, body } = await call('POST', '/api/v1/sync/import', { body: { bookmarks: batch }, headers })
    if (body.imported !== batch.length) throw new Error(`import responded with ${status} ${JSON.stringify(body)}`)
  }
}

interface Outcome {
  status: number
  body: { accepted?: number; imported?: number }
}

const mostElements = PushRequest.changes.maxItems

/** Pieces of a list that fit into a push or an import. */
function* batchesOf<T extends { encrypted_data?: string }>(list: T[]): Generator<T[]> {
  let [start, bytes] = [0, 0]
  for (const [index, { encrypted_data = '' }] of list.entries()) {
    const size = encrypted_data.length + overheadBytes
    if (index - start === mostElements || bytes + size > quotas.batchBodyBytes) {
      yield list.slice(start, index)
      ;[start, bytes] = [index, 0]
    }
    bytes += size
  }
  if (start < list.length) yield list.slice(start)
}

/** The most bytes of an element, without its ciphertext. */
const overheadBytes = 600

/** Pushes a change of each of these entities in one request. */
export function pushEntities<Answer>(user: { call: Call<Answer> }, ...ids: string[]): Promise<Answer> {
  return push(user, ...ids.map((entity_id) => change({ entity_id })))
}

/** Pulls page by page to the end, as a client does. */
export async function pullAll(
  { call }: { call: Call<{ status: number; body: Schemas['PullResponse'] }> },
  { since = 0, limit = 1000, headers = {} }: { since?: number; limit?: number; headers?: Record<string, string> } = {},
): Promise<{ changes: Schemas['SyncEvent'][]; cursor: number; pages: number }> {
  const changes: Schemas['SyncEvent'][] = []
  let cursor = since
  for (let pages = 1; ; pages += 1) {
    const { status, body } = await call('POST', '/api/v1/sync/pull', { body: { since: cursor, limit }, headers })
    if (status !== 200) throw new Error(`pull responded with ${status} ${JSON.stringify(body)}`)
    changes.push(...body.changes)
    cursor = body.last_sync_timestamp
    if (!body.has_more) return { changes, cursor, pages }
  }
}
