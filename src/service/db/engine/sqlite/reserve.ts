import { randomBytes } from 'node:crypto'
import { closeSync, openSync, unlinkSync, writeFileSync } from 'node:fs'

/**
 * SQLite cannot read a database without making the index of its log first, which a clean stop has removed. So a file beside the
 * database holds room for it: on a disk that is full, a start takes that.
 */

/** The index takes 32 KiB, that of a long log some more. The rest lets a few small writes through. */
const reservedBytes = 256 * 1024

/** Returns why it could not be made, for example that the disk is full or read-only; undefined if it is there. */
export function makeReserve(path: string): Error | undefined {
  let file: number
  try {
    file = openSync(reserveOf(path), 'wx', 0o600)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EEXIST' ? undefined : (error as Error)
  }
  try {
    // A file system that compresses would hold no room for zeros.
    writeFileSync(file, randomBytes(reservedBytes))
    return undefined
  } catch (error) {
    releaseReserve(path)
    return error as Error
  } finally {
    closeSync(file)
  }
}

export function releaseReserve(path: string): void {
  try {
    unlinkSync(reserveOf(path))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** The reason why nothing can be written beside the database: SQLite does not say it. */
export function findFault(path: string): Error | undefined {
  try {
    releaseReserve(path)
  } catch (error) {
    return error as Error
  }
  return makeReserve(path)
}

function reserveOf(path: string): string {
  return `${path}.reserve`
}
