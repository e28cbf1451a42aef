import { createCipheriv, randomBytes, randomUUID } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { openRaw, type RawStore, toRow } from '../raw.ts'
import { pageLength } from './apis.ts'
import { secondsOf, together } from './http.ts'
import type { Batches } from './load.ts'
import { edited, newRecords } from './records.ts'

const chunkBytes = 64 * 1024

/** Writes one transaction per batch, on as many connections as a push uses. Resolves with records per second. */
export async function rawPush(place: string, batches: Batches, again: boolean): Promise<number> {
  const { records, size, connections } = batches
  const store = await openRaw(place, connections)
  const user = randomUUID()
  let parts = Array.from({ length: records / size }, () => newRecords(size))
  const rowsOf = (from: number) =>
    parts.map((part, index) => part.map((it, n) => toRow(user, it, from + index * size + n)))
  let rows = rowsOf(1)
  if (again) {
    await together(connections, rows, store.write)
    parts = parts.map(edited)
    rows = rowsOf(records + 1)
  }
  const seconds = await secondsOf(() => together(connections, rows, store.write))
  await store.close()
  return records / seconds
}

/** Selects records page by page and serializes them. Stores them before if there are none. Resolves with records/s. */
export async function rawPull(place: string, records: number): Promise<number> {
  const store = await openRaw(place, 1)
  const user = 'pull'
  await fill(store, user, records)
  const seconds = await secondsOf(async () => {
    for (let after = 0; after < records; after += pageLength)
      JSON.stringify({ changes: await store.page(user, after, pageLength) })
  })
  await store.close()
  return records / seconds
}

/** Like `rawPull`, with the columns of an export. The pages are encrypted and written to a file. */
export async function rawExport(place: string, file: string, records: number): Promise<number> {
  const store = await openRaw(place, 1)
  const user = 'export'
  await fill(store, user, records)
  const seconds = await secondsOf(async () => {
    const output = await open(file, 'w')
    for (let after = 0; after < records; after += pageLength) {
      const text = Buffer.from(JSON.stringify(await store.bookmarks(user, after, pageLength)))
      for (let from = 0; from < text.length; from += chunkBytes) {
        const cipher = createCipheriv('chacha20-poly1305', randomBytes(32), randomBytes(12), { authTagLength: 16 })
        await output.write(cipher.update(text.subarray(from, from + chunkBytes)))
        cipher.final()
        await output.write(cipher.getAuthTag())
      }
    }
    await output.sync()
    await output.close()
  })
  await store.close()
  await rm(file)
  return records / seconds
}

async function fill(store: RawStore, user: string, records: number): Promise<void> {
  if ((await store.page(user, 0, 1)).length > 0) return
  for (let from = 0; from < records; from += pageLength)
    await store.write(newRecords(pageLength).map((record, index) => toRow(user, record, from + index + 1)))
}
