import { pause } from '../../timing/clock.ts'
import { checkDigest } from '../exchange/check-digest.ts'
import { exchange } from '../exchange/exchange.ts'
import type { Rotation } from '../rotation/rotation.ts'
import type { Engine } from './engine.ts'
import { stayLive } from './live.ts'

const pollMs = 30_000
/** After this many refused handshakes in a row, the client polls for changes and tries a handshake only now and then. */
const mostRefusals = 3
const handshakeAgainMs = 300_000
/** If a channel stayed open for this long, the service has stood the return of all devices: the waits are short again. */
const goodMs = 10_000
const firstMs = 1000
/** So a service that is away is asked no more often than by devices that poll. */
const longestMs = 30_000

/**
 * Keeps this device in sync with the service until the signal aborts, the session ends, or the keys are replaced. Whatever
 * a rotation, on any device, has left under older keys is encrypted anew.
 */
export async function lead(engine: Engine, loadRotation: () => Promise<Rotation>, signal: AbortSignal): Promise<void> {
  const { clock, random, status, progress, network, outbox, keys } = engine
  let attempts = 0
  /** The wait before the next attempt: random, up to a ceiling that doubles from 1 s to 30 s (full jitter). */
  const backoff = () => random() * Math.min(longestMs, firstMs * 2 ** attempts++)
  const startAnew = () => {
    attempts = 0
  }
  let refusals = 0
  let refusedAt = 0
  while (!signal.aborted) {
    network.reset()
    outbox.reset()
    network.rung.then(startAnew)
    try {
      await exchange(engine, signal)
      if (status.state !== 'online') status.set('polling')
      progress.end()
      if (keys.older) {
        await loadRotation()
          .then((rotation) => rotation.reseal(engine, { signal }))
          .catch(nextTime)
      }
      const startedAt = clock.now()
      // Also if the clock was put back.
      const isDue = Math.abs(startedAt - refusedAt) >= handshakeAgainMs
      try {
        if (isDue) refusals = (await stayLive(engine, signal)) ? 0 : refusals + 1
      } finally {
        if (clock.now() - startedAt >= goodMs) startAnew()
      }
      if (refusals > 0) {
        status.set('polling')
        await checkDigest(engine, signal)
      }
      if (refusals < mostRefusals) {
        await pause(clock, backoff(), [network.rung, outbox.rung], signal)
      } else {
        if (isDue) refusedAt = startedAt
        startAnew()
        await pause(clock, pollMs * (0.75 + random() / 2), [network.rung, outbox.rung], signal)
      }
    } catch (error) {
      const isHopeless = signal.aborted || !status.fail(error)
      progress.end()
      if (isHopeless) return
      await pause(clock, backoff(), [network.rung], signal)
    }
  }
}

/** It can wait, unlike what the user does. */
function nextTime(): void {}
