import type { Held, WorkerState } from './messages.ts'

/** What the extension is doing, in one sentence. */
export function describe({ setup, isPaused, sync, browser }: WorkerState): string {
  if (setup === 'new') return 'Not set up yet'
  if (isPaused) return 'Paused'
  if (setup === 'locked' || sync?.state === 'signed-out') return 'You are signed out'
  if (sync?.reason === 'keys') return 'Your keys were replaced on another device: type the passphrase'
  if (sync?.reason === 'storage') return 'This device is full'
  if (browser?.state === 'failed') return `Stopped: ${browser.error ?? 'the browser does not answer'}`
  if (sync?.heldDeletions || browser?.heldRemovals) return 'Many bookmarks were deleted: do you mean it?'
  if (sync?.state === 'offline') return 'Offline. Changes are sent later'
  if (sync?.state === 'syncing') return `Syncing ${sync.progress?.done ?? 0} of ${sync.progress?.total ?? 0}`
  if (sync?.state === 'connecting' || browser?.state === 'waiting') return 'Connecting'
  if (browser?.state === 'comparing') return 'Comparing'
  return 'In step'
}

/** So many titles are named. */
const fewTitles = 3

export function describeDeletes(titles: readonly string[], side: keyof Held): string {
  const were = titles.length === 1 ? 'bookmark was' : 'bookmarks were'
  const where = side === 'browser' ? 'in this browser' : 'on another device'
  const named = [...titles.slice(0, fewTitles), ...(titles.length > fewTitles ? ['…'] : [])]
  return `${titles.length} ${were} deleted ${where}: ${named.join(', ')}`
}

export function describeUnsent(count: number, reason: string | undefined): string {
  const [bookmarks, size] = count === 1 ? ['bookmark', 'it is too large'] : ['bookmarks', 'they are too large']
  return `The server does not take ${count} ${bookmarks}: ${reason === 'quota' ? 'your space is used up' : size}`
}
