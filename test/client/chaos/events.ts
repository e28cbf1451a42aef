import { entityTypes } from '../../../src/client/sync/store/key.ts'
import { settled, turns } from '../sync/clock.ts'
import type { Device, Tab } from './device.ts'
import { approveLate, editable, edits, exchange, putOne } from './edits.ts'
import type { Run } from './run.ts'
import type { Weather } from './wire.ts'

/** The events and their relative weights. */
export const weights = {
  put: 26,
  move: 8,
  remove: 7,
  importMany: 3,
  importFile: 5,
  restoreExport: 3,
  hear: 20,
  hearAgain: 3,
  release: 8,
  syncNow: 5,
  pass: 14,
  hangUp: 3,
  killTab: 3,
  crash: 2,
  openTab: 3,
  closeTab: 2,
  signOut: 3,
  expire: 1,
  signIn: 3,
  evict: 3,
  fillDisk: 2,
  freeDisk: 2,
  quota: 2,
  noQuota: 2,
  jump: 3,
  weather: 3,
  approve: 2,
  reject: 1,
  refuse: 1,
  accept: 2,
  update: 14,
  tag: 7,
  together: 5,
  form: 12,
  underForm: 6,
  twoForms: 3,
  resolve: 3,
  retryRefused: 2,
  dropRefused: 1,
  rotate: 2,
  rotateUnderPull: 2,
  loseStore: 2,
  profile: 5,
  twin: 3,
  unlock: 5,
  backUp: 4,
  restore: 4,
  types: 4,
}

/** The weights of a run with bookmarks only. */
export const unmixed = { ...weights, types: 0 }

export type EventName = keyof typeof weights

/** An event on a device with an open tab. Its line in the journal is there already; `run.note` adds to it. */
export type Happening = (run: Run, device: Device, tab: Tab) => void | Promise<void>

export const events: Record<EventName, Happening> = {
  ...edits,
  hear: (run, device) => device.hear(run.dice.between(1, 5)),
  hearAgain: (_, device) => device.hearAgain(),
  release(_, device) {
    for (const { wire } of device.tabs) wire.release()
  },
  syncNow: (_, device, tab) => device.call('syncNow', tab, tab.sync.syncNow()),
  pass: (run) => run.world.pass(run.dice.between(1, 56) * 500),
  hangUp(_, device) {
    for (const { wire } of device.tabs) wire.socket?.close()
  },

  killTab(_, device, tab) {
    if (device.session === 'leaving' || device.disk.isEvicted) return
    tab.kill()
    if (device.tabs.length === 0) device.openTab()
  },
  crash(_, device) {
    // Only tabs have what was in a cleared store. Losing both is another event: `loseStore`.
    if (device.disk.isEvicted) return
    device.crash()
    device.openTab()
  },
  openTab(_, device) {
    if (device.session === 'leaving' || device.tabs.length === device.mostTabs) return
    // The eviction must not come while one of two tabs has yet to receive an edit from the other (see `evict`).
    device.disk.hurryEviction()
    device.openTab()
  },
  closeTab(_, device, tab) {
    if (device.session !== 'leaving' && device.tabs.length > 1 && !device.disk.isEvicted) device.closeTab(tab)
  },

  async signOut(run, device, tab) {
    if (device.session !== 'in') return
    const { dice } = run
    const isImporting = dice.happens(0.3)
    if (isImporting) {
      edits.importMany(run, device, tab)
      await turns(dice.below(8))
    }
    const discardUnsent = isImporting || dice.happens(0.4)
    run.note(discardUnsent ? 'discards' : '')
    device.signOut(tab, discardUnsent)
  },
  expire(_, device) {
    if (device.session === 'in') device.expire()
  },
  signIn: (_, device) => (device.session === 'expired' ? device.signIn() : undefined),

  async evict(run, device) {
    if (device.session === 'leaving') return
    // An edit that only one tab knows would be lost if another tab filled the store again. So would an edit in the store
    // that no tab has read.
    if (device.tabs.length > 1 || device.disk.isUnread) await settled()
    device.disk.evict(device.tabs.length > 1 ? 0 : run.dice.below(4))
  },
  /** Deletes the store and its tabs, but keeps the device id. Unsent edits and unreported conflicts are lost. */
  loseStore({ ledger }, device) {
    if (device.session === 'leaving') return
    device.crash()
    device.disk.lose()
    ledger.lose(device.id)
    device.openTab()
  },
  /** An older copy replaces the profile. The person often repeats the edit made since, before the copy learns of it. */
  async profile(run, device, tab) {
    // The copy has every edit that the ledger counts as made before.
    await settled()
    if (device.session !== 'in' || device.disk.isEvicted) return
    const { line } = device
    const putBack = device.copy()
    const id = run.dice.pick([...tab.sync.bookmarks().keys(), 'a'])
    await putOne(run, device, tab, id)
    await exchange(run.dice.happens(0.5) ? [device] : [device, ...run.devices])
    const { weather } = line
    line.weather = 'dead'
    putBack()
    const [again] = device.tabs
    if (again && run.dice.happens(0.7)) await putOne(run, device, again, id)
    if (again && run.dice.happens(0.2)) await edits.remove(run, device, again)
    await settled()
    line.weather = weather
  },
  /** The profile is copied to a second machine, and from then on both are edited. */
  async twin(run, device, tab) {
    await settled()
    const { devices } = run
    const { session, disk, line, madeAs } = device
    if (session !== 'in' || disk.isEvicted || line.isOlder || devices.some((one) => one.madeAs !== one.id)) return
    await exchange([device])
    const twin = await device.twin()
    run.note(twin ? `of ${madeAs}` : 'waits')
    if (!twin) return
    devices.push(twin)
    if (run.dice.happens(0.5)) await edits.put(run, device, tab)
  },
  fillDisk(_, { disk }) {
    disk.isFull = true
  },
  freeDisk(_, { disk }) {
    disk.isFull = false
  },
  quota({ ledger }, { line }) {
    line.isOverQuota = true
    ledger.isFull = true
  },
  noQuota(_, { line }) {
    line.isOverQuota = false
  },
  jump(run, device) {
    device.skewMs = run.skewMs()
  },
  weather({ dice }, { line }) {
    line.weather = dice.pick(['fair', 'bad', 'dead'])
  },

  approve: approveLate,
  async reject({ ledger }, device, tab) {
    await editable(device)
    if (!tab.sync.status().heldDeletions) return
    ledger.undelete([...tab.sync.bookmarks().keys()])
    device.call('reject', tab, tab.sync.rejectDeletions())
  },

  refuse(run, { line }, tab) {
    const [id] = run.dice.happens(0.5) ? tab.sync.bookmarks().keys() : [run.anyKey('a')]
    if (id) line.refused.add(id)
  },
  accept(_, { line }) {
    line.refused.clear()
  },
  retryRefused: (_, device, tab) => device.call('retry', tab, tab.sync.retryQuarantined()),
  dropRefused({ ledger }, device, tab) {
    const ids = tab.sync.quarantined().map(({ id }) => id)
    ledger.drop(device.id, ids)
    device.call('drop', tab, tab.sync.dropQuarantined(ids))
  },

  async rotate({ vault, dice, devices }, device) {
    if (device.session !== 'in') return
    await vault.rotate()
    device.unlock()
    if (!dice.happens(0.3)) return
    await turns(dice.below(8))
    await vault.rotate()
    dice.pick(devices.filter(({ session }) => session === 'in')).unlock()
  },
  /** The new keys reach all tabs of a device while it pulls records that are encrypted under them. */
  async rotateUnderPull(run, device) {
    const { vault, dice, devices } = run
    const other = dice.pick(devices.filter((one) => one !== device && one.session === 'in'))
    if (device.session !== 'in' || !other) return
    const lines = [device.line, other.line]
    const before = lines.map(({ weather }) => weather)
    for (const line of lines) line.weather = 'good'
    await edits.put(run, device, dice.pick(device.tabs))
    await vault.rotate()
    device.unlock()
    await settled()
    other.line.weather = 'keyless'
    for (const tab of other.tabs) other.call('syncNow', tab, tab.sync.syncNow())
    await settled()
    other.unlock()
    await turns(dice.below(12))
    for (const { wire } of other.tabs) wire.release()
    for (const [place, line] of lines.entries()) line.weather = before[place] as Weather
  },
  unlock: (_, device) => (device.session === 'in' ? device.unlock() : undefined),

  backUp: (run) => run.backUp(),
  restore: (run) => run.restore(),
  /** The app chooses other entity types from now on. */
  types({ dice, ledger }, device) {
    if (device.session === 'leaving' || device.disk.isEvicted) return
    device.types = dice.pick([entityTypes, ['bookmark', 'group'], ['bookmark'], ['history']])
    ledger.takeTypes(device.id, device.types)
    device.crash()
    device.openTab()
  },
}
