import { randomBytes } from 'node:crypto'
import { closeSync, openSync, unlinkSync, writeFileSync } from 'node:fs'

/**
 * To open a database, SQLite must create the index of its log, which a clean stop removes. So a file next to the
 * database reserves room for it, and on a full disk a start takes that room.
 */

/** The index takes 32 KiB, or more for a long log. The rest is for a few small writes. */
const reservedBytes = 256 * 1024

/** Creates the reserve. Returns the error if that failed, such as a full or read-only disk. */
export function makeReserve(path: string): Error | undefined {
  let file: number
  try {
    file = openSync(reserveOf(path), 'wx', 0o600)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EEXIST' ? undefined : (error as Error)
  }
  try {
    // Random, because a file system with compression would reserve no room for zeros.
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

/** Finds out why nothing can be written next to the database, because SQLite does not report the reason. */
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
