import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import { FairQueue } from '../../../load/fair-queue.ts'
import type { Schema } from '../../schema.ts'
import type { Database, Trx } from '../database.ts'
import { query } from '../query.ts'
import type { WriteAheadLog } from './log.ts'

const savepoint = query(() => sql`savepoint write`)
const release = query(() => sql`release write`)
const rollback = query(() => sql`rollback to write`)
/** After this time (ms), a transaction accepts no more writes; the rest wait for the next one. */
const maxTransactionMs = 50
/** The owner of the service's own writes. */
const service = ''

interface Write {
  isLarge: boolean
  run(trx: Trx): Promise<void>
  /** Resolves the promise of `write`. Called after the commit. */
  settle(): void
  refuse(error: unknown): void
}

/**
 * SQLite has a single writer. Waiting small writes share a transaction, and so one wait for the disk; all but the first
 * have a savepoint. A large write gets its own transaction; small ones come next, so they wait for one large write.
 */
export function createSqliteWriter(
  db: Kysely<Schema>,
  log: Pick<WriteAheadLog, 'checkpoint' | 'flush'>,
): Pick<Database, 'write'> & { load(): { open: number; waiting: number } } {
  const queue = new FairQueue<Write>()
  let open = 0
  let isRunning = false
  let wasLarge = false

  function write<T>(work: (trx: Trx) => Promise<T>, owner = service, isLarge = false): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    let result: T
    queue.add(owner, {
      isLarge,
      async run(trx) {
        result = await work(trx)
      },
      settle: () => resolve(result),
      refuse: reject,
    })
    // Deferred, so that the writes of one turn of the event loop share a transaction.
    if (!isRunning) setImmediate(runAll)
    isRunning = true
    return promise
  }

  async function runAll(): Promise<void> {
    for (let first = takeFirst(); first; first = takeFirst()) {
      open = 1
      wasLarge = first.isLarge
      await transact(first)
      // Waits two turns: in the first, the answers go out; in the second, follow-up requests arrive. So more writes
      // share the next commit: 25% more creates at 64 connections.
      await eventLoopTurn()
      // The next transaction reports disk faults.
      await log.checkpoint().catch(() => {})
      await eventLoopTurn()
      open = 0
    }
    isRunning = false
  }

  function takeFirst(): Write | undefined {
    return (wasLarge && takeSmall()) || queue.take(() => true)?.item
  }

  function takeSmall(): Write | undefined {
    return queue.take((_, { isLarge }) => !isLarge)?.item
  }

  async function transact(first: Write): Promise<void> {
    const writes = [first]
    const settle: (() => void)[] = []
    try {
      await db.transaction().execute(async (trx) => {
        const end = performance.now() + maxTransactionMs
        const another = () => (first.isLarge || performance.now() > end ? undefined : takeSmall())
        settle.push(await runFirst(trx, first))
        for (let next = another(); next; next = another()) {
          writes.push(next)
          settle.push(await runInSavepoint(trx, next))
        }
        if (performance.now() > end) await log.flush()
      })
    } catch (error) {
      if (error instanceof FirstFailed) return first.refuse(error.cause)
      // The waiting writes would have the same fault. If the database is locked, each would first wait as long.
      for (let next = takeFirst(); next; next = takeFirst()) writes.push(next)
      for (const write of writes) write.refuse(error)
      return
    }
    for (const end of settle) end()
  }

  return { write, load: () => ({ open, waiting: queue.size }) }
}

export function isSqliteUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code = '' } = error as NodeJS.ErrnoException
  // Includes Node's codes, because Node also syncs the log.
  return /^(SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY|CORRUPT|NOTADB)|E(IO|NOSPC|DQUOT)$)/.test(code)
}

class FirstFailed extends Error {}

/**
 * Returns the function to call after the commit. The first write runs without a savepoint, for which SQLite would copy
 * each page that it changes: if it fails, the transaction has nothing else to undo.
 */
async function runFirst(trx: Trx, write: Write): Promise<() => void> {
  try {
    await write.run(trx)
    return () => write.settle()
  } catch (cause) {
    throw new FirstFailed('the first write has failed', { cause })
  }
}

async function runInSavepoint(trx: Trx, write: Write): Promise<() => void> {
  await savepoint.run(trx, {})
  try {
    await write.run(trx)
    await release.run(trx, {})
    return () => write.settle()
  } catch (error) {
    const isUndone = await undo(trx)
    if (!isUndone) throw error
    return () => write.refuse(error)
  }
}

/** Undoes a write. Returns false if SQLite has already rolled back the whole transaction. */
async function undo(trx: Trx): Promise<boolean> {
  try {
    await rollback.run(trx, {})
    await release.run(trx, {})
    return true
  } catch {
    return false
  }
}
