import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../src/context.ts'
import type { Schemas } from '../../src/contract/schemas.ts'
import type { TestUser } from './app.ts'

type Export = Schemas['Export']

/** Asks for an export and waits until it is done. */
export async function createdExport(user: TestUser): Promise<Export> {
  const { body } = await user.call('POST', '/api/v1/exports')
  return finishedExport(user, body.id)
}

export async function finishedExport(user: TestUser, id: string): Promise<Export> {
  for (;;) {
    const { body } = await user.call('GET', '/api/v1/exports')
    const found = body.exports.find((it: Export) => it.id === id)
    if (found.status === 'completed' || found.status === 'failed') return found
    await sleep(5)
  }
}

/** As if the time of all leases had passed, and that of what waits to be tried again. */
export async function endLeases({ database }: Pick<Context, 'database'>): Promise<void> {
  await database.db.updateTable('exports').set({ lease_until: 0 }).where('lease_until', '>', 0).execute()
}
