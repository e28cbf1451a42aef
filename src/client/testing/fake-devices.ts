const cursorAgeMs = 60_000

interface Device {
  cursor: number
  lastSync: number
}

/** Which of a user's devices have synced, and how far. */
export class FakeDevices {
  /** Stands for every device that does not send its id. */
  static readonly unknown = 'unknown'
  readonly #devices = new Map<string, Device>()

  /** In the order of their ids. */
  get all(): ({ id: string } & Device)[] {
    const sorted = [...this.#devices].sort(([one], [other]) => (one < other ? -1 : 1))
    return sorted.map(([id, device]) => ({ id, ...device }))
  }

  cursorOf(id: string): number {
    return this.#devices.get(id)?.cursor ?? 0
  }

  /** What nothing has changed in is written once a minute. */
  pulled(id: string, cursor: number, now: number, hasLearnt: boolean): void {
    if (id === FakeDevices.unknown) return
    const before = this.#devices.get(id)
    const isFresh = before?.cursor === cursor && Math.abs(now - before.lastSync) < cursorAgeMs
    if (!isFresh || hasLearnt) this.#devices.set(id, { cursor, lastSync: now })
  }

  /** Does not move the cursor: the device has not seen what others wrote. */
  pushed(id: string | undefined, now: number): void {
    if (id === undefined || id === FakeDevices.unknown) return
    this.#devices.set(id, { cursor: this.cursorOf(id), lastSync: now })
  }

  /** Returns whether it was known. */
  forget(id: string): boolean {
    return this.#devices.delete(id)
  }
}
