/** The worker. The browser starts it for its own start, alarms, messages and other events, such as changes of bookmarks. */

import type { PlaintextBookmark } from '../../client/bookmark.ts'
import { deriveId } from '../../client/crypto/derived-id.ts'
import { deriveKeys } from '../../client/crypto/keys.ts'
import {
  ApiError,
  OfflineError,
  SignedOutError,
  StorageFullError,
  StoreBlockedError,
  StoreVersionError,
  UnsentChangesError,
} from '../../client/errors.ts'
import type { Conflict } from '../../client/sync/store/emitter.ts'
import { loadMasterKey } from '../../client/vault/master-key.ts'
import { groupsKey, type TabGroups } from '../groups/tab-groups.ts'
import {
  type BookmarkWatch,
  type BrowserSync,
  type BrowserSyncStatus,
  createBrowserSync,
  createSync,
  type ExtensionSync,
  indexedDbAgreedStore,
  shareSessionWithSockets,
  wakefulSocket,
  watchBookmarks,
} from '../index.ts'
import { PageFinder } from '../visits/find.ts'
import { openOwnClient } from './client.ts'
import { fillTitles } from './fill-titles.ts'
import { countUnsent, personStore, removePersonsPermissions } from './forget-person.ts'
import { type Answer, type Explained, type Fault, platform, type Question, type WorkerState } from './platform.ts'
import { changeSettings, forgetSettings, originsOf, readSettings, type Settings } from './settings.ts'
import { text } from './text.ts'
import { answerGroups, followsGroups, hasTurnedOffGroups, openGroups } from './worker-groups.ts'
import {
  answerAddressBar,
  answerVisits,
  followsHistory,
  forgetVisits,
  hasTurnedOffHistory,
  openVisits,
  type VisitsDevice,
  watchVisits,
} from './worker-visits.ts'

/** Minutes between starts of the worker while no socket keeps it awake. */
const wakeMinutes = 5

const watch = watchBookmarks(platform.bookmarks)
/** Why the device could not open, or failed later. The next question or alarm tries again. */
let fault: unknown
/** True during a sign-out, which removes permissions. That must not open a device: its empty sync would empty the browser. */
let isLeaving = false
let opened = open()

const watchAgain = watchVisits(() => opened)
answerAddressBar(() => opened)
platform.alarms.create('wake', { periodInMinutes: wakeMinutes })
platform.alarms.onAlarm.addListener(() => void withDevice(syncUnlessOnline).catch(() => {}))
platform.permissions.onAdded.addListener(() => {
  watchAgain()
  void reopen()
})
platform.permissions.onRemoved.addListener(() => isLeaving || void reopenIfTurnedOff().then(readState).then(showBadge))
// The listener does nothing, but because of it the browser starts the worker when it starts itself.
platform.runtime.onStartup.addListener(() => {})
platform.runtime.onInstalled.addListener(({ reason }) => {
  if (reason === 'install') platform.tabs.create({ url: platform.runtime.getURL('start.html') })
})
platform.runtime.onMessage.addListener((question, _sender, respond) => {
  answer(question).then(respond, ({ name, message }) => respond({ error: { name, message } }))
  return true
})

/** Opens the device, and begins to start it. Undefined if that fails, or the user must act first or has paused the sync. */
async function open(): Promise<Device | undefined> {
  const hasFailed = fault !== undefined
  fault = undefined
  let device: Device | undefined
  try {
    const settings = await readSettings()
    if (settings.isPaused) await forgetTurnedOff(settings)
    else device = await openDevice(settings, watch)
    const show = () => void readState(device).then(showBadge)
    device?.sync.on('status', show)
    device?.sync.on('conflict', show)
    device?.browserSync.on('status', show)
    if (device) {
      if (settings.fillsTitles) fillTitles(device.sync, device.ended.signal)
      const starting = startDevice(device, settings)
      // Waits for the start only after a failure, because the first comparison may take long.
      if (hasFailed) await Promise.race([starting, untilBlocked(device.sync)])
      starting.catch(fail)
    }
    show()
    return device
  } catch (error) {
    await stopDevice(device)
    await fail(error)
    return undefined
  }
}

/** Resolves when the status reports that another tab blocks the store. */
function untilBlocked(sync: ExtensionSync): Promise<void> {
  return new Promise((resolve) => {
    sync.on('status', ({ reason }) => reason === 'blocked' && resolve())
  })
}

/** Opens the device again, one call at a time: two devices in one worker could add bookmarks twice. */
function reopen(isNeeded = () => true): Promise<Device | undefined> {
  opened = opened.then(async (device) => {
    if (!isNeeded()) return device
    await stopDevice(device)
    return open()
  })
  return opened
}

/** Opens the device again if its person has removed a permission in the browser, or if none is open: it may be paused. */
async function reopenIfTurnedOff(): Promise<Device | undefined> {
  const device = await opened
  const isOff = async ({ groups, visits }: Device) =>
    (groups && !(await followsGroups())) || (visits && !(await followsHistory(await readSettings())))
  return !device || (await isOff(device)) ? reopen() : device
}

/** While the sync is paused, deletes the records of types that were turned off, if an earlier worker has not done so. */
async function forgetTurnedOff(settings: Settings): Promise<void> {
  if (!(await hasTurnedOffGroups()) && !(await hasTurnedOffHistory(settings))) return
  const device = await openDevice(settings, watch)
  // The first edit, even an empty one, removes the records of types that the sync does not have.
  await device?.sync.put([])
  await stopDevice(device)
}

/** The open device. Opens it again if it failed, for example because the disk was full. */
function current(): Promise<Device | undefined> {
  return reopen(() => fault !== undefined)
}

/** Notes the error, unless the sync's status reports it. After other errors, the device must be opened again. */
async function fail(error: unknown): Promise<void> {
  const isReported = [ApiError, OfflineError, SignedOutError].some((kind) => error instanceof kind)
  // An AbortError is not a fault: the device was stopped, or its person has signed out.
  if (isReported || (error instanceof Error && error.name === 'AbortError')) return
  fault = error
  // Tries again at once: opening the store waits for the tab that blocks it.
  if (error instanceof StoreBlockedError) void reopen(() => fault === error)
  await showBadge(await readState(undefined))
}

async function withDevice<T>(work: (device: Device) => Promise<T>): Promise<T | undefined> {
  const device = await current()
  return device && work(device)
}

/** A device with a socket gets all changes anyway. */
async function syncUnlessOnline(device: Device): Promise<void> {
  const { sync, browserSync } = device
  if (sync.status().state !== 'online' || browserSync.status().state === 'failed') await syncNow(device)
}

async function syncNow(device: Device): Promise<void> {
  const { sync, browserSync } = device
  try {
    await sync.syncNow()
    // The sync has stopped if the service said that the session had ended. That may have been temporary.
    await sync.start()
  } catch (error) {
    await fail(error)
    throw error
  }
  await browserSync.compareNow()
}

async function answer(question: Question): Promise<Answer> {
  await act(question)
  const device = await current()
  const held = {
    browser: device?.browserSync.heldRemovals() ?? [],
    devices: (device?.sync.heldDeletions() ?? []).map(({ id, title }) => ({ id, title })),
  }
  const state = await readState(device)
  return {
    state,
    ...(question.ask === 'held' && { held, copies: device?.browserSync.copies() ?? [] }),
    ...(['held', 'visits'].includes(question.ask) && (await answerVisits(device, question, reopen))),
    ...(question.ask === 'groups' && { groups: await answerGroups(device?.groups, question.act) }),
    ...(question.ask === 'explain' && { explained: await explain(device, state) }),
  }
}

async function explain(device: Device | undefined, state: WorkerState): Promise<Explained> {
  const { setup, isPaused, browser, fault, leftOut, refused } = state
  return {
    ...{ setup, isPaused, browser, fault: fault?.kind ?? null, leftOut: leftOut.length, refused: refused.length },
    // `explain` fails if the sync has stopped.
    sync: device ? await device.sync.explain().catch(() => state.sync) : null,
  }
}

async function act(question: Question): Promise<unknown> {
  switch (question.ask) {
    case 'start':
      return reopen()
    case 'pause':
    case 'resume':
      await changeSettings({ isPaused: question.ask === 'pause' })
      return reopen()
    case 'sync-now':
      return withDevice(syncNow)
    case 'retry':
      return withDevice(({ sync }) => sync.retryQuarantined())
    case 'resolve':
      return withDevice(({ sync }) => resolveShown(sync, question))
    case 'decide':
      return withDevice((device) => decide(device, question))
    case 'decide-copies':
      return withDevice(({ browserSync }) => browserSync.decideCopies(question.ids, question.areOne))
    case 'leave-out':
      return withDevice(({ browserSync }) => browserSync.leaveOut(question.browserId))
    case 'take-in':
      return withDevice(({ browserSync }) => browserSync.takeIn(question.browserId))
    case 'sign-out':
      return signOut(question.discardUnsent)
    default:
      return undefined
  }
}

async function decide({ sync, browserSync }: Device, { side, deletes, ids }: Question & { ask: 'decide' }) {
  if (side === 'browser') await (deletes ? browserSync.approveRemovals(ids) : browserSync.rejectRemovals())
  else await (deletes ? sync.approveDeletions(ids) : sync.rejectDeletions())
}

/** Also works while the sync is paused. */
async function signOut(discardUnsent: boolean): Promise<void> {
  const settings = await readSettings()
  const device = (await current()) ?? (await openDevice(settings, watch))
  let isEnded = true
  isLeaving = true
  try {
    await device?.visits?.flush()
    if (device) isEnded = await forgetDevice(device, discardUnsent)
    // There is no device without the key. An earlier sign-out may have stopped after it had deleted the key.
    else if (settings.userId) await forgetWithoutKey(settings.userId, discardUnsent)
    await forgetSettings()
  } finally {
    isLeaving = false
    await reopen()
  }
  // Throws if the browser refuses that, unlike `wipe` of `personStore`, which ignores a refusal.
  await removePersonsPermissions()
  if (!isEnded) throw new Error(text('notEnded'))
}

/** @throws UnsentChangesError, StoreVersionError nothing was deleted */
async function forgetWithoutKey(userId: string, discardUnsent: boolean): Promise<void> {
  const unsent = discardUnsent ? 0 : await countUnsent(userId)
  if (unsent > 0) throw new UnsentChangesError(unsent)
  await personStore(userId).wipe()
}

const noStatus: BrowserSyncStatus = { state: 'waiting', refused: [] }

async function readState(device: Device | undefined): Promise<WorkerState> {
  const { baseUrl, userId, isPaused = false } = await readSettings()
  const { error = fault, refused, ...browser } = device?.browserSync.status() ?? noStatus
  const isAllowed = !baseUrl || (await platform.permissions.contains({ origins: originsOf(baseUrl) }))
  return {
    setup: fault !== undefined ? 'failed' : device || isPaused ? 'ready' : userId ? 'locked' : 'new',
    ...(error !== undefined && { fault: toFault(error) }),
    ...(!isAllowed && { forbidden: baseUrl }),
    isPaused,
    sync: device?.sync.status() ?? null,
    browser: device ? browser : null,
    refused,
    conflicts: device ? readConflicts(device.sync).map(({ shown }) => shown) : [],
    leftOut: device?.browserSync.leftOut() ?? [],
    roots: [...(device?.browserSync.roots() ?? [])],
  }
}

function toFault(error: unknown): Fault {
  const { name, message, cause } = error instanceof Error ? error : new Error(String(error))
  const names = [name, cause instanceof Error && cause.name]
  const isFull = names.includes('QuotaExceededError') || error instanceof StorageFullError
  const isNewer = error instanceof StoreVersionError
  const isBlocked = error instanceof StoreBlockedError
  return { kind: isFull ? 'full' : isNewer ? 'newer' : isBlocked ? 'blocked' : 'other', message }
}

/** This browser as one of the user's devices. */
interface Device extends VisitsDevice {
  browserSync: BrowserSync
  /** Undefined while tab groups are off. */
  groups: TabGroups | undefined
  ended: AbortController
}

/** Makes the device, but does not start it. Undefined if the user must choose a server, sign in or type the passphrase. */
async function openDevice(settings: Settings, watch: BookmarkWatch): Promise<Device | undefined> {
  const { baseUrl, deviceId, userId } = settings
  if (!baseUrl || !deviceId || !userId) return undefined
  const masterKey = await loadMasterKey(userId)
  if (!masterKey) return undefined
  const client = openOwnClient(settings)
  const keys = deriveKeys(masterKey)
  const webSocket = wakefulSocket(platform.runtime)
  const [hasVisits, hasGroups] = [await followsHistory(settings), await followsGroups()]
  // Repeated, because an earlier worker may have been stopped before it had deleted everything.
  if (settings.visits !== undefined && !hasVisits) await forgetVisits(userId)
  if (!hasGroups) await platform.storage.local.remove(groupsKey)
  const types = [
    'bookmark' as const,
    ...(hasGroups ? (['group'] as const) : []),
    ...(hasVisits ? (['history'] as const) : []),
  ]
  const sync = createSync({ client, keys, userId, deviceId, store: personStore(userId), webSocket, types })
  const store = indexedDbAgreedStore(userId)
  const { bookmarks, storage } = platform
  const visits = hasVisits ? openVisits(sync, keys, settings) : undefined
  return {
    ...{ userId, sync, visits, ended: new AbortController() },
    finder: new PageFinder(sync, types, (id) => visits?.isRemoved(id) ?? false),
    groups: hasGroups ? openGroups(sync) : undefined,
    browserSync: createBrowserSync({
      sync,
      deriveId: (likeness) => deriveId(keys, likeness),
      bookmarks,
      watch,
      store,
      session: storage.session,
    }),
  }
}

/** Starts the browser sync first, because it finishes what an earlier worker has left unfinished. */
async function startDevice({ sync, browserSync, visits, groups }: Device, { baseUrl = '' }: Settings): Promise<void> {
  await browserSync.start()
  await shareSessionWithSockets(platform.cookies, baseUrl).catch(() => {})
  await visits?.start()
  await groups?.start()
  await sync.start()
}

async function stopDevice(device: Device | undefined): Promise<void> {
  device?.ended.abort('stopped')
  await device?.browserSync.stop()
  await device?.visits?.stop()
  await device?.groups?.stop()
  await device?.sync.stop()
}

/**
 * Deletes what the extension has stored of this user, except for the settings. The browser's bookmarks stay.
 * @returns whether the session was ended, too: without a network it is not
 * @throws UnsentChangesError, StoreVersionError nothing was deleted, but the device has stopped
 */
async function forgetDevice(device: Device, discardUnsent: boolean): Promise<boolean> {
  const { sync, browserSync, visits, groups, ended } = device
  ended.abort('signed out')
  // Stops first: emptying the sync would look as if all bookmarks had been deleted.
  await browserSync.stop()
  await visits?.stop()
  await groups?.stop()
  let isEnded = true
  try {
    await sync.signOut({ discardUnsent })
  } catch (error) {
    await sync.stop()
    isEnded = error instanceof SignedOutError
    if (!(isEnded || error instanceof OfflineError || error instanceof ApiError)) throw error
  }
  return isEnded
}

/** Resolves the conflict that the user was shown, but no other of the same bookmark. */
async function resolveShown(
  sync: ExtensionSync,
  { conflict: { id, mine, theirs }, choice }: Question & { ask: 'resolve' },
) {
  const isMeant = ({ shown }: ReadConflict) => shown.id === id && shown.mine === mine && shown.theirs === theirs
  const found = readConflicts(sync).find(isMeant)
  if (found) await sync.resolve(found.conflict, choice)
}

interface ReadConflict {
  conflict: Conflict
  shown: WorkerState['conflicts'][number]
}

/** The conflicts to decide, with one line for each side. The line names the folder if that is what differs. */
function readConflicts(sync: Pick<ExtensionSync, 'conflicts' | 'get'>): ReadConflict[] {
  const folderOf = ({ parentId }: PlaintextBookmark) =>
    (parentId !== undefined && sync.get(parentId)?.title) || text('topLevel')
  return sync
    .conflicts()
    .filter((conflict) => !isOrder(conflict))
    .map((conflict) => {
      const { id, fields, mine, theirs } = conflict
      const lineOf = (bookmark: PlaintextBookmark | null) => {
        if (!bookmark) return ''
        const name = [bookmark.title, bookmark.url].filter(Boolean).join(' · ')
        return fields.includes('parentId') ? text('inFolder', name, folderOf(bookmark)) : name
      }
      return { conflict, shown: { id, mine: lineOf(mine), theirs: lineOf(theirs) } }
    })
}

/** True if only the order in a folder differs, about which the user is not asked. */
function isOrder({ fields, mine, theirs }: Conflict): boolean {
  return fields.length === 1 && fields[0] === 'parentId' && mine?.parentId === theirs?.parentId
}

/** The number on the badge: how many things need the user. */
function badgeNumber({ setup, fault, forbidden, sync, browser, refused, conflicts }: WorkerState): number {
  const isOut = forbidden !== undefined || setup === 'locked' || sync?.state === 'signed-out'
  const lacksKeys = sync?.reason === 'keys'
  const fails = sync?.reason === 'storage' || sync?.reason === 'blocked' || fault !== undefined
  const held = [sync?.heldDeletions, browser?.heldRemovals, browser?.copies].filter((one) => one !== undefined).length
  const quarantined = sync?.quarantined ? 1 : 0
  const stopped = Number(isOut) + Number(lacksKeys) + Number(fails)
  return stopped + held + quarantined + Math.min(1, refused.length) + conflicts.length
}

async function showBadge(state: WorkerState): Promise<void> {
  const count = badgeNumber(state)
  await platform.action.setBadgeBackgroundColor({ color: '#a33b00' })
  await platform.action.setBadgeText({ text: count === 0 ? '' : String(count) })
}
