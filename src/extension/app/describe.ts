import type { SyncProgress } from '../../client/index.ts'
import type { Fault, Held, WorkerState } from './platform.ts'

export interface Situation {
  headline: string
  /** Tells what follows from it, or what to do. */
  detail?: string
  /** `needs`: something from the user */
  mood: 'good' | 'busy' | 'still' | 'needs'
  /** Of a sync that lasts, once its end is known. */
  progress?: { done: number; total: number }
}

/** Says in words how the extension is. */
export function describe(state: WorkerState): Situation {
  const { setup, fault, forbidden, isPaused, sync, browser } = state
  if (setup === 'new') {
    return { headline: 'Not set up yet', detail: 'Name your server and sign in: it takes a minute.', mood: 'needs' }
  }
  if (isPaused) {
    const detail = 'Nothing is sent or fetched. Press “Go on”, and everything that was changed meanwhile follows.'
    return { headline: 'Paused', detail, mood: 'still' }
  }
  if (setup === 'failed' && fault) return describeFault(fault)
  if (forbidden) {
    const detail = `Press “Allow” to let the extension talk to ${new URL(forbidden).host} again.`
    return { headline: 'This browser keeps the extension from your server', detail, mood: 'needs' }
  }
  if (setup === 'locked' || sync?.state === 'signed-out') {
    const detail = 'Your bookmarks stay here. What you change is sent once you have signed in again.'
    return { headline: 'You are signed out', detail, mood: 'needs' }
  }
  if (sync?.reason === 'keys') {
    const detail = 'Type the passphrase once more, and the sync goes on.'
    return { headline: 'Your keys were replaced on another device', detail, mood: 'needs' }
  }
  if (sync?.reason === 'storage') return describeFault({ kind: 'full', message: '' })
  if (sync?.reason === 'outdated') return describeFault({ kind: 'newer', message: '' })
  if (browser?.state === 'failed' && fault) return describeFault(fault)
  if (sync?.heldDeletions || browser?.heldRemovals) {
    return { headline: 'Many bookmarks were deleted: do you mean it?', mood: 'needs' }
  }
  if (sync?.state === 'offline' && sync.reason) {
    return { headline: 'Offline', detail: 'What you change is sent once your server answers again.', mood: 'still' }
  }
  return describeWork(state)
}

function describeFault({ kind, message }: Fault): Situation {
  if (kind === 'full') {
    return { headline: 'This device is full', detail: 'Free some space, then press “Sync now”.', mood: 'needs' }
  }
  if (kind === 'newer') {
    const detail = 'Update it: a newer version has stored your bookmarks here. Nothing is lost.'
    return { headline: 'This extension is out of date', detail, mood: 'needs' }
  }
  const detail = `This browser says: ${shortened(message).replace(/\.$/, '')}. It is tried again by itself.`
  return { headline: 'Stopped', detail, mood: 'needs' }
}

function describeWork({ sync, browser, refused, conflicts }: WorkerState): Situation {
  if (sync?.state === 'syncing' || browser?.progress) {
    const progress = browser?.progress ? sentOf(browser.progress, sync?.waiting) : sync?.progress
    if (!progress?.total) return { headline: 'Syncing', mood: 'busy' }
    const headline = `Syncing ${progress.done.toLocaleString()} of ${progress.total.toLocaleString()}`
    return { headline, mood: 'busy', progress }
  }
  const isConnecting = sync?.state === 'connecting' || sync?.state === 'offline'
  if (isConnecting || browser?.state === 'waiting') return { headline: 'Connecting', mood: 'busy' }
  if (browser?.state === 'comparing') return { headline: 'Comparing', mood: 'busy' }
  if (sync && sync.waiting > (sync.quarantined ?? 0)) {
    const detail = 'What waits is sent by itself, as soon as your server takes it.'
    return { headline: 'Not everything is sent yet', detail, mood: 'busy' }
  }
  const isOpen = conflicts.length + refused.length + (sync?.quarantined ?? 0) > 0
  return {
    headline: 'In step',
    mood: isOpen ? 'needs' : 'good',
    ...(isOpen && { detail: 'Except for what is below.' }),
  }
}

/** What the sync has not sent yet is not done. */
function sentOf({ done, total }: SyncProgress, waiting = 0): SyncProgress {
  return { done: Math.max(0, done - waiting), total }
}

/** The time of today, or the day as well. */
export function describeTime(time: number, now = new Date()): string {
  const date = new Date(time)
  const isToday = date.toDateString() === now.toDateString()
  return date.toLocaleString(undefined, { ...(!isToday && { dateStyle: 'medium' }), timeStyle: 'short' })
}

/** So many titles are named. */
const fewTitles = 3

export function describeDeletes(titles: readonly string[], side: keyof Held): string {
  const were = titles.length === 1 ? 'bookmark was' : 'bookmarks were'
  const where = side === 'browser' ? 'in this browser' : 'on another device'
  const named = [...titles.slice(0, fewTitles).map(shortened), ...(titles.length > fewTitles ? ['…'] : [])]
  return `${titles.length} ${were} deleted ${where}: ${named.join(', ')}`
}

export function describeUnsent(count: number, reason: string | undefined): string {
  const [bookmarks, size] = count === 1 ? ['bookmark', 'it is too large'] : ['bookmarks', 'they are too large']
  return `The server does not take ${count} ${bookmarks}: ${reason === 'quota' ? 'your space is used up' : size}`
}

export function describeRefused({ title, by, message }: WorkerState['refused'][number]): string {
  const who = by === 'browser' ? 'This browser' : 'The server'
  return `${who} does not take “${shortened(title)}”: ${shortened(message)}`
}

/** A title, or an address in a browser's message, may have tens of thousands of letters, and what is below must stay in reach. */
export function shortened(text: string): string {
  const letters = [...text.slice(0, 2 * mostLetters + 2)]
  return letters.length > mostLetters ? `${letters.slice(0, mostLetters).join('')}…` : text
}

const mostLetters = 120
