/** Runs in the browser, in a page of the service: what a device with many bookmarks in IndexedDB does. */
import { xchacha20poly1305 } from '@noble/ciphers/chacha.js'
import { type Client, createClient } from '../src/client/api/client.ts'
import { unwrap } from '../src/client/api/unwrap.ts'
import type { PlaintextBookmark } from '../src/client/bookmark.ts'
import { writeBookmarkCsv, writeBookmarkFileAsync, writeBookmarkJson } from '../src/client/bookmark-file.ts'
import { base64ToBytes } from '../src/client/crypto/base64.ts'
import { deriveKeys, type Keys } from '../src/client/crypto/keys.ts'
import { encryptBookmark } from '../src/client/crypto/record.ts'
import { createSync } from '../src/client/sync/create-sync.ts'
import type { SyncEvent } from '../src/client/sync/exchange/transport.ts'
import { indexedDbStore } from '../src/client/sync/store/indexed-db.ts'
import type { Sync } from '../src/client/sync/sync.ts'
import type { FromReader } from '../src/web/settings/reading-worker.ts'

export interface Step {
  name: string
  /** The time until the call has resolved, in ms. */
  total: number
  /** The longest time in which the page could not respond, in ms. */
  stall: number
  /** The unavoidable parts of the step: the mean of a measurement before it and one after it. */
  alone?: Alone
}

export interface Visit {
  kind: keyof typeof visits
  count: number
  userId: string
  masterKey: number[]
}

/** The steps between loading the page and leaving it. */
const visits = {
  async import(sync: Sync, { count, keys }: Setting) {
    const list = makeBookmarks(count)
    const importing = () => measure('import, until it is stored', () => sync.importBookmarks(list))
    return [
      await withUnavoidable(importing, async () => sealAlone(keys, list)),
      await measure('push of what was imported', () => sync.syncNow()),
    ]
  },
  async 'first sync'(sync: Sync, { client, keys }: Setting) {
    const syncing = () => measure('first sync of a second device', () => sync.syncNow())
    return [await withUnavoidable(syncing, () => pullAlone(client, keys))]
  },
  async reload(sync: Sync) {
    const steps = [
      await measure('reload, until bookmarks can be read', () => sync.start()),
      await measure('  their tree', async () => sync.tree()),
    ]
    await sync.syncNow()
    const bookmark = [...sync.bookmarks().values()].at(-1) as PlaintextBookmark
    return [
      ...steps,
      await measure('edit, until it is stored', () => sync.put({ ...bookmark, title: 'Edited' })),
      await measure('  the tree after it', async () => sync.tree()),
      await measure('a folder gets another name', () => sync.update(bookmark.parentId ?? '', { title: 'Renamed' })),
      await measure('  the tree after it', async () => sync.tree()),
    ]
  },
}

interface Setting {
  count: number
  client: Client
  keys: Keys
}

/** Measures the step, and its unavoidable parts before and after it, because the machine's load may change. */
async function withUnavoidable(step: () => Promise<Step>, alone: () => Promise<Alone>): Promise<Step> {
  const before = await alone()
  const measured = await step()
  const after = await alone()
  const mean = (part: keyof Alone) => (before[part] + after[part]) / 2
  return { ...measured, alone: { network: mean('network'), cipher: mean('cipher') } }
}

async function visit({ kind, count, userId, masterKey }: Visit): Promise<Step[]> {
  const deviceId = kind === 'import' ? 'first' : 'second'
  const client = createClient({ baseUrl: location.origin, deviceId })
  const keys = deriveKeys(Uint8Array.from(masterKey))
  const sync = createSync({ client, keys, userId, deviceId, store: indexedDbStore(userId) })
  const steps = await visits[kind](sync, { count, client, keys })
  if (sync.bookmarks().size !== count) throw new Error(`${sync.bookmarks().size} of ${count} bookmarks are there`)
  await sync.stop()
  return steps
}

async function measure(name: string, work: () => Promise<unknown>): Promise<Step> {
  const start = performance.now()
  let [last, stall] = [start, 0]
  const look = () => {
    const now = performance.now()
    stall = Math.max(stall, now - last)
    last = now
  }
  const timer = setInterval(look)
  await work()
  look()
  clearInterval(timer)
  return { name, total: last - start, stall }
}

/** Times of the parts that no sync can avoid, each measured by itself, in ms. */
export interface Alone {
  /** Downloading and parsing all pages of changes, one after the other. */
  network: number
  /** Decrypting or encrypting the same bytes with the library's XChaCha20-Poly1305. */
  cipher: number
}

/** Times the pull of everything, and then its decryption. Stores nothing. */
async function pullAlone(client: Client, keys: Keys): Promise<Alone> {
  const start = performance.now()
  const events: SyncEvent[] = []
  for (let [since, hasMore] = [0, true]; hasMore; ) {
    const page = unwrap(await client.POST('/api/v1/sync/pull', { body: { since } }))
    events.push(...page.changes)
    since = page.last_sync_timestamp
    hasMore = page.has_more
  }
  const network = performance.now() - start
  return { network, cipher: timeCipher(keys, events, 'decrypt') }
}

function sealAlone(keys: Keys, bookmarks: readonly PlaintextBookmark[]): Alone {
  const records = bookmarks.map((bookmark) => {
    return { entity_type: 'bookmark' as const, entity_id: bookmark.id, ...encryptBookmark(keys, bookmark) }
  })
  return { network: 0, cipher: timeCipher(keys, records, 'encrypt') }
}

/** Decodes the records first, so that only the cipher is timed. Returns ms. */
function timeCipher(
  { recordKey }: Keys,
  records: readonly Pick<SyncEvent, 'entity_type' | 'entity_id' | 'encrypted_data'>[],
  how: 'encrypt' | 'decrypt',
): number {
  const inputs = records.map(({ entity_type, entity_id, encrypted_data = '' }) => {
    const bytes = base64ToBytes(encrypted_data) as Uint8Array
    const associatedData = new TextEncoder().encode(`ebs/1\0${entity_type}\0${entity_id}`)
    const end = how === 'encrypt' ? -16 : bytes.length
    return { nonce: bytes.slice(1, 25), associatedData, text: bytes.slice(25, end) }
  })
  const start = performance.now()
  for (const { nonce, associatedData, text } of inputs) xchacha20poly1305(recordKey, nonce, associatedData)[how](text)
  return performance.now() - start
}

/** Every 50 items are a folder and the 49 bookmarks in it. Titles and URLs have realistic lengths. */
function makeBookmarks(count: number): PlaintextBookmark[] {
  const folders = Array.from({ length: count / 50 }, () => crypto.randomUUID())
  return Array.from({ length: count }, (_, index) => {
    const id = folders[index / 50] ?? crypto.randomUUID()
    const dateAdded = new Date(1_600_000_000_000 + index * 3_600_000).toISOString()
    const common = { id, source: 'bookmarks' as const, dateAdded, position: `a${index}` }
    if (folders[index / 50]) return { ...common, title: `Folder ${index / 50}` }
    const path = `articles/${index}/how-to-keep-bookmarks-in-step`.slice(0, 20 + (index % 30))
    return {
      ...common,
      title: `How to keep bookmarks in step, part ${index}`,
      url: `https://www.example.org/${path}`,
      parentId: folders[Math.floor(index / 50)] as string,
    }
  })
}

/** A worker reads files with this many items and sends the bookmarks to the page, as when a person imports a file. */
async function readFiles(count: number): Promise<Step[]> {
  const bookmarks = makeBookmarks(count)
  const files = {
    HTML: await writeBookmarkFileAsync(bookmarks),
    CSV: await writeBookmarkCsv(bookmarks),
    JSON: writeBookmarkJson(bookmarks),
  }
  const steps: Step[] = []
  for (const [kind, text] of Object.entries(files)) {
    const file = new Blob([text])
    steps.push(await measure(`read a file of ${kind}`, () => readAside(file)))
  }
  return steps
}

function readAside(file: Blob): Promise<PlaintextBookmark[]> {
  const thread = new Worker('/reading.js')
  const bookmarks: PlaintextBookmark[] = []
  return new Promise<PlaintextBookmark[]>((resolve, reject) => {
    thread.addEventListener('message', ({ data }: MessageEvent<FromReader>) => {
      if ('part' in data) bookmarks.push(...data.part)
      else if ('read' in data) resolve(bookmarks)
      else reject(new Error(JSON.stringify(data)))
    })
    thread.addEventListener('error', reject)
    thread.postMessage(file)
  }).finally(() => thread.terminate())
}

Object.assign(globalThis, { visit, readFiles })
