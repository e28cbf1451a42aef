import type { FastifyBaseLogger } from 'fastify'
import { createRefusal } from './refusal.ts'
import { type SlotLimits, Slots } from './slots.ts'

/** Bytes of memory with which a process serves whatever its places let in. */
export const fullMemory = 768 * 1024 * 1024

/** Bytes of a body or message up to which parsing and validation take no longer than the rest of a request, whatever it holds. */
const lightBytes = 4 * 1024
/** Bytes of a body or message from which they may hold the event loop for milliseconds. */
export const heavyBytes = 64 * 1024

/** Bytes of a body that takes hardly more memory than the connection on which it arrives. */
export const smallBytes = 8 * 1024

/** The places that requests need, one kind for each resource that a few callers could use up. */
export type Gate = ReturnType<typeof createGate>

export function createGate(log: FastifyBaseLogger) {
  const slots = (limits: SlotLimits, kind: string) =>
    new Slots(limits, createRefusal(log, `too many ${kind}: refusing some, or ending old ones`))
  return {
    /** Requests: a read until its answer is ready, a write until its handler has started, since the writer has a queue. */
    requests: slots({ total: 64, perOwner: 8, turnMs: 10 }, 'requests'),
    /** Requests that cost nothing, such as ending a session, until they are done: no rate bounds them. */
    free: slots({ total: 64, perOwner: 8, turnMs: 10 }, 'requests that cost nothing'),
    /** The share of a login in its user's, so that none fills the queue in which another waits. */
    freeOfLogin: slots({ total: Number.POSITIVE_INFINITY, perOwner: 2 }, 'requests of a login that cost nothing'),
    /**
     * Bodies of up to 8 KiB that did not arrive with their head, until they have arrived. Those who share an address share these
     * for signing in and out. One of them could leave all unfinished, so a new one ends the oldest.
     */
    smallBodies: slots({ total: 1024, perOwner: 256, endsAtOnce: true }, 'unfinished small bodies'),
    /**
     * Larger ones, until the request ends; up to 64 KiB until they have arrived. A user's ninth waits: if it ended the first, nine
     * slow uploads would end each other again and again.
     */
    bodies: slots({ total: 64, perOwner: 8 }, 'bodies that arrive slowly'),
    /** The same for those of more than 1 MiB. */
    largeBodies: slots({ total: 8, perOwner: 2 }, 'large bodies'),
    /** Work that holds the event loop for long: one starts in each turn. */
    heavy: slots({ total: 8, perOwner: 2, turnMs: 0 }, 'large requests and responses'),
    /** Downloads and other long responses, until their callers have read them. */
    streams: slots({ total: 64, perOwner: 8 }, 'responses that are not read to their end'),
  }
}

export type ParsingPlaces = Pick<Gate, 'requests' | 'heavy'>

/** Parses and validates this many bytes. Many small bodies that arrive at once take turns as well. */
export function parseInTurn<T>(
  { requests, heavy }: ParsingPlaces,
  owner: string,
  bytes: number,
  parse: () => T,
): T | Promise<T> {
  if (bytes <= lightBytes) return parse()
  return (bytes > heavyBytes ? heavy : requests).run(owner, parse)
}
