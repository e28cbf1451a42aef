import type { PlaintextBookmark, TreeNode } from '../../../src/client/index.ts'
import { entityTypes } from '../../../src/client/sync/store/key.ts'
import { settled } from '../sync/clock.ts'
import type { Device } from './device.ts'
import { approveShown } from './edits.ts'
import type { Run } from './run.ts'

/** After a quiet time on a good network, all devices show what the service has, and every edit is accounted for. */
export async function checkEnd(run: Run): Promise<void> {
  for (const device of run.devices) checkMemory(run, device)
  await quietTime(run)
  if (run.failures.length > 0) return
  const final = await run.readService()
  const trees = run.devices.flatMap(({ tabs }) => tabs.map(({ sync }) => text(shape(sync.tree()))))
  for (const device of run.devices) checkDevice(run, device, final)
  if (new Set(trees).size > 1) run.fail('The trees differ', trees)
  for (const entry of run.ledger.faults(final)) run.fail('Unaccounted for', entry)
}

/** A device's only tab shows what is stored, unless the browser has cleared the storage or it is full. */
function checkMemory(run: Run, device: Device): void {
  const { id, disk, tabs } = device
  const [tab, another] = tabs
  if (!tab || another || disk.isEvicted || disk.isFull) return
  const wrong = differences(tab.sync.bookmarks(), device.stored())
  if (text(wrong) !== '[]') run.fail(`${id} shows something else than it has stored`, wrong)
}

async function quietTime(run: Run): Promise<void> {
  const { devices, world } = run
  for (const device of devices) {
    device.disk.isFull = false
    device.line.weather = 'good'
    for (const { wire } of [...device.tabs, ...device.left]) {
      wire.release()
      wire.socket?.close()
    }
  }
  await settled()
  // A request of a killed tab may arrive after all other tabs have pulled for the last time.
  const isUnderWay = ({ session, wires }: Device) => session === 'leaving' || wires.some(({ late }) => late > 0)
  for (let waited = 0; devices.some(isUnderWay) && waited < patienceMs; waited += stepMs) await world.pass(stepMs)
  for (const device of devices) if (device.session !== 'in') await device.signIn()
  for (const device of devices) device.unlock()
  await world.pass(stepMs)
  // A store that the browser cleared has been filled again by now.
  for (const device of devices.filter(({ types }) => types && types !== entityTypes)) {
    device.types = entityTypes
    device.crash()
    device.openTab()
    await world.pass(stepMs)
  }
  for (const device of devices) await liftRefusals(run, device)
  // In the second round, each gets what the others had to send in the first.
  for (const { tabs } of [...devices, ...devices]) {
    for (const { sync } of tabs.slice(0, 1)) {
      await finish(run, 'retry', sync.retryQuarantined())
      await finish(run, 'syncNow', sync.syncNow())
      await finish(run, 'approveDeletions', approveShown(sync))
    }
  }
  for (const { tabs } of devices) {
    for (const { sync } of tabs.slice(0, 1)) await finish(run, 'adoptKeys', sync.adoptKeys(run.vault.keys))
  }
  // The tab that talks to the service waits after a failure. `checkDevice` expects that its next attempt succeeded.
  await world.pass(longestWaitMs)
  for (const { id, open } of devices)
    for (const { what } of open.values()) run.fail(`${id}: ${what} is never answered`, '')
}

/** Checks that all changes are sent except those that the service refuses, then lifts the refusals. */
async function liftRefusals(run: Run, { id, line, tabs: [tab] }: Device): Promise<void> {
  const { isOverQuota, refused } = line
  if (tab && (isOverQuota || refused.size > 0)) {
    await finish(run, 'retry', tab.sync.retryQuarantined())
    await finish(run, 'syncNow', tab.sync.syncNow())
    const kept = tab.sync.quarantined()
    const wrong = kept.filter((one) => !refused.has(one.id) && !(isOverQuota && one.bookmark))
    if (wrong.length > 0) run.fail(`${id} takes as refused what was not`, wrong)
    const { waiting } = tab.sync.status()
    if (waiting > kept.length) run.fail(`${id} sends nothing beside what is refused`, tab.sync.status())
  }
  line.isOverQuota = false
  refused.clear()
}

const stepMs = 20_000
const longestWaitMs = 60_000
/** Longer than the service may take to respond. */
const patienceMs = 240_000

async function finish(run: Run, what: string, promise: Promise<unknown>): Promise<void> {
  let outcome: 'open' | 'done' | Error = 'open'
  promise.then(
    () => (outcome = 'done'),
    (error) => (outcome = error),
  )
  await settled()
  for (let waited = 0; outcome === 'open' && waited < patienceMs; waited += stepMs) await run.world.pass(stepMs)
  if (outcome === 'open') run.fail(`${what} hangs`, '')
  if ((outcome as unknown) instanceof Error) run.fail(`${what} fails`, String((outcome as unknown as Error).stack))
}

function checkDevice(run: Run, device: Device, final: Map<string, PlaintextBookmark>): void {
  const expected = text(sorted(final))
  for (const { sync } of device.tabs) {
    const { waiting, state, reason } = sync.status()
    if (waiting > 0) run.fail(`${device.id} still waits`, sync.status())
    if (reason || !['online', 'polling'].includes(state)) run.fail(`${device.id} says otherwise`, sync.status())
    if (text(sorted(sync.bookmarks())) !== expected)
      run.fail(`${device.id} shows something else`, differences(sync.bookmarks(), final))
    if (count(sync.tree()) !== final.size) run.fail(`${device.id}: a bookmark cannot be reached`, sync.tree())
  }
  if (text(sorted(device.stored())) !== expected)
    run.fail(`${device.id} has stored something else`, differences(device.stored(), final))
}

function differences(here: ReadonlyMap<string, unknown>, there: ReadonlyMap<string, unknown>): unknown {
  return [...new Set([...here.keys(), ...there.keys()])]
    .map((id) => ({ id, here: here.get(id) ?? null, there: there.get(id) ?? null }))
    .filter(({ here, there }) => text(here) !== text(there))
}

function sorted(bookmarks: ReadonlyMap<string, Readonly<PlaintextBookmark>>): unknown {
  return [...bookmarks].sort(byName)
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1
}

function shape(nodes: TreeNode[]): unknown {
  return nodes.map(({ bookmark, children }) => [bookmark.id, shape(children)])
}

function count(nodes: TreeNode[]): number {
  return nodes.reduce((sum, { children }) => sum + 1 + count(children), 0)
}

/** Objects that differ only in the order of their keys give the same text. */
function text(value: unknown): string {
  return JSON.stringify(value, (_, one) => (isObject(one) ? Object.fromEntries(Object.entries(one).sort(byName)) : one))
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
