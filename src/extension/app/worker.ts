/** The worker: starts with the browser, after an alarm, and for each change of a bookmark. */
import { type BrowserSyncStatus, watchBookmarks } from '../index.ts'
import { showBadge } from './badge.ts'
import { readConflicts } from './conflicts.ts'
import { type Device, forgetDevice, openDevice, startDevice } from './device.ts'
import type { Answer, Question, WorkerState } from './messages.ts'
import { platform } from './platform.ts'
import { changeSettings, readSettings } from './settings.ts'

/** How often the worker is started if it has no socket that keeps it awake. */
const wakeMinutes = 5

const watch = watchBookmarks(platform.bookmarks)
let opened = open()

platform.alarms.create('wake', { periodInMinutes: wakeMinutes })
platform.alarms.onAlarm.addListener(() => void withDevice(syncUnlessOnline).catch(() => {}))
// It does nothing, but the browser starts the worker for it, not only for the first alarm or change.
platform.runtime.onStartup.addListener(() => {})
platform.runtime.onInstalled.addListener(({ reason }) => {
  if (reason === 'install') platform.tabs.create({ url: platform.runtime.getURL('start.html') })
})
platform.runtime.onMessage.addListener((question, _sender, respond) => {
  answer(question).then(respond, ({ name, message }) => respond({ error: { name, message } }))
  return true
})

/** Undefined if the user has to do something first, or has paused it. */
async function open(): Promise<Device | undefined> {
  const settings = await readSettings()
  const device = settings.isPaused ? undefined : await openDevice(settings, watch)
  if (device) {
    const show = () => void readState(device).then(showBadge)
    device.sync.on('status', show)
    device.sync.on('conflict', show)
    device.browserSync.on('status', show)
    // Not waited for: without a network it takes a while.
    startDevice(device, settings).catch(console.error)
  } else await showBadge(await readState(device))
  return device
}

/** One after the other: two pages may ask at once, and two devices in one worker would bring everything twice. */
async function reopen(): Promise<void> {
  const before = opened.catch(() => undefined)
  opened = before.then(async (device) => {
    await device?.browserSync.stop()
    await device?.sync.stop()
    return open()
  })
  await opened
}

async function withDevice<T>(work: (device: Device) => Promise<T>): Promise<T | undefined> {
  const device = await opened
  return device && work(device)
}

/** Whoever is online hears of everything by itself. */
async function syncUnlessOnline(device: Device): Promise<void> {
  if (device.sync.status().state !== 'online') await syncNow(device)
}

async function syncNow({ sync, browserSync }: Device): Promise<void> {
  await sync.syncNow()
  await browserSync.compareNow()
}

async function answer(question: Question): Promise<Answer> {
  await act(question)
  const device = await opened
  const held = { browser: device?.browserSync.heldRemovals() ?? [], devices: device?.sync.heldDeletions() ?? [] }
  const shown = {
    browser: held.browser,
    devices: held.devices.map(({ id, title }) => ({ id, title })),
  }
  return { state: await readState(device), ...(question.ask === 'held' && { held: shown }) }
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
      return withDevice(({ sync }) => sync.resolve(question.id, question.choice))
    case 'decide':
      return withDevice((device) => decide(device, question))
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

/** Also while it is paused. */
async function signOut(discardUnsent: boolean): Promise<void> {
  const device = (await opened) ?? (await openDevice(await readSettings(), watch))
  try {
    const isEnded = !device || (await forgetDevice(device, discardUnsent))
    await platform.storage.local.clear()
    if (!isEnded) throw new Error(notEnded)
  } finally {
    await reopen()
  }
}

const notEnded =
  'All is deleted here, but your server did not answer: the session goes on. End it on your server’s page, among your sessions.'

const noStatus: BrowserSyncStatus = { state: 'waiting', refused: [] }

async function readState(device: Device | undefined): Promise<WorkerState> {
  const { userId, isPaused = false } = await readSettings()
  const { error, refused, ...browser } = device?.browserSync.status() ?? noStatus
  return {
    setup: device || isPaused ? 'ready' : userId ? 'locked' : 'new',
    isPaused,
    sync: device?.sync.status() ?? null,
    browser: device ? { ...browser, ...(error && { error: error.message }) } : null,
    refused,
    conflicts: device ? readConflicts(device.sync) : [],
    leftOut: device?.browserSync.leftOut() ?? [],
  }
}
