import { mkdtemp } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pino } from 'pino'
import { openCopy } from '../../backup/database.ts'
import { ConfigError } from '../../config/values.ts'
import type { Database, Db } from '../../db/engine/database.ts'
import { openDatabase } from '../../db/open.ts'
import { beginEpoch } from '../../db/tables/epoch.ts'
import { listSealed, sealedColumns } from '../../db/tables/sealed.ts'
import { createSeal } from '../../seal/seal.ts'
import type { Report } from '../../terminal/progress.ts'
import { type ExportFolders, restoreExports } from './exports.ts'

const log = pino({ level: 'silent' })
const pageLength = 500

interface Options {
  secretKeys: Uint8Array[]
  /** Undefined if the exports are in a bucket. */
  exports: ExportFolders | undefined
}

/**
 * Makes the copy of a backup fit to be started on, and throws unless it is: intact, of a version that can be migrated to
 * this one, with the schema of this version then, and sealed under the given keys.
 *
 * @param name of the backup, for messages
 */
export async function tryCopy(path: string, name: string, { secretKeys, exports }: Options, report: Report) {
  const { rows, leftOut, beginsEpoch } = await prepare(path, name, exports, report)
  const database = await openDatabase(`sqlite:${path}`, log)
  try {
    await checkSchema(database.db, path, name)
    report('opening what is sealed', 0, 1)
    await checkSeals(database.db, secretKeys, name)
    return { rows, leftOut, epoch: await epochOf(database, beginsEpoch) }
  } finally {
    await database.close()
  }
}

async function prepare(path: string, name: string, exports: ExportFolders | undefined, report: Report) {
  const copy = openCopy(path, name)
  try {
    report('checking the copy', 0, 1)
    const rows = copy.check()
    const leftOut = exports ? await restoreExports(copy.listExports(), exports, report) : []
    for (const [id] of leftOut) copy.removeExport(id)
    return { rows, leftOut, beginsEpoch: copy.beginsEpoch }
  } finally {
    copy.close()
  }
}

/** What this version makes in an empty database is what it needs. */
async function checkSchema(db: Db, path: string, name: string): Promise<void> {
  const folder = await mkdtemp(join(dirname(path), 'schema-'))
  const empty = await openDatabase(`sqlite:${join(folder, 'empty.db')}`, log)
  try {
    const there = new Set(await columnsOf(db))
    const missing = (await columnsOf(empty.db)).filter((column) => !there.has(column))
    if (missing.length > 0) throw new ConfigError(`${name} lacks ${missing.join(', ')}, which this version needs`)
  } finally {
    await empty.close()
  }
}

async function columnsOf(db: Db): Promise<string[]> {
  const tables = await db.introspection.getTables()
  return tables.flatMap(({ name, columns }) => columns.map((column) => `${name}.${column.name}`))
}

async function checkSeals(db: Db, secretKeys: Uint8Array[], name: string): Promise<void> {
  const seal = createSeal(secretKeys)
  let [all, unreadable] = [0, 0]
  for (const column of sealedColumns) {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page = await listSealed(db, column, after, pageLength)
      all += page.length
      unreadable += page.filter(
        ({ id, userId, sealed }) => !seal.open(sealed, { purpose: column.purpose, userId, rowId: id }),
      ).length
      after = page.at(-1)?.id
    }
  }
  if (unreadable === 0) return
  throw new ConfigError(
    `SECRET_KEY: of ${all} sealed values in ${name}, ${unreadable} open under none of its keys; append the key that it was made with`,
  )
}

async function epochOf(database: Database, hasBegun: boolean): Promise<string> {
  if (!hasBegun) return beginEpoch(database)
  const { id } = await database.db.selectFrom('epoch').select('id').executeTakeFirstOrThrow()
  return id
}
