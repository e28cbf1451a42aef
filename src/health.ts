import { sql } from 'kysely'
import type { Context } from './context.ts'
import type { Schemas } from './contract.ts'

type Status = Schemas['Health']['status']

export interface Health {
  status(): Status
  close(): Promise<void>
}

type Parts = Pick<Context, 'database' | 'objects' | 'provider' | 'log'>

const intervalMs = 30_000

/** Probes in the background, so that a report costs nothing; healthy until the first result. */
export function startHealth(parts: Parts): Health {
  let status: Status = 'healthy'
  const update = async () => {
    status = await probe(parts)
  }
  let probing = update()
  const timer = setInterval(() => {
    probing = update()
  }, intervalMs).unref()
  return {
    status: () => status,
    async close() {
      clearInterval(timer)
      await probing
    },
  }
}

async function probe({ database, objects, provider, log }: Parts): Promise<Status> {
  const fails = async (name: string, check: Promise<unknown>) => {
    try {
      await check
      return false
    } catch (error) {
      log.warn({ err: error }, `${name} is out of reach`)
      return true
    }
  }
  const [databaseFails, objectsFail, providerFails] = await Promise.all([
    fails('the database', sql`select 1`.execute(database.db)),
    fails('the object store', objects.probe()),
    fails('the identity provider', provider.probe()),
  ])
  if (databaseFails) return 'unhealthy'
  return objectsFail || providerFails ? 'degraded' : 'healthy'
}
