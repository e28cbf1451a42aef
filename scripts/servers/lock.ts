import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until no other process holds the lock. The system releases it with its process. */
export async function lockFile(path: string): Promise<Disposable> {
  // Loaded only for builds.
  const { default: Sqlite } = await import('better-sqlite3')
  const lock = new Sqlite(path, { timeout: 0 })
  for (;;) {
    try {
      lock.exec('BEGIN EXCLUSIVE')
      return { [Symbol.dispose]: () => lock.close() }
    } catch (error) {
      if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error
      await sleep(100)
    }
  }
}
