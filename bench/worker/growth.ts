import { operations } from '../../generated/operations.ts'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import { bookmarkId, firstStamp } from '../data/bookmarks.ts'
import { type Account, get, json, type Request } from './apis/api.ts'
import { service } from './apis/service.ts'
import { connect, secondsOf } from './http.ts'
import { percentile } from './percentile.ts'
import { newContent, newRecords } from './records.ts'

/** Half of them are new, half are edits of what lies anywhere in the table. */
const pushed = 50
/** A prime, so that edits come by every bookmark. */
const stride = 7_919

/** The median of each request, in ms, one after another, of a user who has that many bookmarks of data/bookmarks.ts. */
export async function askAll(
  account: Account,
  { bookmarks, times }: { bookmarks: number; times: number },
): Promise<Record<string, number>> {
  const own = { ...account, headers: { ...account.headers, 'x-device-id': 'phone' } }
  const server = connect(account.origin, 1)
  // Elsewhere in each round, so that what is edited is not what has just been read.
  let edits = Math.floor(Math.random() * bookmarks)
  const nextEdited = () => newContent(bookmarkId(1 + ((stride * edits++) % bookmarks)))
  const pull = (since: number) => json(own, operations.pullChanges.path, { since, limit: 100 })
  const list = (page: number) => get(own, `${operations.listBookmarks.path}?page=${page}`)
  const requests: Record<string, () => Request> = {
    push() {
      const edited = Array.from({ length: pushed / 2 }, nextEdited)
      return service.push(account, [...newRecords(pushed / 2), ...edited])
    },
    pull: () => pull(firstStamp + bookmarks / 2),
    'list page 1': () => list(1),
    'list page 100': () => list(100),
    status: () => get(own, operations.getSyncStatus.path),
  }
  const medians: Record<string, number> = {}
  for (const [name, request] of Object.entries(requests)) {
    // The device has pulled to the end, so that its status has nothing to count.
    if (name === 'status') await pullToEnd()
    const measured: number[] = []
    for (let round = 0; round < times; round++) {
      const next = request()
      measured.push(1000 * (await secondsOf(() => server.end(next))))
    }
    medians[name] = percentile(measured, 50)
  }
  await server.close()
  return medians

  async function pullToEnd(): Promise<void> {
    let since = firstStamp + bookmarks - 1
    for (let more = true; more; ) {
      const page: Schemas['PullResponse'] = JSON.parse(await server.text(pull(since)))
      since = page.last_sync_timestamp
      more = page.has_more
    }
  }
}
