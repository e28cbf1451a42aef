import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'

const coalesceMs = 20

/** The user's records changed, or this login of theirs ended. */
export interface Announcement {
  userId: string
  loginId: string | undefined
}

interface Sender {
  send(announcements: Announcement[]): Promise<unknown>
}

export interface Outbox {
  /** What is added several times within some milliseconds is sent once. */
  add(announcement: Announcement): void
  /** Sends what is waiting. */
  flush(): void
  /** Resolves when nothing is being sent. */
  flushed(): Promise<void>
}

/** What is unsent waits for the next line: other instances notice the loss of theirs, but not the loss of ours. */
export function createOutbox(line: () => Sender | undefined, atOnce: number, log: FastifyBaseLogger): Outbox {
  const waiting = new Map<string, Announcement>()
  let flushing: Promise<void> | undefined

  function flush(): void {
    if (waiting.size > 0) flushing ??= sendAll()
  }

  async function sendAll(): Promise<void> {
    do {
      await sleep(coalesceMs)
      const sender = line()
      if (!sender) break
      const batch = [...waiting].slice(0, atOnce)
      for (const [key] of batch) waiting.delete(key)
      try {
        await sender.send(batch.map(([, announcement]) => announcement))
      } catch (err) {
        log.warn({ err }, 'a pulse could not be sent')
        for (const [key, announcement] of batch) waiting.set(key, announcement)
        // A new line may have been opened before this one failed.
        if (line() === sender) break
      }
    } while (waiting.size > 0)
    flushing = undefined
  }

  return {
    add(announcement) {
      waiting.set(`${announcement.userId} ${announcement.loginId}`, announcement)
      flush()
    },
    flush,
    flushed: async () => flushing,
  }
}
