import { createHash } from 'node:crypto'
import { buildApp } from '../../support/app.ts'
import { isPostgres } from '../../support/database-url.ts'
import { depth, isDeep } from '../../support/depth.ts'
import { counted, turns } from '../sync/clock.ts'
import { runChaos } from './run.ts'

/**
 * Two to four devices of one person, with tabs, against the real service over a bad network. Answers are lost, doubled
 * or cut off, or come from a captive portal. Clocks are hours off and jump. Tabs and browsers are killed. The storage is
 * full, emptied, lost, replaced by an older copy, or copied to another machine. The person signs out and in, replaces
 * the keys, saves forms over edits of others, imports a file twice, restores an export, and is asked about deletes. The
 * service refuses changes and goes back to a backup.
 * In the end all devices show what the service has, no store had to be repaired, and every edit is accounted for: the
 * service has it, a later edit was based on it, a conflict has it, or it was refused. Edits that neither the service nor a
 * store has any more are excused, and a few others (`isExcused` in ledger.ts).
 *
 * Quick runs use the same seeds each time, deep runs use others. A failure prints its seed: SEED=<number> repeats that run
 * and prints its events, and RUNS=<number> plays that many runs from there.
 */

/**
 * Makes the engine's pauses in long work the same in every run: each comes after the same few items, however fast the
 * machine is, and takes one turn of the event loop. So does each hash, which would otherwise come from another thread.
 */
function makePausesRepeatable(): void {
  let time = performance.now()
  performance.now = () => (time += readingMs)
  globalThis.MessageChannel = TurnChannel as unknown as typeof MessageChannel
  crypto.subtle.digest = hashInTurn
  Request.prototype.clone = cloneThatHears
  // All devices share this process, so a killed tab would keep the lock for refreshes of all of them.
  Object.defineProperty(navigator, 'locks', { value: undefined })
}

/** The time that passes between two readings of the clock (ms). */
const readingMs = 2

const hashInTurn: typeof crypto.subtle.digest = (_algorithm, bytes) =>
  counted(async () => {
    await turns(1)
    const hash = createHash('sha256').update(ArrayBuffer.isView(bytes) ? (bytes as Uint8Array) : new Uint8Array(bytes))
    return new Uint8Array(hash.digest()).buffer
  })

const { clone } = Request.prototype

/** Clones a request like a browser. In Node, the clone stops receiving `abort` after a garbage collection. */
function cloneThatHears(this: Request): Request {
  return new Request(clone.call(this), { signal: this.signal })
}

class TurnChannel {
  readonly port1 = { onmessage: () => {}, close() {} }
  readonly port2 = {
    postMessage: () => {
      void counted(async () => {
        await turns(1)
        this.port1.onmessage()
      })
    },
  }
}

const { SEED, RUNS } = process.env
const mostFailures = 3

makePausesRepeatable()
const endings: (() => Promise<void>)[] = []
const app = await buildApp({ teardown: (end) => endings.push(end as () => Promise<void>) }, { LOG_LEVEL: 'error' })

const first = Number(SEED ?? (isDeep ? Date.now() % 1e9 : 80_000))
const count = Number(RUNS ?? (SEED === undefined ? depth(11, isPostgres ? 300 : 2000) : 1))
const failed: { SEED: number; failures: string[] }[] = []
let seed = first
process.on('uncaughtExceptionMonitor', () => console.error(`SEED=${seed}`))
for (; seed < first + count && failed.length < mostFailures; seed++) {
  const { failures, journal } = await runChaos(app, seed)
  if (failures.length > 0) failed.push({ SEED: seed, failures: failures.slice(0, 5) })
  if (count === 1) console.error(journal.join('\n'))
}
for (const end of endings) await end()

// Once loaded, tap tracks every promise, which takes longer than the runs themselves.
const { default: t } = await import('tap')
t.same(failed, [], `no edit is lost without a report, whatever goes wrong: ${count} runs from SEED=${first}`)
