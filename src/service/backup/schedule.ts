import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { momentOf, nameOf } from './names.ts'
import type { Shelf } from './shelf.ts'

/** A failed backup is tried again after this, or after BACKUP_EVERY if that is shorter. */
const retryMs = 5 * 60_000

export interface Backups {
  /** The moment (Unix ms) of the newest complete backup, also of an earlier process; 0 if there is none. */
  lastSuccess(): number
  /** How many failed in this process. */
  failures(): number
  close(): Promise<void>
}

interface Schedule {
  everyMs: number
  keep: number
  shelf: Shelf
  log: FastifyBaseLogger
  /** For tests. */
  pauseMs?: number
}

/** Makes a backup whenever the newest one is older than `everyMs`, one at a time, and removes those beyond `keep`. */
export function scheduleBackups({ everyMs, keep, shelf, log, pauseMs = retryMs }: Schedule): Backups {
  const stopping = new AbortController()
  const { signal } = stopping
  let [newest, failures] = [0, 0]

  async function makeOne(): Promise<void> {
    const begun = Date.now()
    const name = nameOf(begun)
    const { leftOut } = await shelf.add(name, signal)
    newest = begun
    log.info({ backup: name, seconds: (Date.now() - begun) / 1000, exportsLeftOut: leftOut }, 'made a backup')
  }

  async function removeOld(): Promise<void> {
    try {
      for (const name of (await shelf.list()).slice(0, -keep)) await shelf.remove(name)
    } catch (err) {
      log.error({ err }, 'an old backup could not be removed')
    }
  }

  /** Resolves to how long to wait. */
  async function turn(): Promise<number> {
    try {
      newest = momentOf((await shelf.list()).at(-1) ?? '') ?? 0
      const age = Date.now() - newest
      // A name from the future is that of a wrong clock, which must not stop backups until then.
      if (age >= 0 && age < everyMs) return everyMs - age
      await makeOne()
      await removeOld()
      return everyMs
    } catch (err) {
      if (signal.aborted) return 0
      failures += 1
      log.error({ err }, 'a backup failed')
      return Math.min(everyMs, pauseMs)
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) await sleep(await turn(), undefined, { signal, ref: false }).catch(() => {})
  }

  const running = run()
  return {
    lastSuccess: () => newest,
    failures: () => failures,
    async close() {
      stopping.abort()
      await running
    },
  }
}
