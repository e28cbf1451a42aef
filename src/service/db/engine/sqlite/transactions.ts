import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Schema } from '../../schema.ts'
import type { Trx } from '../database.ts'
import { query } from '../query.ts'
import type { Ground, Group } from '../writer.ts'
import type { WriteAheadLog } from './log.ts'

const savepoint = query(() => sql`savepoint write`)
const release = query(() => sql`release write`)
const rollback = query(() => sql`rollback to write`)
const maxTransactionMs = 50

/**
 * Whatever waits for a commit shares the next transaction, a savepoint each, so that one fsync serves them all. One that has
 * taken long takes no more: reads wait for it, and so do those who had no turn.
 */
export function sqliteGround(db: Kysely<Schema>, log: Pick<WriteAheadLog, 'checkpoint' | 'flush'>): Ground {
  return {
    slots: { all: 1, ofOwner: 1, serviceWaits: true },
    isUnavailable,
    async transact(first, more, rest) {
      await share(db, log, first, more, rest)
      // Nothing in it waits for the event loop. In one turn its answers go out, in the next the requests arrive that follow them:
      // so more share the next commit (a quarter more creates at 64 connections).
      await eventLoopTurn()
      // Of a fault of the disk, the next transaction tells.
      await log.checkpoint().catch(() => {})
      await eventLoopTurn()
    },
  }
}

async function share(
  db: Kysely<Schema>,
  log: Pick<WriteAheadLog, 'flush'>,
  first: Group,
  more: () => Group | undefined,
  rest: () => Group | undefined,
): Promise<void> {
  const groups = [first]
  const settle: (() => void)[] = []
  try {
    await db.transaction().execute(async (trx) => {
      const end = performance.now() + maxTransactionMs
      const another = () => (performance.now() < end ? more() : undefined)
      settle.push(await runFirst(trx, first))
      for (let next = another(); next; next = another()) {
        groups.push(next)
        settle.push(await runInSavepoint(trx, next))
      }
      if (performance.now() > end) await log.flush()
    })
  } catch (error) {
    if (error instanceof FirstFailed) return first.fail(error.cause)
    // Those that had no turn would meet the same fault, each after as long a wait.
    for (let next = rest(); next; next = rest()) groups.push(next)
    for (const group of groups) group.fail(error)
    return
  }
  for (const end of settle) end()
}

function isUnavailable(error: unknown): boolean {
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
async function runFirst(trx: Trx, group: Group): Promise<() => void> {
  try {
    await group.run(trx)
    return () => group.settle()
  } catch (cause) {
    throw new FirstFailed('the first write has failed', { cause })
  }
}

async function runInSavepoint(trx: Trx, group: Group): Promise<() => void> {
  await savepoint.run(trx, {})
  try {
    await group.run(trx)
    await release.run(trx, {})
    return () => group.settle()
  } catch (error) {
    const isUndone = await undo(trx)
    if (!isUndone) throw error
    return () => group.fail(error)
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
