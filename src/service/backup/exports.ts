import { constants, copyFile, mkdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError } from '../config/values.ts'
import { assertObjectKey } from '../objects/store.ts'
import type { Report } from '../terminal/progress.ts'
import type { StoredExport } from './database.ts'

/** Copies the files of the exports. Returns those that do not match the database, each with the reason. */
export async function copyExports(
  exports: StoredExport[],
  from: string,
  to: string,
  report: Report,
): Promise<[id: string, reason: string][]> {
  await mkdir(to)
  const leftOut: [id: string, reason: string][] = []
  if (exports.length === 0) return leftOut
  await checkFolder(from)
  for (const [index, stored] of exports.entries()) {
    report('copying export files', index, exports.length)
    const fault = await copyExport(stored, from, to)
    if (fault) leftOut.push([stored.id, fault])
  }
  return leftOut
}

/** Otherwise a wrong EXPORTS_DIR would look as if all exports had been deleted. */
async function checkFolder(dir: string): Promise<void> {
  const found = await stat(dir).catch((error: Error) => error)
  if (found instanceof Error) throw new ConfigError(`EXPORTS_DIR: ${dir} cannot be read (${found.message})`)
}

async function copyExport({ object_key, size_bytes }: StoredExport, from: string, to: string) {
  assertObjectKey(object_key)
  const path = join(to, object_key)
  try {
    await copyFile(join(from, object_key), path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'its file is gone'
    throw error
  }
  const { size } = await stat(path)
  if (size === size_bytes) return undefined
  await rm(path)
  return `its file has ${size} bytes instead of ${size_bytes}`
}
