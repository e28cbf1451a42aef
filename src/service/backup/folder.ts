import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const stopSignals = ['SIGINT', 'SIGTERM'] as const

/**
 * Makes a new folder. `fill` writes into one whose name says that it is unfinished, and which gets its final name only when
 * everything is on disk. A failure or a signal leaves nothing behind, SIGKILL the unfinished folder.
 */
export async function makeFolder<T>(path: string, fill: (unfinished: string) => Promise<T>): Promise<T> {
  if (existsSync(path)) throw new Error(`${path} is there already: a backup overwrites nothing`)
  let unfinished = ''
  const stop = () => {
    if (unfinished) rmSync(unfinished, { recursive: true, force: true })
    process.exit(1)
  }
  for (const signal of stopSignals) process.once(signal, stop)
  try {
    unfinished = makeUnfinished(path)
    const result = await fill(unfinished)
    for (const name of await readdir(unfinished, { recursive: true })) await syncPath(join(unfinished, name))
    await syncPath(unfinished)
    await rename(unfinished, path)
    await syncPath(dirname(path))
    return result
  } catch (error) {
    if (unfinished) await rm(unfinished, { recursive: true, force: true })
    throw error
  } finally {
    for (const signal of stopSignals) process.off(signal, stop)
  }
}

function makeUnfinished(path: string): string {
  try {
    return mkdtempSync(`${path}.unfinished-`)
  } catch (error) {
    throw new Error(`${path} cannot be written (${(error as Error).message})`)
  }
}

/** Syncs a file or a folder. Without a sync of its folder, a power failure could undo a rename. */
export async function syncPath(path: string): Promise<void> {
  await using opened = await open(path)
  await opened.sync()
}
