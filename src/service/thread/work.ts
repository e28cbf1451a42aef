import { AsyncLocalStorage } from 'node:async_hooks'

/** Something that somebody has asked for, and how long it has held the event loop and the database. */
export interface Work {
  owner: string
  /** Others wait for it: it holds the one writer of a database. */
  isAwaited: boolean
  ms: number
  /** The statement that it waits for, and since when. */
  waits: number
  waitsSince: number
}

const current = new AsyncLocalStorage<Work | undefined>()
/** All milliseconds that were counted, whoever they are of. */
let counted = 0

export function newWork(owner: string): Work {
  return { owner, isAwaited: false, ms: 0, waits: 0, waitsSince: 0 }
}

/** All that `run` does, and that comes of it, is done for this work. Counts how long it holds the event loop until its first wait. */
export function runAs<T>(work: Work | undefined, run: () => T): T {
  return current.run(work, measured, run)
}

export function currentWork(): Work | undefined {
  return current.getStore()
}

/** Counts how long `run` holds the event loop until its first wait. */
export function measured<T>(run: () => T): T {
  const began = uncounted()
  const sample = ++sections % sampledOf === 0 ? beginSample() : undefined
  try {
    return run()
  } finally {
    sample?.()
    count(began)
  }
}

/** A clock that stands still for what is counted, so that what lies within something else is counted once. */
export function uncounted(): number {
  return performance.now() - counted
}

/** Counts what the event loop was held since then, by the clock above. */
export function count(began: number): void {
  const ms = uncounted() - began
  counted += ms
  const work = current.getStore()
  if (work) work.ms += ms * share
}

/** Counts what a server takes, until what it returns is called. What is asked for at the same time counts once. */
export function beginWait(): () => void {
  const work = current.getStore()
  if (!work) return () => {}
  if (work.waits++ === 0) work.waitsSince = performance.now()
  return () => {
    if (--work.waits === 0) work.ms += (performance.now() - work.waitsSince) * share
  }
}

/** One of so many sections is sampled: asking for the thread's time takes as long as some statements. */
const sampledOf = 16
const leastShare = 1 / 20
/** Earlier samples fade, once so many milliseconds were sampled. */
const memoryMs = 500
let sections = 0
/**
 * Where others use the processor, too, everything takes longer, and nobody has to pay for that: only the part counts in which
 * this thread had it. Whoever makes the disk slow is not sampled, since commits are no section.
 */
let share = 1
let [hadMs, tookMs] = [1, 1]

function beginSample(): () => void {
  const before = process.threadCpuUsage()
  const began = performance.now()
  return () => {
    tookMs += performance.now() - began
    const { user, system } = process.threadCpuUsage(before)
    hadMs += (user + system) / 1000
    share = Math.min(1, Math.max(leastShare, hadMs / tookMs))
    if (tookMs < memoryMs) return
    hadMs /= 2
    tookMs /= 2
  }
}
