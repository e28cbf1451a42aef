import { once } from 'node:events'
import { type IncomingMessage, get as openResponse } from 'node:http'
import { v7 as uuidv7 } from 'uuid'
import WebSocket from 'ws'
import { operations } from '../../generated/operations.ts'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import type { BenchRecord } from './records.ts'

/** A user of one of the servers. */
export interface Account {
  api: 'service' | 'pocketbase' | 'pouchdb'
  origin: string
  user: string
  headers: Record<string, string>
}

export interface Request {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  headers: Record<string, string>
  body: string | null
}

/** The measured operations, as requests to one of the compared products. */
interface Api {
  push(account: Account, records: BenchRecord[]): Request
  /** `pushed` is the response to the push of these records. */
  update(account: Account, records: BenchRecord[], pushed: string): Request
  create(account: Account, record: BenchRecord): Request
  /** Pages are counted from 1. `before` is the end of the response with the page before, or empty. */
  pull(account: Account, page: number, before: string): Request
  /** A pull that finds nothing new. `last` is the end of the response with the last page. */
  pullNothing(account: Account, last: string): Request
  /** Calls `onMessage` with every message from now on, those about changes among them. */
  listen(account: Account, device: string, onMessage: (text: string) => void): Promise<Listener>
}

export interface Listener {
  close(): void
}

export const pageLength = 1_000

export function json(account: Account, path: string, body: object): Request {
  const headers = { ...account.headers, 'content-type': 'application/json' }
  return { method: 'POST', path, headers, body: JSON.stringify(body) }
}

export function get(account: Account, path: string): Request {
  return { method: 'GET', path, headers: account.headers, body: null }
}

export const service: Api = {
  push: (account, records) => json(account, operations.pushChanges.path, changes(records, 'create')),
  update: (account, records) => json(account, operations.pushChanges.path, changes(records, 'update')),
  create: (account, { id, encrypted_data, data_hash }) =>
    json(account, operations.createBookmark.path, { id, encrypted_data, data_hash }),
  pull: (account, _page, before) =>
    json(account, operations.pullChanges.path, { since: cursorIn(before), limit: pageLength }),
  pullNothing: (account, last) => json(account, operations.pullChanges.path, { since: cursorIn(last) }),
  async listen({ origin, user, headers }, device, onMessage) {
    const url = origin.replace('http', 'ws') + operations.openRealtime.path
    const own = { ...headers, 'x-user-id': user, 'x-device-id': device }
    const socket = new WebSocket(url, { headers: own, perMessageDeflate: false })
    await once(socket, 'message')
    socket.on('message', (data) => onMessage(data.toString()))
    return { close: () => socket.terminate() }
  },
}

function changes(records: BenchRecord[], operation: 'create' | 'update'): Schemas['PushRequest'] {
  return {
    changes: records.map(({ id: entity_id, ...content }) => {
      return { id: uuidv7(), entity_type: 'bookmark', entity_id, operation, device_id: 'laptop', ...content }
    }),
  }
}

function cursorIn(end: string): number {
  return Number(/"last_sync_timestamp":(\d+)/.exec(end)?.[1] ?? 0)
}

const path = '/api/collections/bookmarks/records'

/** Pages are numbered, because PocketBase has no cursors. */
const pocketbase: Api = {
  push: (account, records) =>
    batch(
      account,
      records.map((record) => ({ method: 'POST', url: path, body: toBody(account, record) })),
    ),
  update: (account, records) =>
    batch(
      account,
      records.map((record) => ({ method: 'PATCH', url: `${path}/${idOf(record)}`, body: toBody(account, record) })),
    ),
  create: (account, record) => json(account, path, toBody(account, record)),
  pull: (account, page) => list(account, `user='${account.user}'`, page),
  // Gets the newest record, for a device to compare with its own, because PocketBase delays responses without a record.
  pullNothing: (account) => get(account, `${path}?perPage=1&skipTotal=1&sort=-updated`),
  async listen(account, _device, onMessage) {
    const connected = Promise.withResolvers<string>()
    const stream = await openStream(`${account.origin}/api/realtime`, account.headers, '\n\n', (text) => {
      connected.resolve(/"clientId":"([^"]+)"/.exec(text)?.[1] ?? '')
      onMessage(text)
    })
    const body = { clientId: await connected.promise, subscriptions: ['bookmarks/*'] }
    const { headers, body: payload } = json(account, '/api/realtime', body)
    const answer = await fetch(`${account.origin}/api/realtime`, { method: 'POST', headers, body: payload })
    if (!answer.ok) throw new Error(`/api/realtime: ${answer.status}`)
    return stream
  },
}

function batch(account: Account, requests: object[]) {
  return json(account, '/api/batch', { requests })
}

function list(account: Account, filter: string, page: number) {
  const query = new URLSearchParams({
    filter,
    page: `${page}`,
    perPage: `${pageLength}`,
    skipTotal: '1',
    sort: 'updated',
  })
  return get(account, `${path}?${query}`)
}

function toBody({ user }: Account, record: BenchRecord) {
  const { encrypted_data: data, data_hash: hash, timestamp: time } = record
  return { id: idOf(record), user, data, hash, time, device: 'laptop' }
}

/** A PocketBase id: 15 letters and digits. It is made from the UUIDv7, so that ids sort by time, as UUIDs do. */
function idOf({ id }: BenchRecord): string {
  const [time, random] = [Number.parseInt(id.replace('-', '').slice(0, 12), 16), Number.parseInt(id.slice(-11), 16)]
  return time.toString(36).padStart(8, '0').slice(-8) + random.toString(36).padStart(9, '0').slice(-7)
}

/** Each user has their own database. */
const pouchdb: Api = {
  push: (account, records) => write(account, records.map(toDocument)),
  update(account, records, pushed) {
    const revisions: { id: string; rev: string }[] = JSON.parse(pushed)
    const latest = new Map(revisions.map(({ id, rev }) => [id, rev]))
    return write(
      account,
      records.map((record) => ({ ...toDocument(record), _rev: latest.get(record.id) })),
    )
  },
  create: (account, record) => json(account, `/${account.user}`, toDocument(record)),
  pull: (account, _page, before) => changesAfter(account, before),
  pullNothing: (account, last) => changesAfter(account, last),
  listen({ origin, user, headers }, _device, onMessage) {
    const query = 'feed=continuous&include_docs=true&since=now&heartbeat=10000'
    return openStream(`${origin}/${user}/_changes?${query}`, headers, '\n', onMessage)
  },
}

function write(account: Account, docs: object[]) {
  return json(account, `/${account.user}/_bulk_docs`, { docs })
}

function changesAfter(account: Account, before: string) {
  const since = /"last_seq":\s*(\d+)/.exec(before)?.[1] ?? '0'
  return get(account, `/${account.user}/_changes?include_docs=true&limit=${pageLength}&since=${since}`)
}

function toDocument({ id, encrypted_data: data, data_hash: hash, timestamp: time }: BenchRecord) {
  return { _id: id, data, hash, time, device: 'laptop' }
}

/** Reads a response that never ends, message by message. */
async function openStream(
  url: string,
  headers: Record<string, string>,
  separator: string,
  onMessage: (text: string) => void,
): Promise<{ close(): void }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    openResponse(url, { headers, agent: false }, resolve).on('error', reject)
  })
  let rest = ''
  response.setEncoding('utf8').on('data', (text: string) => {
    const messages = (rest + text).split(separator)
    rest = messages.pop() ?? ''
    for (const message of messages) onMessage(message)
  })
  response.on('error', () => {})
  return { close: () => response.destroy() }
}

export const apis: Record<Account['api'], Api> = { service, pocketbase, pouchdb }
