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
/** A transaction that has taken this long takes no more writes: those that had no turn wait for it. */
const maxTransactionMs = 50
/** The owner of the writes that the service makes for itself. */
const service = ''

interface Write {
  isLarge: boolean
  run(trx: Trx): Promise<void>
  /** After the commit. */
  settle(): void
  refuse(error: unknown): void
}

/**
 * SQLite has one writer. Small writes that wait share a transaction, a savepoint each, so that they wait for the disk once. A
 * large one has its own. After one, small ones come first: they wait for one large write at most.
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
    // In the next turn of the event loop, so that those of one turn share a transaction.
    if (!isRunning) setImmediate(runAll)
    isRunning = true
    return promise
  }

  async function runAll(): Promise<void> {
    for (let first = takeFirst(); first; first = takeFirst()) {
      open = 1
      wasLarge = first.isLarge
      await transact(first)
      // In one turn its answers go out, in the next the requests arrive that follow them: so more writes share the next commit
      // (a quarter more creates at 64 connections).
      await eventLoopTurn()
      // The next transaction reports a fault of the disk.
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
      // The waiting writes would meet the same fault, each after as long a wait.
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
  // Node syncs the log, too.
  return /^(SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY|CORRUPT|NOTADB)|E(IO|NOSPC|DQUOT)$)/.test(code)
}

class FirstFailed extends Error {}

/**
 * Returns what to do once the transaction is committed. If the first fails, nothing else is undone with the transaction, so it
 * needs no savepoint, for which SQLite would keep a copy of each page that it changes.
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

/** False if SQLite has ended the whole transaction by itself. */
async function undo(trx: Trx): Promise<boolean> {
  try {
    await rollback.run(trx, {})
    await release.run(trx, {})
    return true
  } catch {
    return false
  }
}
