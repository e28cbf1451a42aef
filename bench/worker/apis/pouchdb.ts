import type { BenchRecord } from '../records.ts'
import { type Account, type Api, get, json, pageLength } from './api.ts'
import { openStream } from './stream.ts'

/** Each user has a database. */
export const pouchdb: Api = {
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
  pull: (account, _page, before) => changes(account, before),
  pullNothing: (account, last) => changes(account, last),
  listen({ origin, user, headers }, _device, onMessage) {
    const query = 'feed=continuous&include_docs=true&since=now&heartbeat=10000'
    return openStream(`${origin}/${user}/_changes?${query}`, headers, '\n', onMessage)
  },
}

function write(account: Account, docs: object[]) {
  return json(account, `/${account.user}/_bulk_docs`, { docs })
}

function changes(account: Account, before: string) {
  const since = /"last_seq":\s*(\d+)/.exec(before)?.[1] ?? '0'
  return get(account, `/${account.user}/_changes?include_docs=true&limit=${pageLength}&since=${since}`)
}

function toDocument({ id, encrypted_data: data, data_hash: hash, timestamp: time }: BenchRecord) {
  return { _id: id, data, hash, time, device: 'laptop' }
}
