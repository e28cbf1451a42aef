import type { EntityType } from '../../bookmark.ts'
import { leastWaitMs, pause } from '../../timing/clock.ts'
import { settleDeletions } from '../edits/deletions.ts'
import type { Connected } from '../engine.ts'
import { checkDigest, untilCheck } from '../exchange/check-digest.ts'
import { correctClock } from '../exchange/correct-clock.ts'
import { exchange } from '../exchange/exchange.ts'
import { noted } from '../exchange/journal.ts'
import { passageOf } from '../exchange/passage.ts'
import { pullAll } from '../exchange/pull.ts'
import { pushAll } from '../exchange/push.ts'
import { settleReported } from '../exchange/reported.ts'
import { hasOther, type NumberedEvent, takeMessages } from '../exchange/take.ts'
import { reencrypt } from '../rotation/rotation.ts'
import { pulledTypes } from '../store/replica.ts'
import { Channel } from './channel.ts'
import { askedWaitMs } from './status.ts'

const pollMs = 30_000
/** After this many refused handshakes in a row, the client polls every `pollMs`, and tries another in `handshakeAgainMs`. */
const mostRefusals = 3
const handshakeAgainMs = 300_000
/** After a channel that stayed open this long (ms) since its greeting, the service is not overloaded: waits start short again. */
const stableMs = 10_000
const firstWaitMs = 1000
/** The longest wait (ms), the polling interval: a service that is down gets few more requests than from polling devices. */
const longestWaitMs = 30_000

/**
 * Keeps this device in sync until the signal aborts, the session ends, the keys are replaced, or a newer version of the app
 * has changed the store. Continues the re-encryption that a key rotation on any device has left.
 */
export async function lead(engine: Connected): Promise<void> {
  const { clock, random, status, network, outbox, keys, signal } = engine
  let attempts = 0
  /** The wait before the next attempt: random, up to a ceiling that doubles from 1 s to 30 s (full jitter). */
  const backoff = () => random() * Math.min(longestWaitMs, firstWaitMs * 2 ** attempts++)
  const restart = () => {
    attempts = 0
  }
  let refusals = 0
  let refusedAt = 0
  while (!signal.aborted) {
    network.reset()
    outbox.reset()
    network.rung.then(restart)
    try {
      await exchange(engine)
      if (status.state !== 'online') status.set('polling')
      status.endExchange()
      if (keys.older) await reencrypt(engine).catch(nextTime)
      const startedAt = clock.now()
      // A clock that was set back also makes it due.
      const isDue = Math.abs(startedAt - refusedAt) >= handshakeAgainMs
      let greetedAt = Number.POSITIVE_INFINITY
      const onGreeting = () => {
        greetedAt = clock.now()
      }
      try {
        if (isDue) refusals = (await stayLive(engine, onGreeting)) ? 0 : refusals + 1
      } finally {
        if (clock.now() - greetedAt >= stableMs) restart()
      }
      if (refusals > 0) {
        status.set('polling')
        await checkDigest(engine)
      }
      if (refusals < mostRefusals) {
        await pause(clock, backoff(), [network.rung, outbox.rung], signal)
      } else {
        if (isDue) refusedAt = startedAt
        restart()
        await pause(clock, pollMs * (0.75 + random() / 2), [network.rung, outbox.rung], signal)
      }
    } catch (error) {
      const askedMs = askedWaitMs(error) ?? 0
      const isHopeless = signal.aborted || !status.fail(error)
      status.endExchange()
      if (isHopeless) return
      await pause(clock, leastWaitMs, [network.rung], signal)
      const alarms = askedMs > 0 ? [network.rung, outbox.rung] : [network.rung]
      const moreMs = Math.min(backoff(), longestWaitMs - leastWaitMs)
      await pause(clock, Math.max(moreMs, askedMs - leastWaitMs), alarms, signal)
    }
  }
}

/** Ignores the failure of a task that runs again after this loop's next exchange, and on which nothing else depends. */
function nextTime(): void {}

/** Follows the realtime channel until it closes; false if it was refused. */
async function stayLive(engine: Connected, onGreeting: () => void): Promise<boolean> {
  const { transport, replica, userId, deviceId, clock, status, disconnected, signal } = engine
  signal.throwIfAborted()
  const since = replica.meta.cursor
  const types = pulledTypes(replica, replica.meta)
  const socket = transport.openSocket({ userId, deviceId, since, types: types.join() })
  const channel = new Channel(socket, clock, signal)
  disconnected.reset()
  disconnected.rung.then(() => channel.close())
  try {
    const greeting = await channel.greeted
    signal.throwIfAborted()
    if (greeting === undefined) return false
    onGreeting()
    await replica.commit([], 'remote', (draft) => correctClock(draft, greeting.time))
    status.set('online')
    await follow(engine, channel, { epoch: greeting.epoch, since, types })
    return true
  } finally {
    channel.close()
  }
}

/** The cursor that a channel's messages continue from, its epoch, and the types that they have. */
interface Position {
  epoch: string
  since: number
  types: readonly EntityType[]
}

async function follow(engine: Connected, channel: Channel, position: Position): Promise<void> {
  const { tabs, outbox, replica, clock, status, signal } = engine
  let { since } = position
  while (channel.isOpen) {
    channel.activity.reset()
    outbox.reset()
    const from = { ...position, since }
    const task = async () => {
      // Skips what is already applied: the device's own pushes also arrive.
      const news = channel.drain().filter(({ stamp }) => stamp > replica.meta.cursor)
      await takeAndPush(engine, news, from).finally(() => status.endExchange())
    }
    await tabs.exclusively('exchange', () => noted(engine, 'live', task), signal)
    // After the browser has emptied the store, its cursor is 0 again, but the channel's messages continue from `since`.
    since = Math.max(since, replica.meta.cursor)
    // Added types need another channel.
    if (hasOther(replica, replica.meta, position.types)) return
    const checkAt = clock.now() + Math.min(untilCheck(engine), passageOf(engine).untilWide(clock))
    await pause(clock, checkAt - clock.now(), [channel.activity.rung, outbox.rung], signal)
    if (clock.now() >= checkAt && channel.isOpen) await checkDigest(engine)
  }
}

async function takeAndPush(
  engine: Connected,
  messages: readonly NumberedEvent[],
  { epoch, since, types }: Position,
): Promise<void> {
  const { meta } = engine.replica
  const isRecovered = epoch !== meta.epoch
  if (isRecovered || messages.length > 0 || meta.cursor < since || meta.isIncomplete) {
    const outcome = isRecovered ? 'stale' : await takeMessages(engine, messages, since, types)
    if (outcome === 'stale') await pullAll(engine)
    else await settleDeletions(engine)
  }
  await pushAll(engine)
  await settleReported(engine)
}
