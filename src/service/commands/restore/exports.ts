import { copyFile, mkdir, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { StoredExport } from '../../backup/database.ts'
import { syncPath } from '../../backup/make.ts'
import { assertObjectKey } from '../../objects/store.ts'
import type { Report } from '../../terminal/progress.ts'

export interface ExportFolders {
  /** Undefined if the backup has no files. */
  from: string | undefined
  to: string
}

/**
 * Copies the files that EXPORTS_DIR has no more. An export's file never changes, so one that is there stays. Returns the
 * exports that have none, each with the reason.
 */
export async function restoreExports(
  exports: StoredExport[],
  { from, to }: ExportFolders,
  report: Report,
): Promise<[id: string, reason: string][]> {
  await mkdir(to, { recursive: true })
  const leftOut: [id: string, reason: string][] = []
  for (const [index, { id, object_key, size_bytes }] of exports.entries()) {
    report('copying export files', index, exports.length)
    assertObjectKey(object_key)
    const path = join(to, object_key)
    if ((await sizeOf(path)) === size_bytes) continue
    const source = from === undefined ? undefined : join(from, object_key)
    if (source === undefined || (await sizeOf(source)) !== size_bytes) {
      leftOut.push([id, 'its file is not in the backup'])
      continue
    }
    await copyFile(source, `${path}.part`)
    await syncPath(`${path}.part`)
    await rename(`${path}.part`, path)
  }
  await syncPath(to)
  return leftOut
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size
}
