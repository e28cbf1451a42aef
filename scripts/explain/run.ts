import { mkdtempDisposable, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { pino } from 'pino'
import type { OperationId } from '../../generated/operations.ts'
import { freePort } from '../servers/free-port.ts'
import { startPostgres } from '../servers/postgres.ts'
import { Caller } from './calls.ts'
import { type Statement, takeStatements, watchStatements } from './statements.ts'
import { type FunctionEntry, recordEntries, type TracedFunction, traceModules } from './trace.ts'

/** The service's work for one request. */
export interface Explained {
  operationId: OperationId
  entries: FunctionEntry[]
  statements: Statement[]
  /** How much the database's write-ahead log grew (bytes). Every change goes through it. */
  bytesWritten: number
  /** When the request was sent and when its response ended, by `performance.now()`. */
  sent: number
  answered: number
}

export function functionsOf({ entries }: Explained): Set<TracedFunction> {
  return new Set(entries.map(({ entered }) => entered))
}

export interface Explainer extends AsyncDisposable {
  explain(operationId: OperationId): Promise<Explained>
}

const warmUps = 3
const rounds = 3
/** Time (ms) for the service's work after the response, such as notifying other instances. */
const afterwardsMs = 20

/** Starts the service in this process, on an empty folder. */
export async function openExplainer(onPostgres: boolean): Promise<Explainer> {
  await using opening = new AsyncDisposableStack()
  traceModules()
  watchStatements()
  const { path: folder } = opening.use(await mkdtempDisposable(join(tmpdir(), 'ebs-explain-')))
  const postgres = onPostgres ? opening.adopt(await startPostgres(), (it) => it.close()) : undefined
  const database = postgres ? `${postgres.url}/postgres` : `sqlite:${join(folder, 'bookmarks.db')}`
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  // Imported after `traceModules`, so that these modules are traced.
  const { readConfig } = await import('../../src/service/config/config.ts')
  const { openContext } = await import('../../src/service/context.ts')
  const { createApp } = await import('../../src/service/app.ts')
  const config = readConfig({
    DATA_DIR: folder,
    PORT: String(port),
    PUBLIC_URL: origin,
    DEV_IDP_PORT: '0',
    SERVE_APP: 'false',
    RATE_LIMIT_PER_MINUTE: '1000000',
    DATABASE_URL: database,
  })
  const lines = pino({ level: config.logLevel }, pino.destination(join(folder, 'lines')))
  const context = opening.adopt(await openContext(config, { log: lines }), (it) => it.close())
  const app = opening.adopt(await createApp(context), (it) => it.close())
  await app.listen({ host: '127.0.0.1', port })
  await context.sweeps.first
  const log = postgres ? opening.adopt(await logOfPostgres(database), (it) => it.close()) : logOfSqlite(folder)
  const opened = opening.move()

  async function round(caller: Caller, operationId: OperationId): Promise<Explained> {
    const send = await caller.prepare(operationId)
    await sleep(afterwardsMs)
    const before = await log.length()
    takeStatements()
    let [sent, answered] = [0, 0]
    const entries = await recordEntries(async () => {
      sent = performance.now()
      await send()
      answered = performance.now()
      await sleep(afterwardsMs)
    })
    const statements = takeStatements()
    // When an account is deleted, the log is emptied, and shorter than before.
    const bytesWritten = Math.max(0, (await log.length()) - before)
    return { operationId, entries, statements, bytesWritten, sent, answered }
  }

  return {
    async explain(operationId) {
      const caller = new Caller(origin, operationId)
      await caller.signIn()
      await caller.call('createBookmark')
      for (let done = 0; done < warmUps; done++) await (await caller.prepare(operationId))()
      const explained: Explained[] = []
      for (let done = 0; done < rounds; done++) explained.push(await round(caller, operationId))
      // Returns the round with the fewest functions: in others, a timer of the service may have fired.
      return explained.reduce((least, one) => (functionsOf(one).size < functionsOf(least).size ? one : least))
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** SQLite's write-ahead log. These calls write too little for it to start over from the beginning. */
function logOfSqlite(folder: string) {
  return { length: async () => (await stat(join(folder, 'bookmarks.db-wal'))).size }
}

async function logOfPostgres(url: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const read = "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as length"
  return {
    length: async () => Number((await client.query(read)).rows[0].length),
    close: () => client.end(),
  }
}
