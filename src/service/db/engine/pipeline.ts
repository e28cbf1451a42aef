import type { DatabaseConnection, Kysely } from 'kysely'
import type { Schema } from '../schema.ts'

/** What gives the results of some steps, in their order. */
export type Steps<Results extends unknown[]> = { [Index in keyof Results]: () => Promise<Results[Index]> }

/** By the executor of a transaction, through which Kysely sends no query before the one before has been answered. */
const connections = new WeakMap<object, DatabaseConnection>()

/** From now on, the queries of db/query.ts in this transaction are sent as they come. Postgres answers in their order. */
export async function openPipeline(trx: Kysely<Schema>): Promise<void> {
  const executor = trx.getExecutor()
  connections.set(executor, await executor.provideConnection(async (connection) => connection))
}

export function pipelineOf(db: Kysely<Schema>): DatabaseConnection | undefined {
  return connections.get(db.getExecutor())
}

/** How Postgres refuses what comes after a statement that failed: in_failed_sql_transaction. */
const refused = '25P02'

/** Begins all steps at once. All have ended when it throws the error that the others followed from. */
export async function atOnce<Results extends unknown[] | []>(steps: Steps<Results>): Promise<Results> {
  const outcomes = await Promise.allSettled(steps.map((step) => step()))
  const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  if (errors.length > 0) throw errors.find(({ code }) => code !== refused) ?? errors[0]
  return outcomes.map((outcome) => outcome.status === 'fulfilled' && outcome.value) as Results
}

export async function oneByOne<Results extends unknown[] | []>(steps: Steps<Results>): Promise<Results> {
  const results: unknown[] = []
  for (const step of steps) results.push(await step())
  return results as Results
}
