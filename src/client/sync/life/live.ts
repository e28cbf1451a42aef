import { pullAll } from '../exchange/pull.ts'
import { pushAll } from '../exchange/push.ts'
import { isIncomplete, type StampedEvent, takeMessages } from '../exchange/take.ts'
import { correctClock } from '../store/service-clock.ts'
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
    const time = await channel.greeted
    if (time === undefined) return false
    await replica.commit([], 'remote', (draft) => correctClock(draft, time))
    status.set('online')
    await follow(engine, channel, since, signal)
    return true
  } finally {
    channel.close()
  }
}

async function follow(engine: Engine, channel: Channel, since: number, signal: AbortSignal): Promise<void> {
  const { tabs, outbox, replica } = engine
  let cursor = since
  while (channel.isOpen) {
    channel.activity.reset()
    outbox.reset()
    const from = cursor
    await tabs.exclusively('exchange', () => catchUp(engine, channel, { opened: since, since: from }, signal), signal)
    // It falls when the browser has emptied the store, but the channel goes on from where it was.
    cursor = Math.max(cursor, replica.meta.cursor)
    await Promise.race([channel.activity.rung, outbox.rung])
  }
}

interface Position {
  /** The cursor at which the channel was opened: a message from before it means that the service was restored. */
  opened: number
  /** The cursor from which the channel's next messages continue. */
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
  { opened, since }: Position,
  signal: AbortSignal,
): Promise<void> {
  const { meta } = engine.replica
  if (messages.length > 0 || meta.cursor < since || isIncomplete(meta)) {
    const isOlder = messages.some(({ stamp }) => stamp <= opened)
    const outcome = isOlder ? 'doubt' : await takeMessages(engine, messages, since, signal)
    if (outcome === 'doubt') await pullAll(engine, signal)
    else await engine.deletions.settle()
  }
  await pushAll(engine, signal)
}
