import { SignedOutError } from '../../errors.ts'
import type { Tabs } from '../store/tabs.ts'
import { pullAll } from './pull.ts'
import { type PushParts, pushAll } from './push.ts'

/** What an exchange is made with. */
export interface ExchangeParts extends PushParts {
  tabs: Tabs
}

/**
 * Pulls all that is new, then pushes all that waits. Nothing leaves the device before it is sure that the session is this
 * user's.
 */
export async function exchange(parts: ExchangeParts, signal: AbortSignal): Promise<void> {
  const { tabs, transport, replica, userId } = parts
  const task = async () => {
    if ((await transport.getUserId({ signal })) !== userId) throw new SignedOutError('Another user is signed in')
    // Another tab may have got further.
    await replica.reload([], 'remote')
    await pullAll(parts, signal)
    await pushAll(parts, signal)
  }
  await tabs.exclusively('exchange', task, signal)
}
