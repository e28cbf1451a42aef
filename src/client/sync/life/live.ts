import { pause } from '../../timing/clock.ts'
import { settleDeletions } from '../edits/deletions.ts'
import { checkDigest, untilCheck } from '../exchange/check-digest.ts'
import { correctClock } from '../exchange/correct-clock.ts'
import { pullAll } from '../exchange/pull.ts'
import { pushAll } from '../exchange/push.ts'
import { type StampedEvent, takeMessages } from '../exchange/take.ts'
import { Channel } from './channel.ts'
import type { Engine } from './engine.ts'

/** Follows the realtime channel until it closes; false if it was refused. */
export async function stayLive(engine: Engine, signal: AbortSignal): Promise<boolean> {
  const { transport, replica, userId, deviceId, clock, status, disconnected } = engine
  signal.throwIfAborted()
  const since = replica.meta.cursor
  const socket = transport.openSocket({ userId, deviceId, since })
  const channel = new Channel(socket, clock, signal)
  disconnected.reset()
  disconnected.rung.then(() => channel.close())
  try {
    const greeting = await channel.greeted
    if (greeting === undefined) return false
    await replica.commit([], 'remote', (draft) => correctClock(draft, greeting.time))
    status.set('online')
    await follow(engine, channel, greeting.epoch, since, signal)
    return true
  } finally {
    channel.close()
  }
}

async function follow(
  engine: Engine,
  channel: Channel,
  epoch: string,
  since: number,
  signal: AbortSignal,
): Promise<void> {
  const { tabs, outbox, replica, clock } = engine
  let cursor = since
  while (channel.isOpen) {
    channel.activity.reset()
    outbox.reset()
    const position = { epoch, since: cursor }
    await tabs.exclusively('exchange', () => catchUp(engine, channel, position, signal), signal)
    // It falls when the browser has emptied the store, but the channel goes on from where it was.
    cursor = Math.max(cursor, replica.meta.cursor)
    const checkAt = clock.now() + untilCheck(engine)
    await pause(clock, checkAt - clock.now(), [channel.activity.rung, outbox.rung], signal)
    if (clock.now() >= checkAt && channel.isOpen) await checkDigest(engine, signal)
  }
}

/** The cursor from which the channel's next messages continue, and the history of the service that it belongs to. */
interface Position {
  epoch: string
  since: number
}

async function catchUp(engine: Engine, channel: Channel, position: Position, signal: AbortSignal): Promise<void> {
  try {
    await takeAndPush(engine, channel.drain(), position, signal)
  } finally {
    engine.progress.end()
  }
}

async function takeAndPush(
  engine: Engine,
  messages: readonly StampedEvent[],
  { epoch, since }: Position,
  signal: AbortSignal,
): Promise<void> {
  const { meta } = engine.replica
  const isRestored = epoch !== meta.epoch
  if (isRestored || messages.length > 0 || meta.cursor < since || meta.isIncomplete) {
    const outcome = isRestored ? 'doubt' : await takeMessages(engine, messages, since, signal)
    if (outcome === 'doubt') await pullAll(engine, signal)
    else await settleDeletions(engine)
  }
  await pushAll(engine, signal)
}
