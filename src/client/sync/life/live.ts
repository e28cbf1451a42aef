import { pullAll } from '../exchange/pull.ts'
import { pushAll } from '../exchange/push.ts'
import { takeMessages } from '../exchange/take.ts'
import { correctClock } from '../store/service-clock.ts'
import { Channel } from './channel.ts'
import type { Engine } from './engine.ts'

/** Follows the realtime channel until it closes; false if it was refused. */
export async function stayLive(engine: Engine, signal: AbortSignal): Promise<boolean> {
  const { transport, replica, userId, deviceId, clock, status, disconnected } = engine
  signal.throwIfAborted()
  const socket = transport.openSocket({ userId, deviceId, since: replica.meta.cursor })
  const channel = new Channel(socket, clock, signal)
  disconnected.reset()
  disconnected.rung.then(() => channel.close())
  try {
    const serverTime = await channel.greeted
    if (serverTime === undefined) return false
    await replica.commit([], 'remote', (draft) => correctClock(draft, clock, serverTime))
    status.set('online')
    await follow(engine, channel, signal)
    return true
  } finally {
    channel.close()
  }
}

async function follow(engine: Engine, channel: Channel, signal: AbortSignal): Promise<void> {
  const { tabs, outbox } = engine
  while (channel.isOpen) {
    channel.activity.reset()
    outbox.reset()
    await tabs.exclusively('exchange', () => catchUp(engine, channel, signal), signal)
    await Promise.race([channel.activity.rung, outbox.rung])
  }
}

async function catchUp(engine: Engine, channel: Channel, signal: AbortSignal): Promise<void> {
  const messages = channel.drain()
  if (messages.length > 0) {
    const outcome = await takeMessages(engine, messages, signal)
    if (outcome === 'doubt') await pullAll(engine, signal)
    else await engine.deletions.settle()
  }
  await pushAll(engine, signal)
}
