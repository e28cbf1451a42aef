import type { FastifyBaseLogger } from 'fastify'
import { v7 as uuidv7 } from 'uuid'
import { requireLogin } from '../auth/sessions.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Database } from '../db/engine/database.ts'
import { type ExportRow, findExport, listExports, saveExport } from '../db/tables/exports.ts'
import { lockUser } from '../db/tables/users.ts'
import { keyOfFile, obtainExportKey } from '../exports/key.ts'
import { type ExportLimits, makeRoomForExport } from '../exports/limits.ts'
import { parseRange } from '../exports/range.ts'
import { removeExport } from '../exports/remove.ts'
import type { ExportWorker } from '../exports/worker.ts'
import { type ByteRange, ObjectNotFoundError, type ObjectStore } from '../objects/store.ts'
import { openExportKey, sealExportKey } from '../seal/export-key.ts'
import type { Seal } from '../seal/seal.ts'
import { uuidOf } from '../sync/rest.ts'
import { done, type Operations } from './operation.ts'

interface Parts {
  config: ExportLimits
  database: Pick<Database, 'db' | 'write'>
  seal: Seal
  objects: Pick<ObjectStore, 'get' | 'remove'>
  exportWorker: Pick<ExportWorker, 'wake' | 'stop'>
  clock: () => number
  log: FastifyBaseLogger
}

export const exportOperations: Operations<'listExports' | 'createExport' | 'downloadExport' | 'deleteExport', Parts> = {
  async listExports({ session }, { database, clock, seal }) {
    const rows = await listExports(database.db, session.userId, clock())
    // Nobody gets the file of a key that does not open.
    return { status: 200, body: { exports: rows.filter(opensWith(seal)).map(toExport) } }
  },

  async createExport({ session: { userId, loginId }, headers, log }, { config, database, clock, seal, exportWorker }) {
    const random = uuidv7()
    const key = headers['idempotency-key']
    // A repeated request finds its export by this end of the id. The rest is always new, so that a worker that still
    // works on a deleted export does not take the next one for it.
    const mark = key && uuidOf(userId, key).slice(-12)
    const id = mark === undefined ? random : random.slice(0, -mark.length) + mark
    const row = await database.write(async (trx) => {
      const user = await lockUser(trx, userId)
      await requireLogin(trx, { userId, loginId })
      const opens = opensWith(seal)
      const made = mark && (await listExports(trx, userId, clock())).find((one) => one.id.endsWith(mark) && opens(one))
      if (made) return made
      await makeRoomForExport(trx, user, config, clock(), opens)
      const exportKey = await obtainExportKey({ seal, log }, trx, userId)
      const key_sealed = sealExportKey(seal, userId, id, exportKey)
      return saveExport(trx, { id, user_id: userId, status: 'processing', created_at: clock(), key_sealed })
    }, userId)
    exportWorker.wake(row.id)
    return { status: 201, body: toExport({ ...row, ...begun }) }
  },

  async downloadExport({ session: { userId }, params: { id }, headers, log }, parts) {
    const row = await findExport(parts.database.db, userId, id, parts.clock())
    if (!row) throw new ServiceError('ExportNotFound')
    if (row.status !== 'completed') throw new ServiceError('ExportNotReady')
    const size = row.size_bytes ?? 0
    const etag = `"${row.object_key}"`
    const isSameFile = headers['if-range'] === undefined || headers['if-range'] === etag
    const range = isSameFile ? parseRange(headers.range, size) : undefined
    if (range === 'unsatisfiable') {
      throw new ServiceError('RangeNotSatisfiable', { headers: { 'content-range': `bytes */${size}` } })
    }
    const body = await openFile({ ...parts, log }, row, range)
    const described = {
      'content-disposition': `attachment; filename="bookmarks-${new Date(row.created_at).toISOString().slice(0, 10)}.dat"`,
      'content-type': 'application/octet-stream',
      'accept-ranges': 'bytes',
      etag,
    }
    if (!range) return { status: 200, headers: { ...described, 'content-length': `${size}` }, body }
    const { start, end } = range
    const part = { 'content-length': `${end - start + 1}`, 'content-range': `bytes ${start}-${end}/${size}` }
    return { status: 206, headers: { ...described, ...part }, body }
  },

  async deleteExport({ session: { userId, loginId }, params: { id } }, { database, clock, objects, exportWorker }) {
    const row = await findExport(database.db, userId, id, clock())
    if (!row) throw new ServiceError('ExportNotFound')
    await removeExport({ database, objects: { remove: (key) => fromStore(objects.remove(key)) } }, row, (trx) =>
      requireLogin(trx, { userId, loginId }),
    )
    await exportWorker.stop(id)
    return { status: 200, body: done }
  },
}

function opensWith(seal: Seal): (row: ExportRow) => boolean {
  return ({ id, user_id, key_sealed }) => openExportKey(seal, user_id, id, key_sealed) !== null
}

/** The fields of the first response. A repeated request gets them, too, even if the export is further by then. */
const begun = { status: 'processing', size_bytes: null, bookmark_count: null, expires_at: null } as const

/** Opens the file. Compares its size with the row's, so that no other file is sent. */
async function openFile({ database, clock, objects, seal, log }: Parts, row: ExportRow, range: ByteRange | undefined) {
  const exportKey = keyOfFile({ seal, log }, row)
  try {
    const { size, body } = await objects.get(row.object_key ?? '', exportKey, range)
    if (size === row.size_bytes) return body
    body.destroy()
    throw new Error(`the file of export ${row.id} has ${size} bytes instead of ${row.size_bytes}`)
  } catch (error) {
    if (error instanceof ObjectNotFoundError) {
      const isListed = await findExport(database.db, row.user_id, row.id, clock())
      if (isListed) log.error({ err: error, exportId: row.id }, 'the file of an export is gone')
      throw new ServiceError('ExportNotFound', { cause: error })
    }
    throw new ServiceError('Unavailable', { cause: error })
  }
}

async function fromStore<T>(result: Promise<T>): Promise<T> {
  try {
    return await result
  } catch (error) {
    throw new ServiceError('Unavailable', { cause: error })
  }
}

function toExport({ id, created_at, status, size_bytes, bookmark_count, expires_at }: ExportRow): Schemas['Export'] {
  return { id, created_at, status, size_bytes, bookmark_count, expires_at }
}
