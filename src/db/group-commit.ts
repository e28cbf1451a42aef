import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Database, Trx } from './database.ts'
import { createFairQueue } from './fair-queue.ts'
import { query } from './query.ts'
import type { Schema } from './schema.ts'
import type { WriteAheadLog } from './write-ahead-log.ts'

const savepoint = query(() => sql`savepoint write`)
const release = query(() => sql`release write`)
const rollback = query(() => sql`rollback to write`)
const maxTransactionMs = 50
/** The owner of the writes that the service makes for itself. */
const service = ''

interface Waiting {
  isLarge: boolean
  run(trx: Trx): Promise<void>
  settle(): void
  fail(error: unknown): void
}

/**
 * Writes that wait for a commit share the next transaction, one savepoint each, so that one fsync serves them all. One
 * that has taken long takes no further writes: reads wait for it, and so do those who had no turn.
 *
 * A large write has a transaction to itself, on a connection that does not hold the event loop. The two never write at once.
 */
export function groupCommit(
  db: Kysely<Schema>,
  large: Kysely<Schema>,
  log: Pick<WriteAheadLog, 'checkpoint' | 'flush'>,
): Pick<Database, 'write' | 'load'> {
  const queue = createFairQueue<Waiting>()
  let running = false

  async function drain(): Promise<void> {
    running = true
    while (queue.length() > 0) {
      await eventLoopTurn()
      const first = queue.take()?.item as Waiting
      const group = [first]
      try {
        await log.checkpoint()
        if (first.isLarge) await large.transaction().execute((trx) => first.run(trx))
        else await db.transaction().execute((trx) => runAll(trx, group))
        for (const write of group) write.settle()
      } catch (error) {
        // Those that had no turn would meet the same fault, each after as long a wait, unless a thread's end was all.
        const isOver = (error as NodeJS.ErrnoException).code === 'SQLITE_INTERRUPT'
        for (const write of isOver ? group : [...group, ...takeAll()]) write.fail(error)
      }
    }
    running = false
  }

  /** Others join while it runs, except for large ones. */
  async function runAll(trx: Trx, group: Waiting[]): Promise<void> {
    const end = performance.now() + maxTransactionMs
    for (const write of group) {
      await write.run(trx)
      const next = performance.now() < end && queue.take((_, { isLarge }) => !isLarge)
      if (next) group.push(next.item)
    }
    if (performance.now() > end) await log.flush()
  }

  function* takeAll(): Generator<Waiting> {
    for (let next = queue.take(); next; next = queue.take()) yield next.item
  }

  const write: Database['write'] = (work, owner = service, isLarge = false) =>
    new Promise((resolve, reject) => {
      let settle = () => {}
      queue.add(owner, {
        isLarge,
        async run(trx) {
          settle = await inSavepoint(trx, work, resolve, reject)
        },
        settle: () => settle(),
        fail: reject,
      })
      if (!running) void drain()
    })
  return { write, load: () => ({ busy: Number(running), idle: Number(!running), waiting: queue.length() }) }
}

/** Returns what to do once the shared transaction is committed. */
async function inSavepoint<T>(
  trx: Trx,
  work: (trx: Trx) => Promise<T>,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): Promise<() => void> {
  await savepoint.run(trx, {})
  try {
    const result = await work(trx)
    await release.run(trx, {})
    return () => resolve(result)
  } catch (error) {
    const isUndone = await undo(trx)
    if (!isUndone) throw error
    return () => reject(error)
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
