import { v7 as uuidv7 } from 'uuid'
import { operations } from '../../generated/operations.ts'
import { type Account, json, pageLength } from './apis/api.ts'
import { apis } from './apis/apis.ts'
import { connect, rateOf, secondsOf, together } from './http.ts'
import { percentile } from './percentile.ts'
import { ciphertextLength, edited, newContent, newRecords } from './records.ts'

export interface Batches {
  records: number
  size: number
  connections: number
}

/** Records a second. */
export async function pushNew(account: Account, batches: Batches): Promise<number> {
  return pushTimed(account, batches, false)
}

/** Pushes them, and then measures a push of later versions of all of them. */
export async function pushUpdates(account: Account, batches: Batches): Promise<number> {
  return pushTimed(account, batches, true)
}

async function pushTimed(account: Account, { records, size, connections }: Batches, again: boolean): Promise<number> {
  const api = apis[account.api]
  const server = connect(account.origin, connections)
  const parts = Array.from({ length: records / size }, () => newRecords(size))
  let requests = parts.map((part) => api.push(account, part))
  if (again) {
    const pushed = await together(connections, requests, server.text)
    requests = parts.map((part, index) => api.update(account, edited(part), pushed[index] ?? ''))
  }
  const seconds = await secondsOf(() => together(connections, requests, server.end))
  await server.close()
  return records / seconds
}

/** Some devices at once, each of which pulls everything. Records a second. */
export async function pullAll(account: Account, { records, devices }: { records: number; devices: number }) {
  const api = apis[account.api]
  const server = connect(account.origin, devices)
  const device = async () => {
    let end = ''
    for (let page = 1; page <= records / pageLength; page++) end = await server.end(api.pull(account, page, end))
  }
  const seconds = await secondsOf(() => Promise.all(Array.from({ length: devices }, device)))
  await server.close()
  if (server.received() < records * devices * ciphertextLength) throw new Error('Not everything was pulled')
  return (records * devices) / seconds
}

/** Requests a second, when nothing is new. */
export async function pullNothing(account: Account, { connections, ms }: { connections: number; ms: number }) {
  const server = connect(account.origin, connections)
  const request = await nothingNew(account, server)
  const rate = await rateOf(connections, ms, () => server.end(request))
  await server.close()
  return rate
}

/** Requests a second. */
export async function create(account: Account, { connections, ms }: { connections: number; ms: number }) {
  const api = apis[account.api]
  const server = connect(account.origin, connections)
  const content = newContent('')
  const rate = await rateOf(connections, ms, () => server.end(api.create(account, { ...content, id: uuidv7() })))
  await server.close()
  return rate
}

/** While one user pushes, another one asks what is new, again and again. The 99th percentile, in ms. */
export async function pullBesidePushes(pushing: Account, pulling: Account, batches: Batches): Promise<number> {
  const server = connect(pulling.origin, 1)
  const request = await nothingNew(pulling, server)
  const times: number[] = []
  let isPushing = true
  const pushes = pushNew(pushing, batches).finally(() => {
    isPushing = false
  })
  while (isPushing) times.push(1000 * (await secondsOf(() => server.end(request))))
  await pushes
  await server.close()
  return percentile(times, 99)
}

/** Records a second. */
export async function importAll(account: Account, { records }: { records: number }): Promise<number> {
  const server = connect(account.origin, 1)
  const bookmarks = newRecords(records).map(({ id, encrypted_data, data_hash }) => {
    return { id, encrypted_data, data_hash, date_added: 1_700_000_000, date_modified: 1_700_000_000 }
  })
  const request = json(account, operations.importBookmarks.path, { bookmarks })
  const seconds = await secondsOf(() => server.end(request))
  await server.close()
  return records / seconds
}

async function nothingNew(account: Account, server: ReturnType<typeof connect>) {
  const api = apis[account.api]
  await server.end(api.push(account, newRecords(100)))
  const last = await server.end(api.pull(account, 1, ''))
  return api.pullNothing(account, last)
}
