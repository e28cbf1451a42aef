import type { BenchRecord } from '../records.ts'
import { type Account, type Api, get, json, pageLength } from './api.ts'
import { openStream } from './stream.ts'

const path = '/api/collections/bookmarks/records'

/** Each page is the one with its number, as PocketBase has no cursors. */
export const pocketbase: Api = {
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
  pullNothing: (account) => list(account, `user='${account.user}' && updated>'2100-01-01'`, 1),
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

/** Fifteen letters and digits that are ordered like the UUIDv7. */
function idOf({ id }: BenchRecord): string {
  const [time, random] = [Number.parseInt(id.replace('-', '').slice(0, 12), 16), Number.parseInt(id.slice(-11), 16)]
  return time.toString(36).padStart(8, '0').slice(-8) + random.toString(36).padStart(9, '0').slice(-7)
}
