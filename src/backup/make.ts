import { join } from 'node:path'
import { copyDatabase, openCopy } from './database.ts'
import { copyExports } from './exports.ts'
import { makeFolder } from './folder.ts'
import type { Source } from './source.ts'

export interface Made {
  /** The number of rows of each table. */
  rows: Record<string, number>
  /** The exports whose files are missing or not whole, each with the reason. */
  leftOut: [id: string, reason: string][]
}

/** Makes a checked copy in a new folder, which is a DATA_DIR. The folder has its name only when it is complete and on disk. */
export async function makeBackup(source: Source, path: string): Promise<Made> {
  return makeFolder(path, (unfinished) => fill(source, unfinished))
}

/** Copies the database first: the files it refers to already exist. One that disappears later belongs to a deleted export. */
async function fill({ database, exportsDir }: Source, folder: string): Promise<Made> {
  const path = join(folder, 'bookmarks.db')
  await copyDatabase(database, path)
  const copy = openCopy(path, `DATABASE_URL: ${database}`)
  try {
    const leftOut =
      exportsDir === undefined ? [] : await copyExports(copy.listExports(), exportsDir, join(folder, 'exports'))
    for (const [id] of leftOut) copy.removeExport(id)
    return { rows: copy.check(), leftOut }
  } finally {
    copy.close()
  }
}
