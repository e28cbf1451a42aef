import { bookmark, type Device } from '../device.ts'

interface Edit {
  device: Device
  id: string
  /** Null: deleted. */
  title: string | null
  /** What the device showed before. */
  before: string | null
}

/** What was edited on which device, and what each device has shown. */
export class Ledger {
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
