/** The worker's part of the browsing history and the address bar: event listeners, and answers to the pages. */
import { historyId } from '../../client/crypto/derived-id.ts'
import type { Keys } from '../../client/index.ts'
import { systemClock } from '../../client/timing/clock.ts'
import type { ExtensionSync } from '../index.ts'
import { readable } from '../visits/address.ts'
import type { PageFinder } from '../visits/find.ts'
import type { HistoryPage, RemovedPages } from '../visits/history-api.ts'
import { indexedDbVisitStore } from '../visits/visit-store.ts'
import { createVisits, type Visits } from '../visits/visits.ts'
import { serviceNow } from './client.ts'
import { type Answer, platform, type Question, type VisitAct } from './platform.ts'
import { changeSettings, readSettings, type Settings } from './settings.ts'
import { text } from './text.ts'

/** The parts of the device that show and store visited pages. */
export interface VisitsDevice {
  userId: string
  sync: ExtensionSync
  /** Undefined while the browsing history is off. */
  visits: Visits | undefined
  finder: PageFinder
}

const alarm = 'visits'
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const mostShown = 200
/** Chrome shows at most this many suggestions. */
const mostSuggested = 8

/** True if the user has turned on the history, and the browser still permits it. */
export async function followsHistory({ visits = false }: Settings): Promise<boolean> {
  return visits && (await platform.permissions.contains({ permissions: ['history'] }))
}

/** True if the user has turned the history off or removed its permission, or if a sign-out has begun and not ended. */
export async function hasTurnedOffHistory(settings: Settings): Promise<boolean> {
  return settings.visits !== undefined && !(await followsHistory(settings))
}

export function openVisits(sync: ExtensionSync, keys: Keys, settings: Settings): Visits | undefined {
  const { history } = platform
  if (!history) return undefined
  const idOf = (url: string) => historyId(keys, url)
  const { userId = '', signedOutAt: notBefore = 0 } = settings
  const store = indexedDbVisitStore(userId)
  const { session } = platform.storage
  return createVisits({ sync, history, idOf, store, notBefore, clock: systemClock, serviceNow, session, wake })
}

/** Deletes the pages that this device has noted of its browser's history, after that was turned off. Its settings stay. */
export async function forgetVisits(userId: string): Promise<void> {
  await indexedDbVisitStore(userId).turnOff(systemClock.now())
}

/**
 * Sets an alarm, which also starts a stopped worker, to store visits and pass on removals. It goes off at a full minute,
 * or else the service could infer the second of a visit. Browsers require alarms to be at least half a minute ahead.
 */
function wake(): void {
  void platform.alarms.get(alarm).then((there) => {
    if (!there) platform.alarms.create(alarm, { when: Math.ceil(Date.now() / minuteMs + 0.5) * minuteMs })
  })
}

/** Listens to visits, which then start the worker. Returns a function to call when the permission is granted later. */
export function watchVisits(current: () => Promise<VisitsDevice | undefined>): () => void {
  const withVisits = (work: (visits: Visits) => unknown) =>
    void current()
      .then((device) => device?.visits && work(device.visits))
      .catch(() => {})
  const visited = (page: HistoryPage) => withVisits((visits) => visits.visited(page))
  const removed = (news: RemovedPages) => withVisits((visits) => visits.removed(news))
  // A listener that was added twice is called once.
  const watch = () => {
    platform.history?.onVisited.addListener(visited)
    platform.history?.onVisitRemoved.addListener(removed)
  }
  watch()
  // Runs at every alarm: the worker's regular one also stores visits from a time without a network.
  platform.alarms.onAlarm.addListener(() => withVisits((visits) => visits.round()))
  // Visits that are not stored by then wait in the browser's history for the next start.
  platform.runtime.onSuspend.addListener(() => withVisits((visits) => visits.round(true)))
  return watch
}

/**
 * Answers a page about the browsing history.
 * @param reopen opens the device again
 */
export async function answerVisits(
  device: VisitsDevice | undefined,
  question: Question,
  reopen: () => Promise<VisitsDevice | undefined>,
): Promise<Pick<Answer, 'visits' | 'isErasureUnsent'>> {
  const act = question.ask === 'visits' ? question.act : undefined
  if (act?.do === 'turn-off') {
    const isErasureUnsent = act.erases && (await erase(openOf(device)))
    await turnOff(device?.visits, reopen)
    return { isErasureUnsent }
  }
  const after = act ? await doVisits(device, act, reopen) : device
  if (!after?.visits) return {}
  const words = act?.do === 'find' ? act.words : undefined
  const pages = words === undefined ? undefined : await after.finder.findVisited(words, mostShown)
  return { visits: { ...(await after.visits.status()), ...(pages && { pages }) } }
}

async function doVisits(
  device: VisitsDevice | undefined,
  act: Exclude<VisitAct, { do: 'turn-off' }>,
  reopen: () => Promise<VisitsDevice | undefined>,
): Promise<VisitsDevice | undefined> {
  if (act.do === 'find') return device
  if (act.do === 'turn-on') {
    await changeSettings({ visits: true })
    return resumed(await reopen())
  }
  const { visits } = openOf(device)
  switch (act.do) {
    case 'pause':
      await visits.pause(act.forHours === undefined ? undefined : Date.now() + act.forHours * hourMs)
      return device
    case 'resume':
      return resumed(device)
    case 'change':
      await visits.change(act)
      return device
    case 'answer-cleared':
      await visits.answerCleared(act.everywhere)
      return device
  }
}

/** @throws Error the history is off, or the sync is paused: the page must not report success */
function openOf(device: VisitsDevice | undefined): VisitsDevice & { visits: Visits } {
  if (!device?.visits) throw new Error(text('visitsGoOnFirst'))
  return { ...device, visits: device.visits }
}

/**
 * Erases the history on the service.
 * @returns true if the service has not deleted all of it yet: the next exchanges send the rest
 * @throws Error the sync failed, and nothing was erased
 */
async function erase({ sync, visits }: VisitsDevice & { visits: Visits }): Promise<boolean> {
  // Fetches first, to erase what other devices have just stored, too.
  await sync.syncNow().catch((cause) => {
    throw new Error(text('visitsNotErased'), { cause })
  })
  await visits.erase()
  const isRefused = () => sync.quarantined().some(({ entityType }) => entityType === 'history')
  return sync.syncNow().then(isRefused, () => true)
}

/** Also works while the sync is paused. */
async function turnOff(visits: Visits | undefined, reopen: () => Promise<unknown>): Promise<void> {
  await visits?.flush()
  await visits?.stop()
  try {
    const { userId } = await readSettings()
    // The setting first: if the worker stops right after it, the next one deletes the data.
    await changeSettings({ visits: false })
    if (userId) await forgetVisits(userId)
  } finally {
    await reopen()
  }
}

async function resumed(device: VisitsDevice | undefined): Promise<VisitsDevice | undefined> {
  await device?.visits?.resume()
  return device
}

/** Offers bookmarks, tabs of groups and visited pages in the address bar, after the extension's keyword. */
export function answerAddressBar(current: () => Promise<VisitsDevice | undefined>): void {
  const { omnibox, tabs, runtime } = platform
  // Firefox for Android has no `omnibox`.
  if (!omnibox) return
  const find = async (words: string, limit: number) => (await current())?.finder.find(words, limit) ?? []
  // In Chrome, a description is XML.
  const escaped = (line: string) =>
    runtime.getURL('').startsWith('moz-') ? line : line.replace(/[<>&'"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
  omnibox.setDefaultSuggestion({ description: text('omniboxHint') })
  omnibox.onInputStarted.addListener(() => void find('', 1).catch(() => {}))
  omnibox.onInputChanged.addListener((words, suggest) => {
    const toSuggestion = ({ url, title }: { url: string; title: string }) => {
      return { content: url, description: escaped(readable(title ? `${title} · ${url}` : url)) }
    }
    find(words, mostSuggested).then(
      (pages) => suggest(pages.map(toSuggestion)),
      () => {},
    )
  })
  omnibox.onInputEntered.addListener(async (typed, where) => {
    const url = /^https?:\/\//i.test(typed) ? typed : (await find(typed, 1))[0]?.url
    if (!url) return
    if (where === 'currentTab') await tabs.update({ url })
    else await tabs.create({ url, active: where === 'newForegroundTab' })
  })
}
