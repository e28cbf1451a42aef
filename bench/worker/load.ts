import { setTimeout as sleep } from 'node:timers/promises'
import { v7 as uuidv7 } from 'uuid'
import { operations } from '../../generated/operations.ts'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import { bookmarkId, sequenceStart } from '../data.ts'
import { type Account, apis, get, json, pageLength, type Request, service } from './apis.ts'
import { connect, percentile, rateOf, secondsOf, together } from './http.ts'
import { ciphertextLength, edited, newContent, newRecords } from './records.ts'

export interface Batches {
  records: number
  size: number
  connections: number
}

/** Pushes new records. Resolves with records per second. */
export async function pushNew(account: Account, batches: Batches): Promise<number> {
  return pushTimed(account, batches, false)
}

/** Pushes records, then measures pushes that update all of them. Resolves with records per second. */
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

/** Several devices pull everything at the same time. Resolves with records per second. */
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

/** Pulls when nothing is new. Resolves with requests per second. */
export async function pullNothing(account: Account, { connections, ms }: { connections: number; ms: number }) {
  const server = connect(account.origin, connections)
  const request = await nothingNew(account, server)
  const rate = await rateOf(connections, ms, () => server.end(request))
  await server.close()
  return rate
}

/** Creates bookmarks, one per request. Resolves with requests per second. */
export async function create(account: Account, { connections, ms }: { connections: number; ms: number }) {
  const api = apis[account.api]
  const server = connect(account.origin, connections)
  const content = newContent('')
  const rate = await rateOf(connections, ms, () => server.end(api.create(account, { ...content, id: uuidv7() })))
  await server.close()
  return rate
}

/** One user pushes while another polls for changes. Resolves with the 99th percentile of the polls, in ms. */
export async function pullDuringPushes(pushing: Account, pulling: Account, batches: Batches): Promise<number> {
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

/** Resolves with records per second. */
export async function importAll(account: Account, { records, size, connections }: Batches): Promise<number> {
  const server = connect(account.origin, connections)
  const requests = Array.from({ length: records / size }, () => {
    const bookmarks = newRecords(size).map(({ id, encrypted_data, data_hash }) => {
      return { id, encrypted_data, data_hash, date_added: 1_700_000_000, date_modified: 1_700_000_000 }
    })
    return json(account, operations.importBookmarks.path, { bookmarks })
  })
  const seconds = await secondsOf(() => together(connections, requests, server.end))
  await server.close()
  return records / seconds
}

async function nothingNew(account: Account, server: ReturnType<typeof connect>) {
  const api = apis[account.api]
  await server.end(api.push(account, newRecords(100)))
  const last = await server.end(api.pull(account, 1, ''))
  return api.pullNothing(account, last)
}

const everyMs = 20

/** Creates and deletes an export. Resolves with bookmarks per second, from the request to the complete file. */
export async function exportAll(account: Account, bookmarks: number): Promise<number> {
  const server = connect(account.origin, 1)
  const { createExport, listExports } = operations
  const seconds = await secondsOf(async () => {
    const created: Schemas['Export'] = JSON.parse(
      await server.text({ ...get(account, createExport.path), method: 'POST' }),
    )
    for (; ; await sleep(everyMs)) {
      const { exports }: Schemas['ExportList'] = JSON.parse(await server.text(get(account, listExports.path)))
      const { status, bookmark_count } = exports.find(({ id }) => id === created.id) ?? created
      if (status === 'completed' && bookmark_count === bookmarks) return
      if (status === 'completed' || status === 'failed') throw new Error(`${status}, with ${bookmark_count} bookmarks`)
    }
  })
  const { exports }: Schemas['ExportList'] = JSON.parse(await server.text(get(account, listExports.path)))
  for (const { id } of exports) await server.end({ ...get(account, `${listExports.path}/${id}`), method: 'DELETE' })
  await server.close()
  return bookmarks / seconds
}

/** The median and the 99th percentile of each request in ms, sent one after another. */
export async function askAlone(account: Account, { times }: { times: number }): Promise<Record<string, number>> {
  const api = apis[account.api]
  const own = { ...account, headers: { ...account.headers, 'x-device-id': 'phone' } }
  const server = connect(account.origin, 1)
  const records = newRecords(times)
  const pushed = await server.text(api.push(own, records))
  const last = await server.end(api.pull(own, 1, ''))
  const requests: Record<string, (index: number) => Request> = {
    // Must come first: after a write there would be something to pull.
    'pull of nothing': () => api.pullNothing(own, last),
    // Other servers do not have these requests.
    ...(account.api === 'service' && {
      'list page 1': () => get(own, operations.listBookmarks.path),
      status: () => get(own, operations.getSyncStatus.path),
    }),
    create: () => api.create(own, newContent(uuidv7())),
    'push of one': () => api.push(own, newRecords(1)),
    'update of one': (index) => api.update(own, edited(records.slice(index, index + 1)), pushed),
  }
  const figures: Record<string, number> = {}
  for (const [name, request] of Object.entries(requests)) {
    const measured = await timesOf(server, times, request)
    figures[`${name}, p50`] = percentile(measured, 50)
    figures[`${name}, p99`] = percentile(measured, 99)
  }
  await server.close()
  return figures
}

/** The duration of each request in ms, sent one after another. */
async function timesOf(
  server: ReturnType<typeof connect>,
  times: number,
  request: (index: number) => Request,
): Promise<number[]> {
  const measured: number[] = []
  for (let index = 0; index < times; index++) {
    const next = request(index)
    measured.push(1000 * (await secondsOf(() => server.end(next))))
  }
  return measured
}

/** Records in a push: half of them are new, half are edits of records that are far apart in the table. */
const pushed = 50
/** Bookmarks from one edit to the next. A prime, so that edits reach every bookmark before they repeat. */
const stride = 7_919

/** The median of each request in ms, sent one after another. The user's bookmarks come from `addBookmarks`. */
export async function askAll(
  account: Account,
  { bookmarks, times }: { bookmarks: number; times: number },
): Promise<Record<string, number>> {
  const own = { ...account, headers: { ...account.headers, 'x-device-id': 'phone' } }
  const server = connect(account.origin, 1)
  // Starts elsewhere in each round, so that of many rows, those to edit are rarely in the database's cache.
  let edits = Math.floor(Math.random() * bookmarks)
  const nextEdited = () => newContent(bookmarkId(1 + ((stride * edits++) % bookmarks)))
  const pull = (since: number) => json(own, operations.pullChanges.path, { since, limit: 100 })
  const list = (page: number) => get(own, `${operations.listBookmarks.path}?page=${page}`)
  const requests: Record<string, () => Request> = {
    push() {
      const edited = Array.from({ length: pushed / 2 }, nextEdited)
      return service.push(account, [...newRecords(pushed / 2), ...edited])
    },
    pull: () => pull(sequenceStart + bookmarks / 2),
    'list page 1': () => list(1),
    'list page 100': () => list(100),
    status: () => get(own, operations.getSyncStatus.path),
  }
  const medians: Record<string, number> = {}
  for (const [name, request] of Object.entries(requests)) {
    // Otherwise the status would count the changes that the device has not pulled.
    if (name === 'status') await pullToEnd()
    medians[name] = percentile(await timesOf(server, times, request), 50)
  }
  await server.close()
  return medians

  async function pullToEnd(): Promise<void> {
    let since = sequenceStart + bookmarks - 1
    for (let more = true; more; ) {
      const page: Schemas['PullResponse'] = JSON.parse(await server.text(pull(since)))
      since = page.last_sync_timestamp
      more = page.has_more
    }
  }
}
