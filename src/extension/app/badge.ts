import type { WorkerState } from './messages.ts'
import { platform } from './platform.ts'

/** How many things need the user; 0 if none does, so that the badge stays away. */
function countWishes({ setup, sync, browser, refused, conflicts }: WorkerState): number {
  const isSignedOut = setup === 'locked' || sync?.state === 'signed-out'
  const lacksKeys = sync?.reason === 'keys'
  const isFull = sync?.reason === 'storage' || browser?.state === 'failed'
  const held = [sync?.heldDeletions, browser?.heldRemovals].filter((one) => one !== undefined).length
  const quarantined = sync?.quarantined ? 1 : 0
  const stopped = Number(isSignedOut) + Number(lacksKeys) + Number(isFull)
  return stopped + held + quarantined + Math.min(1, refused.length) + conflicts.length
}

export async function showBadge(state: WorkerState): Promise<void> {
  const count = countWishes(state)
  await platform.action.setBadgeBackgroundColor({ color: '#a33b00' })
  await platform.action.setBadgeText({ text: count === 0 ? '' : String(count) })
}
