const windowMs = 60_000

/** Counts by key in windows of a minute, each of which begins with its key's first count. */
export interface Windows {
  /** Counts, and returns how many ms are left of the window if that was more than allowed. */
  count(key: string, amount?: number): number | undefined
  /** How many ms are left of the window if nothing is left to count in it. */
  usedUp(key: string): number | undefined
}

export function createWindows(most: number): Windows {
  const windows = new Map<string, { used: number; endsAt: number }>()
  let sweepAt = 0

  /** Windows that are over are removed once in a minute, so what callers make up is not kept for long. */
  function sweep(now: number): void {
    if (now < sweepAt) return
    sweepAt = now + windowMs
    for (const [key, { endsAt }] of windows) if (endsAt <= now) windows.delete(key)
  }

  return {
    count(key, amount = 1) {
      const now = performance.now()
      let window = windows.get(key)
      if (!window || window.endsAt <= now) {
        sweep(now)
        window = { used: 0, endsAt: now + windowMs }
        windows.set(key, window)
      }
      window.used += amount
      return window.used > most ? window.endsAt - now : undefined
    },
    usedUp(key) {
      const { used, endsAt } = windows.get(key) ?? { used: 0, endsAt: 0 }
      const left = endsAt - performance.now()
      return left > 0 && used >= most ? left : undefined
    },
  }
}
