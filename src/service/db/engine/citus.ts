import { sql } from 'kysely'
import type { Db } from './database.ts'

/** By the adapter of the database. */
const answers = new WeakMap<object, Promise<boolean>>()

/** Whether it is Citus, which has users on many servers: a query for several users goes to all of them. */
export function isDistributed(db: Db): Promise<boolean> {
  const { adapter } = db.getExecutor()
  const known = answers.get(adapter)
  if (known) return known
  const answer = hasCitus(db)
  answers.set(adapter, answer)
  answer.catch(() => answers.delete(adapter))
  return answer
}

async function hasCitus(db: Db): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`select to_regclass('pg_dist_partition') is not null as found`.execute(
    db,
  )
  return rows[0]?.found === true
}
