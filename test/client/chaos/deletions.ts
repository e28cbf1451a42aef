import type { Sync } from '../../../src/client/sync/sync.ts'
import { settled } from '../sync/turns.ts'
import type { Device, Tab } from './device.ts'
import { editable, edits, removeSome } from './edits.ts'
import type { Run } from './run.ts'

/** The user approves the deletes that they are shown. */
export function approveShown(sync: Sync): Promise<void> {
  return sync.approveDeletions(sync.status().heldDeletions?.count ?? 0)
}

/** Others delete many bookmarks, the user is asked, others delete more, and then the user approves what was shown. */
export async function approveLate(run: Run, device: Device, tab: Tab): Promise<void> {
  await editable(device)
  if (heldIn(tab).length === 0) {
    edits.importMany(run, device, tab)
    await exchange([device, ...run.devices])
    await deleteElsewhere(run, device, 20)
  }
  const shown = heldIn(tab)
  if (shown.length === 0) return
  await deleteElsewhere(run, device, 2)
  const held = heldIn(tab)
  const later = held.filter((id) => !shown.includes(id))
  run.note(`${shown.length}, later ${later.length}`)
  // Their number says nothing once one of them is no longer held.
  const isByNumber = run.dice.happens(0.5) && shown.every((id) => held.includes(id))
  const approved = tab.sync.approveDeletions(isByNumber ? shown.length : shown).then(() => {
    const gone = later.filter((id) => !tab.sync.get(id))
    if (gone.length > 0) run.fail(`${device.id} has deleted what was not shown`, gone)
  })
  device.call('approve', tab, approved)
}

/** Each of the other devices deletes up to that many, and this one hears of it. */
async function deleteElsewhere(run: Run, device: Device, most: number): Promise<void> {
  const others = run.devices.filter((other) => other !== device)
  for (const other of others) if (other.tab) await removeSome(run, other, other.tab, most)
  await exchange([...others, device])
}

/** One after the other pulls and pushes, while the network is good. */
async function exchange(devices: readonly Device[]): Promise<void> {
  for (const device of devices) {
    const { line, tab } = device
    if (!tab) continue
    const { weather } = line
    line.weather = 'good'
    device.call('syncNow', tab, tab.sync.syncNow())
    await settled()
    line.weather = weather
  }
}

function heldIn({ sync }: Tab): string[] {
  return sync.heldDeletions().map(({ id }) => id)
}
