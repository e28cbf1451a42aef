import { createHash } from 'node:crypto'
import { buildApp } from '../../support/app.ts'
import { isPostgres } from '../../support/database-url.ts'
import { depth, isDeep } from '../../support/depth.ts'
import { counted, turns } from '../sync/clock.ts'
import { runChaos } from './run.ts'

/**
 * Two to four devices of one person, with tabs, against the real service over a bad network: answers are lost, doubled,
 * cut off or a portal's page, clocks are hours off and jump, tabs and browsers are killed, the storage is full, emptied or
 * lost, an older copy takes its place, a copy of it goes on at once on another machine, the person signs out and in again,
 * replaces the keys, saves forms over what others did, imports a file twice, restores an export, is asked about deletes, the
 * service refuses changes and goes back to a backup.
 * In the end all is the same everywhere and in step, no store had to be mended, and every edit is accounted for: it is at the
 * service, or followed by one that saw it, or kept as a conflict by the service or a device, or was refused to its caller. Only
 * what neither the service nor a store had any more is excused.
 *
 * The quick runs are always the same, the deep ones always others. SEED=<number> repeats one run, as a failure prints it,
 * and says what happened; with RUNS=<number>, that many from there.
 */

/**
 * Makes the engine's pauses in long work the same in every run: after a few items each, however fast the machine is, and
 * for one turn of the event loop. So are those for a hash, which would otherwise come from another thread.
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

/** As in browsers. In Node, a clone stops receiving `abort` after a garbage collection. */
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
const count = Number(RUNS ?? (SEED === undefined ? depth(15, isPostgres ? 300 : 2000) : 1))
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
t.same(failed, [], `however bad the day, no edit is lost untold: ${count} runs from SEED=${first}`)
