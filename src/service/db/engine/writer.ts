import { ServiceError } from '../../contract/errors.ts'
import { createFairQueue, maxWaiting } from '../../load/turns.ts'
import { currentWork, newWork, runAs, type Work } from '../../thread/work.ts'
import type { Database, JointWork, Share, Trx } from './database.ts'

/** A transaction then takes some milliseconds. A share beyond them is large: alone in its own. */
const limits = { shares: 100, wanted: 1000, bytes: 1024 * 1024 }
/** By then, callers have given up or will soon. */
export const maxWaitMs = 10_000
/** The owner of the writes that the service makes for itself. */
const service = ''

export interface Writer extends Pick<Database, 'write' | 'writeJointly'> {
  /** The transactions that are open, and the writes that wait for one. */
  load(): { open: number; waiting: number }
}

/** How a database runs transactions. */
export interface Ground {
  /** How many may be open, and how many of one owner; and whether the service's own have to wait for one of these. */
  slots: { all: number; ofOwner: number; serviceWaits: boolean }
  /**
   * Runs `first`, and as many of `more` as are to share its transaction. Settles each or lets it fail, and never throws. The
   * next may begin when it resolves. `rest` gives whatever waits, for a fault that all would meet.
   */
  transact(first: Group, more: () => Group | undefined, rest: () => Group | undefined): Promise<void>
  isUnavailable(error: unknown): boolean
}

/** A part of a transaction, which is undone by itself if it fails. It runs again if the database asks for that. */
export interface Group {
  run(trx: Trx): Promise<void>
  /** After the commit. */
  settle(): void
  fail(error: unknown): void
}

/** A group that waits for its turn. */
interface Batch extends Group {
  begin(): void
  /** It takes long, so whatever shared its transaction would wait for it. */
  isLarge: boolean
  /** For a batch that has waited for too long. */
  isRefused: boolean
}

/** A batch that others of the owner's writes may join. */
interface Joint {
  mayJoin(share: Share, work: JointWork<Share, unknown>): boolean
  join(joined: Joined): void
}

/** A request's part in it. */
interface Joined {
  share: Share
  spent: Work | undefined
  settle(outcome: PromiseSettledResult<unknown>): void
}

/**
 * Decides whose turn it is, and what shares a transaction. Each owner has a turn before any has two, and an owner whose writes
 * wait for a lock holds few connections. What an owner writes jointly goes with what of it waits for its turn or its lock: all
 * that takes the statements, the commit and the wait for the disk of one. Whatever is not large waits for one large batch at
 * most: those go alone, and after one comes what else waits.
 */
export function createWriter(ground: Ground): Writer {
  const { all, ofOwner, serviceWaits } = ground.slots
  const queue = createFairQueue<Batch>()
  const waiting = createCounts()
  const open = createCounts()
  /** By owner: the batch that takes what else the owner writes jointly. */
  const joinable = new Map<string, Joint>()
  let isScheduled = false
  let wasLarge = false

  /** A batch begins in the turn of the event loop after it has come, so that those of one turn are in their owners' order. */
  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    // The time of the transaction itself is nobody's: it may be shared by many.
    runAs(undefined, () =>
      setImmediate(() => {
        isScheduled = false
        begin()
      }),
    )
  }

  function begin(): void {
    while (open.total() < all) {
      const mayHaveTurn = (owner: string) => open.of(owner) < ofOwner
      const small = wasLarge ? take((owner, batch) => mayHaveTurn(owner) && !batch.isLarge) : undefined
      const next = small ?? take(mayHaveTurn)
      if (!next) return
      wasLarge = next.item.isLarge
      void transact(next.owner, next.item)
    }
  }

  function take(mayHaveTurn?: (owner: string, batch: Batch) => boolean) {
    let next = queue.take(mayHaveTurn)
    while (next?.item.isRefused) next = queue.take(mayHaveTurn)
    next?.item.begin()
    return next
  }

  async function transact(owner: string, batch: Batch): Promise<void> {
    open.add(owner, 1)
    const more = () => (batch.isLarge ? undefined : take((_, { isLarge }) => !isLarge)?.item)
    await ground.transact(batch, more, () => take()?.item)
    open.add(owner, -1)
    begin()
  }

  /** @param leave called once it no longer waits for its turn */
  function enqueue(owner: string, group: Group & Pick<Batch, 'isLarge'>, leave: () => void): void {
    const begin = () => {
      clearTimeout(late)
      leave()
    }
    const batch: Batch = { ...group, begin, isRefused: false }
    queue.add(owner, batch)
    const late = setTimeout(() => {
      batch.isRefused = true
      leave()
      group.fail(new ServiceError('Overloaded'))
    }, maxWaitMs)
    schedule()
  }

  /** On a database with one writer, all others wait for who has it. */
  async function goFirst<T>(work: Work, run: () => Promise<T>): Promise<T> {
    work.isAwaited = all === 1
    try {
      return await runAs(work, run)
    } finally {
      work.isAwaited = false
    }
  }

  function demandRoom(owner: string): void {
    if (waiting.of(owner) >= maxWaiting) throw new ServiceError('Overloaded')
  }

  function write<T>(work: (trx: Trx) => Promise<T>, owner = service): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let result: T
      const spent = currentWork()
      const group = {
        isLarge: false,
        async run(trx: Trx) {
          result = await goFirst(spent ?? newWork(owner), () => work(trx))
        },
        settle: () => resolve(result),
        fail: reject,
      }
      const none = () => undefined
      if (owner === service && !serviceWaits) return void ground.transact(group, none, none)
      demandRoom(owner)
      enqueue(owner, group, () => waiting.add(owner, -1))
      waiting.add(owner, 1)
    })
  }

  function writeJointly<Own extends Share, Result>(owner: string, share: Own, ofOwn: JointWork<Own, Result>) {
    const work = ofOwn as unknown as JointWork<Share, unknown>
    return new Promise<Result>((resolve, reject) => {
      const settle = (outcome: PromiseSettledResult<unknown>) =>
        outcome.status === 'fulfilled' ? resolve(outcome.value as Result) : reject(outcome.reason)
      const joined = { share, settle, spent: currentWork() }
      demandRoom(owner)
      const batch = joinable.get(owner)
      if (batch?.mayJoin(share, work)) batch.join(joined)
      else joinable.set(owner, jointBatch(owner, work, joined))
    })
  }

  /** May be joined until it is taken, by who has got the owner's lock. */
  function jointBatch(owner: string, work: JointWork<Share, unknown>, first: Joined): Joint {
    const batch: Joined[] = []
    const keys = new Set<string>()
    let [wanted, bytes] = [0, 0]
    let waitingHere = 0
    let outcomes: PromiseSettledResult<unknown>[] = []
    const leave = (count: number) => {
      waiting.add(owner, -count)
      waitingHere -= count
    }

    function mayJoin(share: Share, sameWork: JointWork<Share, unknown>): boolean {
      if (work !== sameWork || batch.length >= limits.shares) return false
      if (wanted + countWanted(share) > limits.wanted || bytes + share.bytes > limits.bytes) return false
      return ![...share.entities.keys()].some((key) => keys.has(key))
    }

    function join(joined: Joined): void {
      batch.push(joined)
      for (const key of joined.share.entities.keys()) keys.add(key)
      wanted += countWanted(joined.share)
      bytes += joined.share.bytes
      waiting.add(owner, 1)
      waitingHere++
    }

    /** It stays as it is from now on, also if the transaction runs again. */
    function close(): void {
      if (joinable.get(owner) === joint) joinable.delete(owner)
      leave(waitingHere)
    }

    function takeShares() {
      close()
      return batch.map(({ share }) => share) as [Share, ...Share[]]
    }

    const joint: Joint = { mayJoin, join }
    const group = {
      isLarge: countWanted(first.share) > limits.wanted || first.share.bytes > limits.bytes,
      async run(trx: Trx) {
        const together = newWork(owner)
        try {
          outcomes = await goFirst(together, () => work(trx, owner, takeShares))
        } finally {
          for (const { spent } of batch) if (spent) spent.ms += together.ms / batch.length
        }
        if (outcomes.length === 1 && outcomes[0]?.status === 'rejected') throw outcomes[0].reason
      },
      settle() {
        for (const [index, outcome] of outcomes.entries()) batch[index]?.settle(outcome)
      },
      fail(reason: unknown) {
        close()
        const isOfAll = batch.length === 1 || ground.isUnavailable(reason) || reason instanceof ServiceError
        for (const joined of batch)
          if (isOfAll) joined.settle({ status: 'rejected', reason })
          // The fault of one must not be that of others.
          else writeAlone(owner, work, joined)
      },
    }
    enqueue(owner, group, () => leave(Math.min(1, waitingHere)))
    join(first)
    return joint
  }

  function writeAlone(owner: string, work: JointWork<Share, unknown>, joined: Joined): void {
    try {
      jointBatch(owner, work, joined)
    } catch (reason) {
      joined.settle({ status: 'rejected', reason })
    }
  }

  return { write, writeJointly, load: () => ({ open: open.total(), waiting: waiting.total() }) }
}

function countWanted({ entities }: Share): number {
  let count = 0
  for (const ofOne of entities.values()) count += ofOne.length
  return count
}

/** Numbers by owner. */
function createCounts() {
  const counts = new Map<string, number>()
  let total = 0
  return {
    add(owner: string, change: number): void {
      const count = (counts.get(owner) ?? 0) + change
      total += change
      if (count === 0) counts.delete(owner)
      else counts.set(owner, count)
    },
    of: (owner: string) => counts.get(owner) ?? 0,
    total: () => total,
  }
}
