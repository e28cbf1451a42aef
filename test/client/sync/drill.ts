import { randomBytes } from 'node:crypto'
import { createHistory } from '../../../src/client/history.ts'
import { deriveKeys, encryptBookmark, type Keys } from '../../../src/client/index.ts'
import { systemClock } from '../../../src/client/timing/clock.ts'
import { hexValue, toDigest } from '../../../src/protocol/digest.ts'
import type { TestUser } from '../../support/app.ts'
import { pullAll } from '../../support/changes.ts'
import { depth } from '../../support/depth.ts'
import { clientOver } from '../connection.ts'
import { World } from './clock.ts'
import { bookmark, type Device, openDevice, shown, titlesOf } from './device.ts'
import { down, up } from './network.ts'

/** A person with three devices goes on working while the service is backed up, and after what it then loses. */

/** A service that can lose what it has written last. */
export interface Place {
  /** A person who is signed in before the backup. */
  user: TestUser
  /** Takes a backup while `work` goes on, which is called again and again. */
  backUp(work: () => Promise<void>): Promise<void>
  /** Goes back to the backup, and starts again. */
  goBack(): Promise<void>
}

const count = depth(20, 40)
const edits = depth(50, 100)

/** Returns what is wrong at the end; nothing, if all is well. */
export async function runDrill({ user, backUp, goBack }: Place): Promise<string[]> {
  const keys = deriveKeys(randomBytes(32))
  const devices = ['a', 'b', 'c'].map((id) =>
    openDevice({ user, keys, world: new World(), clock: systemClock, id, skew: 0 }),
  ) as [Device, Device, Device]
  const [a, b, c] = devices
  const ledger = new Ledger(devices)
  const restored: object[] = []
  for (const { sync } of devices) sync.on('restored', (event) => restored.push(event))
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
  const edit = async (device: Device) => ledger.edit(device, `b${(made * 7) % (count + 10)}`, made++)
  await backUp(async () => {
    for (const device of [a, b, c]) await edit(device)
    await syncAll(1)
  })
  await syncAll(2)

  // More, of which the service loses what it gets, and never gets those of the device without a network.
  c.network.fate = down
  for (let more = 0; more < edits; more++) {
    const device = devices[more % 3] as Device
    await edit(device)
    if (more % 5 === 0 && device !== c) await device.sync.syncNow()
  }
  for (const { sync } of [a, b, a]) await sync.syncNow()
  await goBack()
  // New sequence numbers, before any device comes back.
  const foreign = encryptBookmark(keys, bookmark('other', 'made by another app'))
  await user.call('POST', '/api/v1/bookmarks', { body: { id: 'other', ...foreign } })
  ledger.watchRepeats()
  c.network.fate = up
  await syncAll(3)

  const faults = [...(await compare(user, devices, keys)), ...ledger.faults(shown(a))]
  if (restored.length === 0) faults.push('nobody was told of the restore')
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
  if ((await history.serverConflicts()).conflicts.length > 0) faults.push('a conflict that was told is still open')
  return faults
}

interface Edit {
  device: Device
  id: string
  /** Null: deleted. */
  title: string | null
  before: string | null
}

class Ledger {
  readonly #devices: Device[]
  readonly #edits: Edit[] = []
  readonly #repeats: string[] = []

  constructor(devices: Device[]) {
    this.#devices = devices
  }

  async edit(device: Device, id: string, number: number): Promise<void> {
    const before = device.sync.get(id)?.title ?? null
    const isDelete = number % 9 === 8
    if (isDelete && before === null) return
    const title = isDelete ? null : `edit ${number} of ${id} by ${device.id}`
    this.#edits.push({ device, id, title, before })
    if (isDelete) await device.sync.remove(id)
    else await device.sync.put(bookmark(id, title as string))
  }

  /** From now on, a bookmark that is reported as changed and shows the same as before is a repeat. */
  watchRepeats(): void {
    for (const { id: device, sync } of this.#devices) {
      const last = new Map([...sync.bookmarks()].map(([id, shown]) => [id, JSON.stringify(shown)]))
      sync.on('change', ({ ids }) => {
        for (const id of ids) {
          const shown = JSON.stringify(sync.get(id))
          if (shown === last.get(id)) this.#repeats.push(`${device} is shown ${id} again`)
          if (shown === undefined) last.delete(id)
          else last.set(id, shown)
        }
      })
    }
  }

  /** Every edit is there, was replaced by somebody who had seen it, or its device was told; and once. */
  faults(shown: Record<string, string>): string[] {
    const faults = [...this.#repeats]
    for (const { device, id, title } of this.#edits) {
      const isThere = this.#ancestry(id, shown[id] ?? null).has(title)
      const told = device.conflicts.filter(({ id: of, mine }) => of === id && (mine?.title ?? null) === title)
      if (!isThere && told.length === 0) faults.push(`nobody was told of ${device.id}'s ${title ?? `delete of ${id}`}`)
    }
    for (const { id, conflicts, errors } of this.#devices) {
      const texts = conflicts.map((conflict) => JSON.stringify(conflict))
      if (new Set(texts).size < texts.length) faults.push(`${id} was told of a conflict twice`)
      faults.push(...errors.map(({ error }) => `${id}: ${error.message}`))
    }
    return faults
  }

  /** The content, what it replaced, what that replaced, and so on. */
  #ancestry(id: string, content: string | null): Set<string | null> {
    const known = new Set<string | null>([content])
    for (const one of known) {
      for (const edit of this.#edits) if (edit.id === id && edit.title === one) known.add(edit.before)
    }
    return known
  }
}
