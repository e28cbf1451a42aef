import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/**
 * Makes a folder that was not there: `fill` writes into one whose name says that it is unfinished, and only when all of it
 * is on disk does it get its own name. Whatever ends this earlier leaves nothing; a kill leaves the unfinished one.
 */
export async function makeFolder<T>(path: string, fill: (unfinished: string) => Promise<T>): Promise<T> {
  if (existsSync(path)) throw new Error(`${path} is there already: a backup overwrites nothing`)
  let unfinished = ''
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      if (unfinished) rmSync(unfinished, { recursive: true, force: true })
      process.exit(1)
    })
  }
  try {
    unfinished = mkdtempSync(`${path}.unfinished-`)
  } catch (error) {
    throw new Error(`${path} cannot be written (${(error as Error).message})`)
  }
  try {
    const result = await fill(unfinished)
    for (const name of await readdir(unfinished, { recursive: true })) await sync(join(unfinished, name))
    await sync(unfinished)
    await rename(unfinished, path)
    await sync(dirname(path))
    return result
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    throw error
  }
}

/** A file or a folder: without its folder's a power failure could undo a renaming. */
async function sync(path: string): Promise<void> {
  await using opened = await open(path)
  await opened.sync()
}
