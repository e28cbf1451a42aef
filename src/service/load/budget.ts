import type { FastifyBaseLogger } from 'fastify'
import { quotas } from '../../../generated/limits.ts'
import { ServiceError } from '../contract/errors.ts'

const mebibyte = 1024 * 1024
const quietMs = 10_000

/** A hold that goes on at this rate keeps its room: 256 KiB/s, in bytes per ms. */
const fastRate = 256 * 1.024
/** It is not slow before that. */
const graceMs = 1000
/** How fast it goes on is that of the last one or two of these: what came in a burst before keeps nothing. */
const paceMs = 5000
/** Making room takes as long, however much is held: so many holds are looked at, and of one owner. */
const maxLooks = 256
const maxLooksOfOne = 64
/** If nothing could make room, nobody looks again for this long. */
const inVainMs = 100
/** Whoever waits for room asks this often: it may be made as others become slow, of which nothing tells. */
const retryMs = 250

/** Of this process, by owner. */
export type Budget = ReturnType<typeof createBudget>
/** The share of a budget that one request holds. */
export type Hold = ReturnType<Budget['hold']>

/** From this on, the budgets are as large as they become. With less memory, they are smaller. */
export const fullMemory = 768 * mebibyte
/** The memory of a process beside them. */
const otherBytes = 256 * mebibyte

/**
 * A user's share keeps one user from shutting out all others, and a part is kept for those who hold little: a few accounts
 * with all that they may hold shut nobody out.
 */
export function createBudgets(memory: number) {
  const part = Math.min(1, Math.max(0, (memory - otherBytes) / (fullMemory - otherBytes)))
  /** The largest body, and some parts of responses, fit in any case. */
  const scaled = ({ most, ofOne, kept, little }: Sizes, least: number) =>
    createBudget({
      most: Math.max(least, most * part),
      ofOne: Math.max(least, ofOne * part),
      kept: Math.max(little, kept * part),
      little,
    })
  return {
    /** The bytes of request bodies that this process holds. */
    bodies: scaled(
      { most: 128 * mebibyte, ofOne: 64 * mebibyte, kept: 16 * mebibyte, little: mebibyte },
      quotas.batchBodyBytes,
    ),
    /** The bytes of responses that are on their way. */
    responses: scaled(
      {
        most: 128 * mebibyte,
        ofOne: 32 * mebibyte,
        kept: 24 * mebibyte,
        little: 1.5 * mebibyte,
      },
      8 * mebibyte,
    ),
    /** The downloads under way: each keeps a file, or a connection to the object store, open. */
    downloads: createBudget({ most: 64, ofOne: 8, kept: 16, little: 1 }),
  }
}

interface Sizes {
  most: number
  ofOne: number
  /** Beyond `most`, for owners who hold no more than `little`. */
  kept: number
  little: number
}

/** A hold that may be ended so that others get room. */
export interface Endable {
  /** The bytes that have gone on since it was offered. */
  taken(): number
  end(): void
}

interface Offer extends Endable {
  owner: string
  held(): number
  /** Its pace is measured from the first of these. */
  marks: [Mark, Mark]
}

interface Mark {
  at: number
  taken: number
}

/**
 * Counts what is there, not what was announced: otherwise four requests that announce 32 MiB and send nothing would
 * shut everybody out. What is announced only has to fit into the rest, so that no body is begun in vain.
 *
 * Where it is full, the slowest holds of those who hold most make room for one who then holds less than they do, and no more
 * than an equal share. Whoever holds little keeps it, and so does what goes on fast.
 */
function createBudget({ most, ofOne, kept, little }: Sizes) {
  const sums = new Map<string, number>()
  /** Who holds more than little: as many as fit in. */
  const large = new Set<string>()
  const offers = new Map<string, Set<Offer>>()
  const waiting = new Set<() => boolean>()
  let total = 0
  let inVain = { sum: 0, missing: 0, until: 0 }
  /** Runs while there are offers. */
  let marking: NodeJS.Timeout | undefined

  const heldBy = (owner: string) => sums.get(owner) ?? 0

  function count(owner: string, amount: number): void {
    const sum = heldBy(owner) + amount
    total += amount
    if (sum === 0) sums.delete(owner)
    else sums.set(owner, sum)
    if (sum > little) large.add(owner)
    else large.delete(owner)
  }

  /** How much too full it would be with that many more. */
  function excess(owner: string, amount: number): number {
    const sum = heldBy(owner) + amount
    return sum > ofOne ? Number.POSITIVE_INFINITY : total + amount - most - (sum <= little ? kept : 0)
  }

  /** The holds that make room for that many more if they end; undefined if none do. */
  function findSlow(owner: string, amount: number): Offer[] | undefined {
    const sum = heldBy(owner) + amount
    const missing = excess(owner, amount)
    const share = most / (sums.size + (sums.has(owner) ? 0 : 1))
    if (sum > Math.min(ofOne, Math.max(little, share))) return undefined
    const now = performance.now()
    // Those who are refused together look once.
    if (now < inVain.until && sum >= inVain.sum && missing >= inVain.missing) return undefined
    const least = Math.max(little, sum)
    const found = enoughOf(slowOffers(least, now), missing, least)
    if (!found) inVain = { sum, missing, until: now + inVainMs }
    return found
  }

  /** The slowest first, of the owner with most and of those who hold at least half as much: however many others hold less. */
  function slowOffers(least: number, now: number): Offer[] {
    const found: { offer: Offer; rate: number }[] = []
    let enough = least
    let looks = maxLooks
    for (const owner of [...large].sort((a, b) => heldBy(b) - heldBy(a))) {
      const sum = heldBy(owner)
      if (sum <= least || sum < enough || looks <= 0) break
      const own = offers.get(owner) ?? new Set()
      let looksOfOwner = Math.min(looks, maxLooksOfOne, own.size)
      looks -= looksOfOwner
      for (const offer of own) {
        if (looksOfOwner-- === 0) break
        // Next time it is the others' turn.
        own.delete(offer)
        own.add(offer)
        const [{ at, taken }] = offer.marks
        const rate = (offer.taken() - taken) / (now - at)
        if (now > at && rate < fastRate && offer.held() > 0) found.push({ offer, rate })
      }
      if (found.length > 0) enough = Math.max(enough, sum / 2)
    }
    return found.sort((a, b) => a.rate - b.rate).map(({ offer }) => offer)
  }

  /** As many as make room, each of an owner who still holds more than `least`; undefined if all of them do not. */
  function enoughOf(slow: Offer[], missing: number, least: number): Offer[] | undefined {
    const rests = new Map<string, number>()
    const ends: Offer[] = []
    let made = 0
    for (const offer of slow) {
      if (made >= missing) break
      const rest = rests.get(offer.owner) ?? heldBy(offer.owner)
      if (rest <= least) continue
      rests.set(offer.owner, rest - offer.held())
      made += offer.held()
      ends.push(offer)
    }
    return made >= missing ? ends : undefined
  }

  function mark(): void {
    const at = performance.now()
    for (const own of offers.values()) {
      for (const offer of own) offer.marks = [offer.marks[1], { at, taken: offer.taken() }]
    }
    if (offers.size > 0) return
    clearInterval(marking)
    marking = undefined
  }

  function retry(): void {
    for (const add of waiting) if (add()) waiting.delete(add)
    if (waiting.size > 0) setTimeout(retry, retryMs)
  }

  return {
    held: () => total,
    /** True if there is room for that many more, or could be made. */
    hasRoom: (owner: string, amount: number) => excess(owner, amount) <= 0 || findSlow(owner, amount) !== undefined,
    hold(owner: string) {
      let held = 0
      let isOver = false
      let offer: Offer | undefined
      /** Adds what cannot be refused any more. */
      function insist(amount: number): void {
        if (isOver) return
        held += amount
        count(owner, amount)
      }
      /** Returns false, and adds nothing, if there is no room for that many more, and none can be made. */
      function add(amount: number): boolean {
        if (!isOver && excess(owner, amount) > 0) {
          const slow = findSlow(owner, amount)
          if (!slow) return false
          for (const { end } of slow) end()
        }
        insist(amount)
        return true
      }
      /** From now on it is not ended. */
      function keep(): void {
        const own = offers.get(owner)
        if (offer && own?.delete(offer) && own.size === 0) offers.delete(owner)
        offer = undefined
      }
      /** From now on it holds nothing, whatever is still added. */
      function release(): void {
        if (isOver) return
        count(owner, -held)
        keep()
        isOver = true
      }
      return {
        insist,
        add,
        keep,
        release,
        /** Adds that many once there is room for them. */
        async addLater(amount: number): Promise<void> {
          if (add(amount)) return
          const { promise, resolve } = Promise.withResolvers<void>()
          if (waiting.size === 0) setTimeout(retry, retryMs)
          waiting.add(() => {
            const isAdded = add(amount)
            if (isAdded) resolve()
            return isAdded
          })
          await promise
        },
        /** So much of it has left. */
        subtract: (amount: number) => insist(-amount),
        /** It may be ended from now on if others need its room. */
        offer({ taken, end }: Endable): void {
          if (isOver) return
          function endForOthers(): void {
            release()
            end()
          }
          const begun = { at: performance.now() + graceMs, taken: 0 }
          offer = { owner, held: () => held, taken, end: endForOthers, marks: [begun, begun] }
          marking ??= setInterval(mark, paceMs).unref()
          const own = offers.get(owner)
          if (own) own.add(offer)
          else offers.set(owner, new Set([offer]))
        },
      }
    },
  }
}

/** Makes the 503 of an overloaded process. There may be many at once, so they are logged every 10 s at most. */
export function createRefusal(log: FastifyBaseLogger, reason: string): () => ServiceError {
  let refused = 0
  let quietUntil = 0
  return () => {
    refused++
    if (performance.now() >= quietUntil) {
      log.warn({ refused }, reason)
      refused = 0
      quietUntil = performance.now() + quietMs
    }
    return new ServiceError('Overloaded')
  }
}
