import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until no other process has the lock, and takes it. The system releases it when the process ends. */
export async function lockFile(path: string): Promise<Disposable> {
  // Imported here, because most programs that import this module never take a lock.
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
