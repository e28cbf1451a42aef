import { cp, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { folder } from '../support/service.ts'

/** Copies a folder. */
export async function copyOf(t: Test, path: string): Promise<string> {
  const copy = await folder(t)
  await cp(path, copy, { recursive: true })
  return copy
}

/** Overwrites bytes in the middle of the database in a folder, where the records are, as a faulty disk might. */
export async function damageRecords(dataDir: string): Promise<string> {
  await using file = await open(join(dataDir, 'bookmarks.db'), 'r+')
  const pageBytes = 4096
  const { size } = await file.stat()
  const middle = Math.floor(size / pageBytes / 2) * pageBytes
  for (const page of [-1, 0, 1]) await file.write(Buffer.alloc(64, 0xa5), 0, 64, middle + page * pageBytes)
  return dataDir
}
