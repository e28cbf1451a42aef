import type { SyncProgress } from '../../client/index.ts'
import type { Fault, WorkerState } from './platform.ts'
import { text } from './text.ts'

export interface Situation {
  headline: string
  /** The consequence, or what to do. */
  detail?: string
  /** `still`: the sync is paused or waits. `needs`: the user must act. */
  mood: 'good' | 'busy' | 'still' | 'needs'
  /** Set during a sync or comparison, once the total is known. */
  progress?: { done: number; total: number }
}

/** Describes the extension's state in words. */
export function describe(state: WorkerState): Situation {
  const { setup, fault, forbidden, isPaused, sync, browser } = state
  if (setup === 'new') return { headline: text('newHeadline'), detail: text('newDetail'), mood: 'needs' }
  if (isPaused) return { headline: text('pausedHeadline'), detail: text('pausedDetail'), mood: 'still' }
  if (setup === 'failed' && fault) return describeFault(fault)
  if (forbidden) {
    const detail = text('forbiddenDetail', new URL(forbidden).host)
    return { headline: text('forbiddenHeadline'), detail, mood: 'needs' }
  }
  if (setup === 'locked' || sync?.state === 'signed-out') {
    return { headline: text('signedOutHeadline'), detail: text('signedOutDetail'), mood: 'needs' }
  }
  if (sync?.reason === 'keys') return { headline: text('keysHeadline'), detail: text('keysDetail'), mood: 'needs' }
  if (sync?.reason === 'storage') return describeFault({ kind: 'full', message: '' })
  if (sync?.reason === 'blocked') return describeFault({ kind: 'blocked', message: '' })
  if (sync?.reason === 'outdated') return describeFault({ kind: 'newer', message: '' })
  if (browser?.state === 'failed' && fault) return describeFault(fault)
  if (sync?.heldDeletions || browser?.heldRemovals || browser?.copies) {
    return { headline: text('heldHeadline'), mood: 'needs' }
  }
  if (sync?.reason === 'limited' || sync?.reason === 'service') {
    const headline = text(sync.reason === 'limited' ? 'limitedHeadline' : 'serviceHeadline')
    const detail = sync.retryAt ? text('askedAgainAt', describeTime(sync.retryAt)) : text('askedAgain')
    return { headline, detail, mood: 'still' }
  }
  if (sync?.state === 'offline' && sync.reason) {
    return { headline: text('offlineHeadline'), detail: text('offlineDetail'), mood: 'still' }
  }
  return describeWork(state)
}

function describeFault({ kind, message }: Fault): Situation {
  if (kind === 'full') return { headline: text('fullHeadline'), detail: text('fullDetail'), mood: 'needs' }
  if (kind === 'blocked') return { headline: text('blockedHeadline'), detail: text('blockedDetail'), mood: 'needs' }
  if (kind === 'newer') return { headline: text('newerHeadline'), detail: text('newerDetail'), mood: 'needs' }
  const detail = text('stoppedDetail', shortened(message).replace(/\.$/, ''))
  return { headline: text('stoppedHeadline'), detail, mood: 'needs' }
}

function describeWork({ sync, browser, refused, conflicts }: WorkerState): Situation {
  if (sync?.state === 'syncing' || browser?.progress) {
    const progress = browser?.progress ? sentOf(browser.progress, sync?.waiting) : sync?.progress
    if (!progress?.total) return { headline: text('syncing'), mood: 'busy' }
    const headline = text('syncingOf', progress.done.toLocaleString(), progress.total.toLocaleString())
    return { headline, mood: 'busy', progress }
  }
  const isConnecting = sync?.state === 'connecting' || sync?.state === 'offline'
  if (isConnecting || browser?.state === 'waiting') return { headline: text('connecting'), mood: 'busy' }
  if (browser?.state === 'comparing') return { headline: text('comparing'), mood: 'busy' }
  if (sync && sync.waiting > (sync.quarantined ?? 0)) {
    return { headline: text('unsentHeadline'), detail: text('unsentDetail'), mood: 'busy' }
  }
  const isOpen = conflicts.length + refused.length + (sync?.quarantined ?? 0) > 0
  return {
    headline: text('inStep'),
    mood: isOpen ? 'needs' : 'good',
    ...(isOpen && { detail: text('exceptDetail') }),
  }
}

/** Does not count edits as done before the sync has sent them. */
function sentOf({ done, total }: SyncProgress, waiting = 0): SyncProgress {
  return { done: Math.max(0, done - waiting), total }
}

/** The time if it is today, otherwise the date and time. */
export function describeTime(time: number, now = new Date()): string {
  const date = new Date(time)
  const isToday = date.toDateString() === now.toDateString()
  return date.toLocaleString(undefined, { ...(!isToday && { dateStyle: 'medium' }), timeStyle: 'short' })
}

export const maxTitles = 3

export function describeDeletes(titles: readonly string[], side: 'browser' | 'devices'): string {
  const named = [...titles.slice(0, maxTitles).map(shortened), ...(titles.length > maxTitles ? ['…'] : [])]
  return text(side === 'browser' ? 'deletedHere' : 'deletedElsewhere', titles.length, named.join(', '))
}

export function describeUnsent(count: number, reason: string | undefined): string {
  return text(reason === 'quota' ? 'unsentQuota' : 'unsentSize', count)
}

export function describeRefused({ title, by, message }: WorkerState['refused'][number]): string {
  return text(by === 'browser' ? 'refusedByBrowser' : 'refusedByServer', shortened(title), shortened(message))
}

/** Shortens a title or a browser's message, which may have tens of thousands of letters. */
export function shortened(title: string): string {
  const letters = [...title.slice(0, 2 * mostLetters + 2)]
  return letters.length > mostLetters ? `${letters.slice(0, mostLetters).join('')}…` : title
}

const mostLetters = 120
