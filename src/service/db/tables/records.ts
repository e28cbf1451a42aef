import { sql } from 'kysely'
import type { Database, Trx } from '../engine/database.ts'
import { type Placeholders, query } from '../engine/query.ts'
import {
  type Ciphertext,
  ciphertexts,
  type EntityKey,
  type Row,
  records,
  type StoredVersion,
  versionColumns,
} from '../rows.ts'

/** Entities of every type after the one with this key, deleted ones too, by key and without ciphertext. */
export async function listStored(trx: Trx, userId: string, after: EntityKey, limit: number): Promise<StoredVersion[]> {
  return nextStored.all(trx, { userId, ...after, limit })
}

const nextStored = query(
  (db, { userId, entity_type, entity_id, limit }: Placeholders<EntityKey & { userId: string; limit: number }>) =>
    db
      .selectFrom('records')
      .select(versionColumns)
      .where('user_id', '=', userId)
      .where(sql<boolean>`(entity_type, entity_id) > (${entity_type}, ${entity_id})`)
      .orderBy('entity_type')
      .orderBy('entity_id')
      .limit(limit)
      .$castTo<StoredVersion>(),
)

export async function findCiphertext(trx: Trx, userId: string, stamp: number): Promise<string | undefined> {
  return (await data.first(trx, { userId, stamp }))?.encrypted_data
}

const data = query((db, { userId, stamp }: Placeholders<{ userId: string; stamp: number }>) =>
  db.selectFrom('ciphertexts').select('encrypted_data').where('user_id', '=', userId).where('stamp', '=', stamp),
)

/** Writes the records, and the ciphertexts of those that have one of their own. `edits` are those that were live, and are. */
export async function saveRecords(
  { inOrder, insert, upsert, edit }: Pick<Database, 'inOrder' | 'insert' | 'upsert' | 'edit'>,
  trx: Trx,
  rows: Row[],
  edits: ReadonlySet<Row> = new Set(),
): Promise<void> {
  const others = rows.filter((row) => !edits.has(row))
  const later = others.filter((row) => !isFirst(row))
  await inOrder([
    () => edit(trx, [...edits]),
    () => insert(trx, records, others.filter(isFirst)),
    () => upsert(trx, records, later),
    () => insert(trx, ciphertexts, rows.filter(hasOwnCiphertext)),
  ])
}

/** Of its entity, which the transaction has looked for under the user's lock. */
function isFirst({ first_stamp, stamp }: Row): boolean {
  return first_stamp === stamp
}

/** Such a row is also that of its ciphertext. */
function hasOwnCiphertext(row: Row): row is Row & Ciphertext {
  return row.data_stamp === row.stamp && row.encrypted_data !== null
}
