import type { FastifyBaseLogger } from 'fastify'
import { createRefusal } from './refusal.ts'
import { type SlotLimits, Slots } from './slots.ts'

/** Bytes of memory that are enough for all work that the slots below allow at once. */
export const fullMemory = 768 * 1024 * 1024

/** Bytes of a body or message up to which parsing and validating take no longer than the rest of a request. */
const lightBytes = 4 * 1024
/** Bytes of a body or message beyond which parsing it may block the event loop for milliseconds. */
export const heavyBytes = 64 * 1024

/** Bytes of a body that takes hardly more memory than its connection. */
export const smallBytes = 8 * 1024

/** The slots that requests need. Each kind protects something that a few callers could use up. */
export type Gate = ReturnType<typeof createGate>

export function createGate(log: FastifyBaseLogger) {
  const slots = (limits: SlotLimits, kind: string) =>
    new Slots(limits, createRefusal(log, `too many ${kind}: refusing some, or ending old ones`))
  return {
    /** A read holds a slot until its answer is ready, a write until its handler has started: writes have a queue. */
    requests: slots({ total: 64, perOwner: 8, turnMs: 10 }, 'requests'),
    /** Requests that cost nothing, such as ending a session, until they are done: no rate limit counts them. */
    free: slots({ total: 64, perOwner: 8, turnMs: 10 }, 'requests that cost nothing'),
    /** A login's share of its user's slots, so that it cannot fill the queue of the user's other logins. */
    freeOfLogin: slots({ total: Number.POSITIVE_INFINITY, perOwner: 2 }, 'requests of a login that cost nothing'),
    /**
     * Bodies of up to 8 KiB that arrive after their head, until they have arrived. Callers of one address share these
     * slots to sign in and out. One caller could leave all bodies unfinished, so one that must wait ends the oldest.
     */
    smallBodies: slots({ total: 1024, perOwner: 256, endsAtOnce: true }, 'unfinished small bodies'),
    /**
     * Larger bodies, until the request ends; up to 64 KiB, until they have arrived. A user's ninth body waits: if it
     * ended the first, nine slow uploads would keep ending each other.
     */
    bodies: slots({ total: 64, perOwner: 8 }, 'bodies that arrive slowly'),
    /** Bodies of more than 1 MiB. */
    largeBodies: slots({ total: 8, perOwner: 2 }, 'large bodies'),
    /** Long work that blocks the event loop: only one piece of it starts per turn of the loop. */
    heavy: slots({ total: 8, perOwner: 2, turnMs: 0 }, 'large requests and responses'),
    /** Downloads and other long responses, until their callers have read them. */
    streams: slots({ total: 64, perOwner: 8 }, 'responses that are not read to their end'),
  }
}

export type ParsingPlaces = Pick<Gate, 'requests' | 'heavy'>

/** Parses and validates a body: up to 4 KiB at once, up to 64 KiB in a slot of `requests`, larger in one of `heavy`. */
export function parseInTurn<T>(
  { requests, heavy }: ParsingPlaces,
  owner: string,
  bytes: number,
  parse: () => T,
): T | Promise<T> {
  if (bytes <= lightBytes) return parse()
  return (bytes > heavyBytes ? heavy : requests).run(owner, parse)
}
