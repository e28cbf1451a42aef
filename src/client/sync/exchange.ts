import { SignedOutError } from '../errors.ts'
import type { Engine } from './engine.ts'
import { pullAll } from './pull.ts'
import { pushAll } from './push.ts'

/**
 * Pulls all that is new, then pushes all that waits. Nothing leaves the device before it is sure that the session is this
 * user's.
 */
export async function exchange(engine: Engine, signal: AbortSignal): Promise<void> {
  const { tabs, transport, replica, userId } = engine
  const task = async () => {
    if ((await transport.getUserId({ signal })) !== userId) throw new SignedOutError('Another user is signed in')
    // Another tab may have got further.
    await replica.reload([], 'remote')
    await pullAll(engine, signal)
    await pushAll(engine, signal)
  }
  await tabs.exclusively('exchange', task, signal)
}
