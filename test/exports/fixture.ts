import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { pino } from 'pino'
import type { Test } from 'tap'
import type { ExportFile } from '../../src/client/export-file/export-file.ts'
import { openChunks } from '../../src/client/export-file/export-file.ts'
import type { Database } from '../../src/service/db/engine/database.ts'
import { openDatabase } from '../../src/service/db/open.ts'
import { type ExportRow, findExport, saveExport } from '../../src/service/db/tables/exports.ts'
import { type RecordRow, saveRecords } from '../../src/service/db/tables/records.ts'
import { saveUser } from '../../src/service/db/tables/users.ts'
import { startExportWorker } from '../../src/service/exports/worker.ts'
import { createLimits } from '../../src/service/load/rates.ts'
import { createNotices } from '../../src/service/notices/notices.ts'
import { openFolderStore } from '../../src/service/objects/folder.ts'
import type { ObjectStore } from '../../src/service/objects/store.ts'
import { sealExportKey } from '../../src/service/seal/export-key.ts'
import { createSeal } from '../../src/service/seal/seal.ts'
import { silent } from '../support/log.ts'
import { makeMigrated } from '../support/migrated.ts'
import type { TestStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

export const exportKey = new Uint8Array(32).map((_, index) => index)
export const start = Date.UTC(2026, 10, 21, 8)
export const secretKey = new Uint8Array(32).fill(5)
const seal = createSeal([secretKey])
const limits = createLimits({ rateLimitPerMinute: 1_000_000 })

export type Fixture = Awaited<ReturnType<typeof openFixture>>

/** No export has this id. `worker.stop(none)` waits while the worker is looking for a job, so that clocks can be moved. */
export const none = exportId(0)

/** The export worker's parts, on a separate folder and with stopped clocks. */
export async function openFixture(dir: string, store?: ObjectStore, t?: Test) {
  const opened = await openDatabase(`sqlite:${join(dir, 'bookmarks.db')}`, silent)
  const database = {
    ...opened,
    get now(): Database['now'] {
      return sql<number>`${fixture.databaseNow}`
    },
  }
  const exportsDir = join(dir, 'exports')
  const objects = store ?? (await openFolderStore(exportsDir))
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => lines.push(line) })
  const fixture = {
    database,
    objects,
    seal,
    limits,
    log,
    lines,
    now: start,
    /** The database's clock, which decides about leases. It is an hour behind the process's clock. */
    databaseNow: start - 60 * 60 * 1000,
    clock: () => fixture.now,
    notices: createNotices(log),
    /** The keys of the stored objects. */
    files: async () => (await Array.fromAsync(objects.list())).sort(),
    exportsDir,
    async addUser(id: string) {
      const profile = {
        issuer: 'https://id.example',
        subject: id,
        email: '',
        name: '',
        avatar_url: '',
        email_verified: 0,
      }
      const export_key_sealed = sealExportKey(seal, id, id, exportKey)
      await database.write((trx) => saveUser(trx, { id, ...profile, export_key_sealed, created_at: start }))
    },
    addBookmarks: (rows: RecordRow[]) => database.write((trx) => saveRecords(trx, rows)),
    async addExport(id: string, userId: string) {
      const key_sealed = sealExportKey(seal, userId, id, exportKey)
      const row = { id, user_id: userId, status: 'processing', created_at: fixture.now, key_sealed } as const
      await database.write((trx) => saveExport(trx, row))
    },
    edit: (id: string, values: Partial<ExportRow>) =>
      database.db.updateTable('exports').set(values).where('id', '=', id).execute(),
    find: (id: string, userId: string) => findExport(database.db, userId, id, 0),
    async settled(id: string, userId: string) {
      for (;;) {
        const row = await fixture.find(id, userId)
        if (row?.status === 'completed' || row?.status === 'failed') return row
        await sleep(5)
      }
    },
    /** Starts a worker, which is closed at the end of the test. */
    worker(store: ObjectStore = objects, on = database) {
      const { clock, notices } = fixture
      const worker = startExportWorker({ database: on, objects: store, seal, log, clock, limits, notices })
      t?.teardown(() => worker.close())
      return worker
    },
    /** Requests an export, and waits until it is made. */
    async make(id: string, userId: string) {
      await fixture.addExport(id, userId)
      fixture.worker()
      return fixture.settled(id, userId)
    },
  }
  return fixture
}

/** The fixture for a test: it has the users ada and bob and is closed at the end. */
export async function buildFixture(t: Test, store?: ObjectStore): Promise<Fixture> {
  const dir = t.testdir()
  await makeMigrated(dir)
  const fixture = await openFixture(dir, store, t)
  t.teardown(() => fixture.database.close())
  for (const user of ['ada', 'bob']) await fixture.addUser(user)
  return fixture
}

/** Returns a function that defines a test on this kind of store, with a separate fixture. */
export function testsOn({ open }: TestStore, t: Test) {
  return (title: string, test: (t: Test, fixture: Fixture) => Promise<void>) =>
    t.test(title, async (t) => test(t, await buildFixture(t, await open(t))))
}

export function bookmark(userId: string, index: number, encrypted_data = `cipher${index}`): RecordRow {
  return {
    user_id: userId,
    entity_type: 'bookmark',
    entity_id: `bookmark-${String(index).padStart(6, '0')}`,
    encrypted_data,
    data_hash: `hash${index}`,
    created_at: start + index,
    updated_at: start + index + 1,
    deleted_at: null,
    sequence: index + 1,
    stored_at: start,
    event_id: `event${index}`,
    operation: 'create',
    timestamp: start + index,
    device_id: 'phone',
    resolution_strategy: null,
    overwritten: null,
    recovered: null,
    bytes: encrypted_data.length,
    data_sequence: index + 1,
    first_sequence: index + 1,
    first_stored_at: start,
    others_sequence: null,
    versions: 0,
  }
}

/** The plaintext of an export file, read with the client package. */
export async function openFile(file: ExportFile, key = exportKey): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of openChunks(file, key)) chunks.push(chunk.slice())
  return Buffer.concat(chunks).toString()
}

export async function openObject(objects: ObjectStore, key: string | null | undefined): Promise<string> {
  const { body } = await objects.get(key ?? '', exportKey)
  return openFile(body)
}

/** The number of pieces after which the first part of an upload to S3 has been sent. */
export const pastFirstPart = 130

/** Bookmarks whose export has more pieces than `pastFirstPart`. */
export function largeBookmarks(userId = 'ada'): RecordRow[] {
  return Array.from({ length: 35 }, (_, index) => bookmark(userId, index, 'x'.repeat(262_144)))
}

/** The same bookmarks in the form of an import. */
export function largeImport() {
  return largeBookmarks().map(({ entity_id, encrypted_data, data_hash }) => ({
    id: entity_id,
    encrypted_data: encrypted_data as string,
    data_hash: data_hash as string,
  }))
}

/** A store that holds every upload after this many pieces, until the test calls `open`. */
export function gated(store: ObjectStore, pieces = 1) {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  const waiting: string[] = []
  async function* hold(key: string, content: AsyncIterable<Uint8Array>) {
    let count = 0
    for await (const piece of content) {
      yield piece
      if (++count !== pieces) continue
      waiting.push(key)
      await opened
    }
  }
  const put: ObjectStore['put'] = (key, exportKey, content, signal) =>
    store.put(key, exportKey, hold(key, content), signal)
  return { ...store, put, open, waiting }
}

/** Starts a worker that stops in the middle of the only job until the gate is opened. */
export async function heldJob(fixture: Fixture, pieces?: number) {
  const gate = gated(fixture.objects, pieces)
  const worker = fixture.worker(gate)
  await until(() => gate.waiting.length === 1)
  await worker.stop(none)
  return { gate, worker }
}

export function exportId(index: number): string {
  return `0199f6a0-1c00-7000-8000-${String(index).padStart(12, '0')}`
}
