import type { Database, Db } from '../db/engine/database.ts'
import { attemptRead } from '../db/engine/probe.ts'
import {
  bindingsOf,
  findSealed,
  listSealed,
  listSealedKeys,
  replaceSealed,
  type SealedColumn,
  type SealedKey,
  type SealedValue,
  sealedColumns,
} from '../db/tables/sealed.ts'
import { type Binding, createSeal, type Seal } from '../seal/seal.ts'
import type { Report } from '../terminal/progress.ts'

const pageLength = 50
const maxPasses = 5

type Parts = Pick<Database, 'db' | 'write'>

interface Found {
  /** Values that this call has encrypted with the first key. */
  resealed: number
  /** Values that were encrypted with the first key already. */
  current: number
  /** Values found under another key. Some may have changed before they were replaced. */
  older: number
  /** Values that no listed key opens, or whose rows are damaged. They stay. */
  unreadable: Unreadable[]
}

interface Unreadable {
  table: string
  /** Undefined for the rest of a table whose keys cannot be read either. */
  id: string | undefined
  /** Undefined if no listed key opens the value. */
  damage?: Error & { code: string }
}

/**
 * Encrypts stored values that are sealed with other keys again, with the first key. The service can keep writing: a
 * value is only replaced if it has not changed, and the next pass finds what was written behind the current page.
 * Resolves once a pass has found nothing under another key.
 */
export async function reseal(
  parts: Parts,
  secretKeys: Uint8Array[],
  report: Report = () => {},
): Promise<Omit<Found, 'older'>> {
  const anyKey = createSeal(secretKeys)
  const firstKey = createSeal(secretKeys.slice(0, 1))
  const first = await pass(parts, anyKey, firstKey, report)
  let { resealed } = first
  let last = first
  for (let passes = 1; last.older > 0; passes += 1) {
    if (passes === maxPasses)
      throw new Error('SECRET_KEY: an instance goes on sealing under another key than the first')
    last = await pass(parts, anyKey, firstKey, report)
    resealed += last.resealed
  }
  return { resealed, current: first.current, unreadable: last.unreadable }
}

async function pass(parts: Parts, anyKey: Seal, firstKey: Seal, report: Report): Promise<Found> {
  const found: Found = { resealed: 0, current: 0, older: 0, unreadable: [] }
  for await (const { column, page, damaged, bindingOf } of sealedPages(parts.db)) {
    found.unreadable.push(...damaged)
    const replacements: Replacement[] = []
    for (const value of page) {
      const binding = bindingOf(value)
      const opened = anyKey.open(value.sealed, binding)
      if (!opened) found.unreadable.push({ table: column.table, id: value.id })
      else if (firstKey.open(value.sealed, binding)) found.current += 1
      else replacements.push({ value, replacement: firstKey.seal(opened, binding) })
    }
    found.older += replacements.length
    found.resealed += await replaceAll(parts, column, replacements)
    report('resealing', found.resealed + found.current + found.unreadable.length)
  }
  return found
}

interface SealedPage {
  column: SealedColumn
  page: SealedValue[]
  damaged: Unreadable[]
  bindingOf(value: SealedValue): Binding
}

/** All sealed values of the database. */
export async function* sealedPages(db: Db): AsyncGenerator<SealedPage> {
  for (const column of sealedColumns) {
    const bindingOf = bindingsOf(column)
    let after: SealedKey | undefined
    do {
      const { value: page } = await attemptRead(() => listSealed(db, column, after, pageLength))
      const read = page ? { page, damaged: [], last: page.at(-1) } : await readSingly(db, column, after)
      yield { column, bindingOf, ...read }
      after = read.last
    } while (after)
  }
}

/** Reads the values of a page with damaged rows one by one. Without `last`, the column has no more. */
async function readSingly(db: Db, column: SealedColumn, after: SealedKey | undefined) {
  const { table } = column
  const [page, damaged]: [SealedValue[], Unreadable[]] = [[], []]
  const { value: keys = [], damage } = await attemptRead(() => listSealedKeys(db, column, after, pageLength))
  if (damage) damaged.push({ table, id: undefined, damage })
  for (const key of keys) {
    const { value, damage } = await attemptRead(() => findSealed(db, column, key))
    if (value) page.push(value)
    if (damage) damaged.push({ table, id: key.id, damage })
  }
  return { page, damaged, last: keys.at(-1) }
}

interface Replacement {
  value: SealedValue
  replacement: string
}

/** A short transaction, so that the service waits for a few milliseconds at most. */
async function replaceAll({ write }: Parts, column: SealedColumn, replacements: Replacement[]): Promise<number> {
  if (replacements.length === 0) return 0
  return write(async (trx) => {
    let replaced = 0
    for (const { value, replacement } of replacements) {
      replaced += Number(await replaceSealed(trx, column, value, replacement))
    }
    return replaced
  })
}
