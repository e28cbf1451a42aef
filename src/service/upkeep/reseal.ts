import type { Database, Db } from '../db/engine/database.ts'
import { pages } from '../db/engine/query.ts'
import {
  bindingsOf,
  listSealed,
  replaceSealed,
  type SealedColumn,
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
  /** Values that no listed key opens. They stay. */
  unreadable: { table: string; id: string }[]
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
  for await (const { column, page, bindingOf } of sealedPages(parts.db)) {
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
  bindingOf(value: SealedValue): Binding
}

/** All sealed values of the database. */
export async function* sealedPages(db: Db): AsyncGenerator<SealedPage> {
  for (const column of sealedColumns) {
    const bindingOf = bindingsOf(column)
    for await (const page of pages<SealedValue>((last) => listSealed(db, column, last, pageLength)))
      yield { column, page, bindingOf }
  }
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
