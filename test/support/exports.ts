import type { Context } from '../../src/service/context.ts'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import type { TestUser } from './app.ts'
import { until } from './until.ts'

type Export = Schemas['Export']

/** Requests an export and waits until it has been made. */
export async function createdExport(user: TestUser): Promise<Export> {
  const { body } = await user.call('POST', '/api/v1/exports')
  return finishedExport(user, body.id)
}

export async function finishedExport(user: TestUser, id: string): Promise<Export> {
  let found: Export | undefined
  await until(async () => {
    const { body } = await user.call('GET', '/api/v1/exports')
    found = body.exports?.find((it: Export) => it.id === id)
    return found?.status === 'completed' || found?.status === 'failed'
  })
  return found as Export
}

/** Ends all leases and all waits for another attempt, as if their time had passed. */
export async function endLeases({ database }: Pick<Context, 'database'>): Promise<void> {
  await database.db.updateTable('exports').set({ lease_until: 0 }).where('lease_until', '>', 0).execute()
}

/** Ends all waits for another attempt. Exports in progress keep their lease. */
export async function endWaits({ database }: Pick<Context, 'database'>): Promise<void> {
  await database.db.updateTable('exports').set({ lease_until: 0 }).where('status', '=', 'pending').execute()
}
