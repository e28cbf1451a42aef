type Task = (lock: Lock | null) => unknown

interface Waiting {
  run(): void
}

/** The locks that all tabs of a browser share. */
export class Browser {
  readonly #queues = new Map<string, Waiting[]>()

  /** A tab's access to the locks. When the tab is killed, its locks pass on to the next at once. */
  tab(): { locks: Pick<LockManager, 'request'>; kill(): void } {
    const releases = new Set<() => void>()
    let isDead = false
    const request = async (name: string, options: LockOptions | Task, task?: Task): Promise<unknown> => {
      const { signal } = task ? (options as LockOptions) : {}
      const work = (task ?? options) as Task
      signal?.throwIfAborted()
      if (isDead) return new Promise(() => {})
      const turn = Promise.withResolvers<void>()
      const waiting = { run: turn.resolve }
      const queue = this.#queues.get(name) ?? []
      this.#queues.set(name, queue)
      const release = () => {
        releases.delete(release)
        const place = queue.indexOf(waiting)
        if (place === -1) return
        queue.splice(place, 1)
        if (place === 0) queue[0]?.run()
      }
      releases.add(release)
      const giveUp = () => {
        release()
        turn.reject(signal?.reason)
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      if (queue.push(waiting) === 1) waiting.run()
      await turn.promise
      signal?.removeEventListener('abort', giveUp)
      if (isDead) return new Promise(() => {})
      try {
        return await work({ name, mode: 'exclusive' })
      } finally {
        release()
      }
    }
    return {
      locks: { request: request as LockManager['request'] },
      kill() {
        isDead = true
        for (const release of [...releases]) release()
      },
    }
  }
}
