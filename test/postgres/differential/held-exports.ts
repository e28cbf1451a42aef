import { setTimeout as sleep } from 'node:timers/promises'
import type { TestApp } from '../../support/app.ts'

const maxRunning = 2

/** Holds all exports until they are released, so that what callers see of them does not depend on the worker's pace. */
export function holdExports({ context: { database, objects } }: TestApp) {
  const put = objects.put
  const held = new Set<string>()
  let gate = Promise.withResolvers<void>()
  objects.put = async (key, exportKey, content, signal) => {
    held.add(key)
    await Promise.race([gate.promise, aborted(signal)]).finally(() => held.delete(key))
    return put(key, exportKey, content, signal)
  }

  async function countUnfinished(): Promise<number> {
    const unfinished = database.db.selectFrom('exports').select('id').where('status', 'in', ['pending', 'processing'])
    return (await unfinished.execute()).length
  }
  return {
    /** Waits until the worker has taken as many as it can. */
    async taken(): Promise<void> {
      while (held.size !== Math.min(maxRunning, await countUnfinished())) await sleep(1)
    },
    /** Lets all of them be written, and holds those that come later. */
    async letGo(): Promise<void> {
      gate.resolve()
      while ((await countUnfinished()) > 0) await sleep(1)
      gate = Promise.withResolvers()
    },
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}
