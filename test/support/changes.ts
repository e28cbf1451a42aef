import { v7 as uuidv7 } from 'uuid'
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

/** Pushes them in one request, and resolves to the response. */
export function push<Answer>({ call }: { call: Call<Answer> }, ...changes: object[]): Promise<Answer> {
  return call('POST', '/api/v1/sync/push', { body: { changes } })
}

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
