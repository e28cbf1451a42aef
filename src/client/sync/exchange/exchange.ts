import type { Connected } from '../engine.ts'
import { noted } from './journal.ts'
import { takeKeys } from './key-marks.ts'
import { pullAll } from './pull.ts'
import { pushAll } from './push.ts'
import { settleReported } from './reported.ts'

/** Pulls everything new, then pushes the pending changes. */
export async function exchange(parts: Connected): Promise<void> {
  const { tabs, replica, signal } = parts
  const task = async () => {
    // Another tab may have pulled or pushed changes by now.
    await replica.reload([], 'remote')
    // Usually done when the sync loads, but a full disk is ignored there.
    await replica.takeTypes()
    await takeKeys(replica, parts.keys)
    await pullAll(parts)
    await pushAll(parts)
    await settleReported(parts)
  }
  await tabs.exclusively('exchange', () => noted(parts, 'exchange', task), signal)
}
