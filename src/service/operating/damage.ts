import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../db/engine/database.ts'
import { attemptRead } from '../db/engine/probe.ts'
import { commandLine } from '../terminal/command.ts'

/** The operator's next step. */
export function damageAdvice(): string {
  return `${commandLine('admin', 'check')} names whose it is (docs/operating/users.md#what-is-damaged)`
}

interface Parts {
  database: Pick<Database, 'isUnavailable'>
  log: FastifyBaseLogger
}

/** Makes a check of the start. If it meets damage, logs that and returns undefined: most users' data may be intact. */
export async function despiteDamage<T>(
  { database, log }: Parts,
  subject: string,
  check: () => Promise<T>,
): Promise<T | undefined> {
  const { value, damage } = await attemptRead(check)
  // Also logs the error, and counts it.
  if (damage && database.isUnavailable(damage))
    log.error(`the check of ${subject} was not completed, because a part of the database is damaged: ${damageAdvice()}`)
  return value
}
