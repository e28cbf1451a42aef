import { ServiceError } from '../../contract/errors.ts'
import { maxWaiting } from '../../load/turns.ts'
import type { Database, JointWork, Share } from './database.ts'

/** A transaction then takes some milliseconds. A share beyond them is alone in its own. */
const limits = { shares: 100, keys: 1000, bytes: 1024 * 1024 }

/** As its server or file is opened. */
export type SoleDatabase = Omit<Database, 'writeJointly'>

interface Waiting {
  share: Share
  work: JointWork<Share, unknown>
  settle(outcome: PromiseSettledResult<unknown>): void
}

/**
 * What waits for an owner's lock is written together by the next one that gets it: all that takes the statements, the commit
 * and the wait for the disk of one.
 */
export function withJointWrites(sole: SoleDatabase): Database {
  const database: Database = { ...sole, writeJointly, load }
  /** Of each owner for whom a transaction is to begin. */
  const queues = new Map<string, Waiting[]>()
  let length = 0
  return database

  function load() {
    const load = sole.load()
    // The first of each queue waits as a write.
    return { ...load, waiting: load.waiting + length - queues.size }
  }

  function writeJointly<Own extends Share, Result>(
    owner: string,
    share: Own,
    work: JointWork<Own, Result>,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: PromiseSettledResult<unknown>) =>
        outcome.status === 'fulfilled' ? resolve(outcome.value as Result) : reject(outcome.reason)
      add(owner, { share, work: work as unknown as Waiting['work'], settle })
    })
  }

  function add(owner: string, waiting: Waiting): void {
    const queue = queues.get(owner)
    if (queue && queue.length >= maxWaiting) throw new ServiceError('Overloaded')
    length++
    if (queue) queue.push(waiting)
    else begin(owner, [waiting])
  }

  function begin(owner: string, queue: Waiting[]): void {
    queues.set(owner, queue)
    void writeNext(owner, (queue[0] as Waiting).work)
  }

  /** The rest of the owner's queue, and what arrives from now on, is for the next transaction. */
  function takeNext(owner: string): Waiting[] {
    const queue = queues.get(owner) ?? []
    const group = queue.splice(0, countTogether(queue))
    length -= group.length
    queues.delete(owner)
    if (queue.length > 0) begin(owner, queue)
    return group
  }

  async function writeNext(owner: string, work: Waiting['work']): Promise<void> {
    let group: Waiting[] | undefined
    const take = () => {
      // It stays the same if the transaction is retried.
      group ??= takeNext(owner)
      return group.map(({ share }) => share) as [Share, ...Share[]]
    }
    try {
      const outcomes = await database.write(async (trx) => {
        const outcomes = await work(trx, owner, take)
        if (outcomes.length === 1 && outcomes[0]?.status === 'rejected') throw outcomes[0].reason
        return outcomes
      }, owner)
      for (const [index, outcome] of outcomes.entries()) group?.[index]?.settle(outcome)
    } catch (reason) {
      group ??= takeNext(owner)
      if (group.length === 1 || database.isUnavailable(reason) || reason instanceof ServiceError)
        for (const { settle } of group) settle({ status: 'rejected', reason })
      else await Promise.all(group.map((waiting) => writeAlone(owner, waiting)))
    }
  }

  /** The fault of one must not be that of others. */
  async function writeAlone(owner: string, { share, work, settle }: Waiting): Promise<void> {
    const [outcome] = await Promise.allSettled([database.write((trx) => work(trx, owner, () => [share]), owner)])
    settle(outcome.status === 'fulfilled' ? (outcome.value[0] as PromiseSettledResult<unknown>) : outcome)
  }
}

/** The first of the queue, and those after it that can be written with it. */
function countTogether(queue: Waiting[]): number {
  const keys = new Set<string>()
  let bytes = 0
  const end = queue.findIndex(({ share, work }, index) => {
    bytes += share.bytes
    const isTooMuch = index >= limits.shares || keys.size + share.keys.length > limits.keys || bytes > limits.bytes
    const isApart = isTooMuch || work !== queue[0]?.work || share.keys.some((key) => keys.has(key))
    for (const key of share.keys) keys.add(key)
    return index > 0 && isApart
  })
  return end < 0 ? queue.length : end
}
