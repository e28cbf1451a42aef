import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import { createFairQueue } from '../../../load/turns.ts'
import type { Schema } from '../../schema.ts'
import type { Database, Trx } from '../database.ts'
import { query } from '../query.ts'
import type { WriteAheadLog } from './log.ts'

const savepoint = query(() => sql`savepoint write`)
const release = query(() => sql`release write`)
const rollback = query(() => sql`rollback to write`)
const maxTransactionMs = 50
/** The owner of the writes that the service makes for itself. */
const service = ''

interface Waiting {
  /** Throws if the whole transaction has to be undone. */
  run(trx: Trx, isFirst: boolean): Promise<void>
  settle(): void
  fail(error: unknown): void
}

/**
 * Writes that wait for a commit share the next transaction, a savepoint each, so that one fsync serves them all. One
 * that has taken long takes no further writes: reads wait for it, and so do those who had no turn.
 */
export function groupCommit(
  db: Kysely<Schema>,
  log: Pick<WriteAheadLog, 'checkpoint' | 'flush'>,
): Pick<Database, 'write' | 'load'> {
  const queue = createFairQueue<Waiting>()
  let running = false

  async function drain(): Promise<void> {
    running = true
    while (queue.length() > 0) {
      await eventLoopTurn()
      const group: Waiting[] = []
      try {
        await log.checkpoint()
        await db.transaction().execute(async (trx) => {
          const end = performance.now() + maxTransactionMs
          for (let next = queue.take(); next; next = performance.now() < end ? queue.take() : undefined) {
            group.push(next.item)
            await next.item.run(trx, group.length === 1)
          }
          if (performance.now() > end) await log.flush()
        })
        for (const write of group) write.settle()
      } catch (error) {
        if (error instanceof FirstFailed) {
          group[0]?.fail(error.cause)
          continue
        }
        // Those that had no turn would meet the same fault, each after as long a wait.
        for (const write of [...group, ...takeAll()]) write.fail(error)
      }
    }
    running = false
  }

  function* takeAll(): Generator<Waiting> {
    for (let next = queue.take(); next; next = queue.take()) yield next.item
  }

  const write: Database['write'] = (work, owner = service) =>
    new Promise((resolve, reject) => {
      let settle = () => {}
      queue.add(owner, {
        async run(trx, isFirst) {
          settle = await (isFirst ? first(trx, work, resolve) : inSavepoint(trx, work, resolve, reject))
        },
        settle: () => settle(),
        fail: reject,
      })
      if (!running) void drain()
    })
  return { write, load: () => ({ busy: Number(running), idle: Number(!running), waiting: queue.length() }) }
}

class FirstFailed extends Error {}

/**
 * Returns what to do once the shared transaction is committed. If the first write fails, nothing else is undone with the
 * transaction, so it needs no savepoint, for which SQLite would keep a copy of each page that it changes.
 */
async function first<T>(trx: Trx, work: (trx: Trx) => Promise<T>, resolve: (value: T) => void): Promise<() => void> {
  try {
    const result = await work(trx)
    return () => resolve(result)
  } catch (cause) {
    throw new FirstFailed('the first write has failed', { cause })
  }
}

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
