import { randomBytes } from 'node:crypto'
import { createHistory } from '../../../src/client/history.ts'
import { deriveKeys, encryptBookmark, type Keys } from '../../../src/client/index.ts'
import { systemClock } from '../../../src/client/timing/clock.ts'
import { hexValue, toDigest } from '../../../src/protocol/digest.ts'
import type { TestUser } from '../../support/app.ts'
import { pullAll } from '../../support/changes.ts'
import { depth } from '../../support/depth.ts'
import { Ledger } from '../chaos/ledger.ts'
import { clientOver } from '../connection.ts'
import { World } from './clock.ts'
import { bookmark, type Device, openDevice, shown, titlesOf } from './device.ts'
import { down, up } from './network.ts'

/** A person with three devices works while the service is backed up, and after it has lost the changes since. */

/** A service that can be put back to a backup. */
export interface DrillService {
  /** A person who is signed in before the backup. */
  user: TestUser
  /** Takes a backup while `work` is called again and again. */
  backUp(work: () => Promise<void>): Promise<void>
  /** Restores the backup and starts the service again. */
  goBack(): Promise<void>
}

/** With ten more this is not a multiple of three, so that each device edits bookmarks of the others, too. */
const count = depth(21, 40)
const edits = depth(50, 100)

/** Returns all faults at the end. */
export async function runDrill({ user, backUp, goBack }: DrillService): Promise<string[]> {
  const keys = deriveKeys(randomBytes(32))
  const devices = ['a', 'b', 'c'].map((id) =>
    openDevice({ user, keys, world: new World(), clock: systemClock, id, skew: 0 }),
  ) as [Device, Device, Device]
  const [a, b, c] = devices
  const ledger = new Ledger()
  for (const { sync } of devices) sync.on('conflict', (conflict) => ledger.keep(conflict))
  const syncAll = async (times: number) => {
    for (let time = 0; time < times; time++) {
      for (const { sync } of devices) {
        await sync.syncNow()
        await sync.approveDeletions(sync.status().heldDeletions?.count ?? 0)
      }
    }
  }

  await a.sync.put(Array.from({ length: count }, (_, index) => bookmark(`b${index}`, `first of b${index}`)))
  await syncAll(2)
  let made = 0
  const edit = async ({ id: device, sync }: Device) => {
    const number = made++
    const id = `b${(number * 7) % (count + 10)}`
    const saw = sync.get(id)
    const isDelete = number % 9 === 8
    if (isDelete && !saw) return
    const content = isDelete ? null : bookmark(id, `edit ${number} of ${id} by ${device}`)
    const answer = ledger.begin(device, id, content, saw)
    await (content ? sync.put(content) : sync.remove(id))
    answer('kept')
  }
  await backUp(async () => {
    for (const device of [a, b, c]) await edit(device)
    await syncAll(1)
  })
  await syncAll(2)

  // More edits: the service will lose those that it gets, and c, which is offline, sends none.
  c.network.fate = down
  for (let more = 0; more < edits; more++) {
    const device = devices[more % 3] as Device
    await edit(device)
    if (more % 5 === 0 && device !== c) await device.sync.syncNow()
  }
  for (const { sync } of [a, b, a]) await sync.syncNow()
  await goBack()
  // New sequence numbers are taken before any device comes back.
  const foreign = encryptBookmark(keys, bookmark('other', 'made by another app'))
  await user.call('POST', '/api/v1/bookmarks', { body: { id: 'other', ...foreign } })
  const repeats = watchRepeats(devices)
  c.network.fate = up
  await syncAll(3)

  const faults = [...(await compare(user, devices, keys)), ...repeats, ...devices.flatMap(toldFaults)]
  const unaccounted = ledger.faults(a.sync.bookmarks())
  faults.push(...unaccounted.map((entry) => `unaccounted for: ${JSON.stringify(entry)}`))
  if (devices.every(({ restored }) => restored.length === 0)) faults.push('no device reported the restore')
  faults.push(...(await historyFaults(user, a, keys)))
  await Promise.all(devices.map(({ sync }) => sync.stop()))
  return faults
}

async function compare(user: TestUser, devices: Device[], keys: Keys): Promise<string[]> {
  const expected = JSON.stringify(await titlesOf(user, keys))
  const faults = devices.flatMap((device) =>
    JSON.stringify(shown(device)) === expected ? [] : [`${device.id} does not show what the service has`],
  )
  const live = (await pullAll(user)).changes.filter(({ operation }) => operation !== 'delete')
  const { digest, total_bookmarks } = (await user.call('GET', '/api/v1/sync/status')).body
  const sum = live.reduce((sum, { data_hash = '' }) => sum + (hexValue(data_hash) ?? 0n), 0n)
  const isCounted = total_bookmarks === live.length && digest === toDigest(sum)
  return isCounted ? faults : [...faults, 'the digest or the number of bookmarks is wrong']
}

async function historyFaults(user: TestUser, { sync, id }: Device, keys: Keys): Promise<string[]> {
  const faults: string[] = []
  const { changes } = await pullAll(user)
  for (const { entity_id } of changes) {
    const { versions } = (await user.call('GET', `/api/v1/bookmarks/${entity_id}/versions`)).body
    const current = versions.filter(({ began }: { began: number | null }) => began !== null)
    const isGapless = current.every(({ ended, began }: { ended: number; began: number }, index: number) => {
      return began < ended && (index === 0 || current[index - 1].began === ended)
    })
    if (!isGapless) faults.push(`the versions of ${entity_id} have a gap`)
  }
  const history = createHistory({ client: clientOver({ session: user }, id), keys, userId: user.userId, sync })
  const { bookmarks } = await history.trash()
  const inTrash = bookmarks.map(({ id, bookmark }) => (bookmark ? id : `${id} that does not open`)).sort()
  const deleted = changes.filter(({ operation }) => operation === 'delete').map(({ entity_id }) => entity_id)
  const unknown = deleted.filter((id) => !inTrash.includes(id))
  if (unknown.length > 0) faults.push(`${unknown} cannot be restored`)
  if ((await history.serverConflicts()).conflicts.length > 0) faults.push('a reported conflict is still open')
  return faults
}

/** Collects repeats: reports of a change after which the bookmark is the same as before. */
function watchRepeats(devices: Device[]): string[] {
  const repeats: string[] = []
  for (const { id: device, sync } of devices) {
    const last = new Map([...sync.bookmarks()].map(([id, shown]) => [id, JSON.stringify(shown)]))
    sync.on('change', ({ ids }) => {
      for (const id of ids) {
        const shown = JSON.stringify(sync.get(id))
        if (shown === last.get(id)) repeats.push(`${device} is shown ${id} again`)
        if (shown === undefined) last.delete(id)
        else last.set(id, shown)
      }
    })
  }
  return repeats
}

function toldFaults({ id, conflicts, errors }: Device): string[] {
  const texts = conflicts.map((conflict) => JSON.stringify(conflict))
  const twice = new Set(texts).size < texts.length ? [`${id} was told of a conflict twice`] : []
  return [...twice, ...errors.map(({ error }) => `${id}: ${error.message}`)]
}
