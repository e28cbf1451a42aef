import { createHash } from 'node:crypto'
import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { fromDigest, hexValue, toDigest } from '../../protocol/digest.ts'
import type { Db } from '../db/engine/database.ts'
import type { RecordsTable } from '../db/schema.ts'
import { recordsAfter } from '../db/tables/records.ts'
import { isLive, type Won } from './rows.ts'

type EntityType = RecordsTable['entity_type']

/** The contract's `digest` of all types, and of two of them. The digest of bookmarks is the difference. */
export type Digests = Record<(typeof digestNames)[number], string>

export const digestNames = ['digest', 'history_digest', 'group_digest'] as const

/** The digests after these winners are stored. */
export function digestsAfter({ digest, history_digest, group_digest }: Digests, won: Won[]): Digests {
  const of = (type: EntityType) => won.filter(({ winner }) => winner.entity_type === type)
  return {
    digest: digestAfter(digest, won),
    history_digest: digestAfter(history_digest, of('history')),
    group_digest: digestAfter(group_digest, of('group')),
  }
}

function digestAfter(digest: string, won: Won[]): string {
  return won.length === 0 ? digest : toDigest(won.reduce(addToSum, fromDigest(digest)))
}

/** The digest of the live records of these types. */
export function digestOfTypes(digests: Digests, types: EntityType[]): string {
  const [all, history, group] = digestNames.map((name) => fromDigest(digests[name])) as [bigint, bigint, bigint]
  const sums = { bookmark: all - history - group, history, group }
  return toDigest([...new Set(types)].reduce((sum, type) => sum + sums[type], 0n))
}

function addToSum(sum: bigint, { winner, stored }: Won): bigint {
  const before = isLive(stored) ? digestValue(stored) : 0n
  // A delete leaves no live record.
  return sum - before + (winner.operation === 'delete' ? 0n : digestValue(winner))
}

/** The number that a live record adds to the sum. */
function digestValue({ data_hash }: { data_hash?: string | null }): bigint {
  const hash = data_hash ?? ''
  return hexValue(hash) ?? (hexValue(createHash('sha256').update(hash).digest('hex')) as bigint)
}

/** Records per query, so that it takes only a few milliseconds. */
const pageRows = 500

type Hashed = Pick<RecordsTable, 'sequence' | 'entity_type' | 'data_hash' | 'deleted_at'>

const hashes = recordsAfter(['sequence', 'entity_type', 'data_hash', 'deleted_at'])

/** Recomputes the digests in short queries. The result is only valid if nothing was written meanwhile. */
export async function digestsOfRecords(db: Db, userId: string): Promise<Digests> {
  const sums = { bookmark: 0n, history: 0n, group: 0n }
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page: Hashed[] = await hashes.all(db, { userId, after, rows: pageRows })
    for (const record of page) if (record.deleted_at === null) sums[record.entity_type] += digestValue(record)
    after = page.length < pageRows ? undefined : page.at(-1)?.sequence
    await eventLoopTurn()
  }
  const { bookmark, history, group } = sums
  return {
    digest: toDigest(bookmark + history + group),
    history_digest: toDigest(history),
    group_digest: toDigest(group),
  }
}
