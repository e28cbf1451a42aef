import { OfflineError, SignedOutError } from '../../errors.ts'
import { abortable, leastWaitMs, pause } from '../../timing/clock.ts'
import type { Connected, Engine } from '../engine.ts'
import type { CallOptions, Transport } from '../exchange/transport.ts'
import { askedWaitMs } from './status.ts'

/** The time limit of a call (ms): enough for a page of 2 MiB over a slow connection, with a busy service's delays. */
const callTimeoutMs = 120_000
/** A constant reason: otherwise each `abort` creates an error with a stack trace. */
const answered = 'answered'
/** The most waits of a call for `Retry-After`, and their most time in all (ms). A call that would wait longer fails. */
const mostWaits = 3
const mostWaitMs = 60_000
/** A random addition to a wait, up to this (ms), keeps devices that were refused together from returning together. */
const jitterMs = 250

/**
 * The engine with the transport. Calls without a response in time reject with OfflineError. After a 429 or 503 with
 * `Retry-After`, they wait that long, or until the user edits or asks for an exchange. The status shows such a wait.
 */
export function connected(engine: Engine, transport: Transport, signal: AbortSignal): Connected {
  const { clock, random, status, outbox } = engine

  async function inTime<T>({ signal }: CallOptions, call: (options: CallOptions) => Promise<T>): Promise<T> {
    const over = new AbortController()
    const limit = AbortSignal.any([signal, over.signal])
    clock.sleep(callTimeoutMs, limit).then(
      () => over.abort(new OfflineError('The service did not respond in time')),
      () => {},
    )
    try {
      // Node's `fetch` may miss the signal after a garbage collection.
      return await abortable(call({ signal: limit }), limit)
    } finally {
      over.abort(answered)
    }
  }

  async function limited<T>(options: CallOptions, call: (options: CallOptions) => Promise<T>): Promise<T> {
    const before = status.report
    let waits = 0
    let waitedMs = 0
    try {
      for (; ; waits++) {
        try {
          return await inTime(options, call)
        } catch (error) {
          // Emitted, because the status does not distinguish another user from the end of the session.
          if (error instanceof SignedOutError && error.isOtherUser) engine.emitter.emit('error', { error })
          const isBusy = [429, 503].includes((error as { status?: number }).status ?? 0)
          const askedMs = isBusy ? askedWaitMs(error) : undefined
          if (askedMs === undefined || waits === mostWaits || waitedMs + askedMs > mostWaitMs) throw error
          status.stop(error)
          const { rung } = outbox.hurry
          await clock.sleep(leastWaitMs, options.signal)
          await pause(clock, askedMs - leastWaitMs + random() * jitterMs, [rung], options.signal)
          options.signal.throwIfAborted()
          waitedMs += askedMs
        }
      }
    } finally {
      // Only a call that began before a wait was shown restores the status: others do not know the earlier one.
      const isShown = waits > 0 && before.retryAt === undefined && status.report.retryAt !== undefined
      if (isShown) status.set(before.state, before.reason)
    }
  }

  const limits: Transport = {
    getStatus: (types, options) => limited(options, (limits) => transport.getStatus(types, limits)),
    pull: (body, options) => limited(options, (limits) => transport.pull(body, limits)),
    push: (body, options) => limited(options, (limits) => transport.push(body, limits)),
    getKeyring: (options) => limited(options, (limits) => transport.getKeyring(limits)),
    settleConflict: (id, options) => limited(options, (limits) => transport.settleConflict(id, limits)),
    logout: (options) => limited(options, (limits) => transport.logout(limits)),
    openSocket: (query) => transport.openSocket(query),
  }
  return {
    ...engine,
    // A getter, because the id may change.
    get deviceId() {
      return engine.deviceId
    },
    transport: limits,
    signal,
  }
}
