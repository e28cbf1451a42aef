import { join } from 'node:path'
import type { Report } from '../terminal/progress.ts'
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
export async function makeBackup(source: Source, path: string, report: Report = () => {}): Promise<Made> {
  return makeFolder(path, (unfinished) => fill(source, unfinished, report))
}

/** Copies the database first: the files it refers to already exist. One that disappears later belongs to a deleted export. */
async function fill({ database, exportsDir }: Source, folder: string, report: Report): Promise<Made> {
  const path = join(folder, 'bookmarks.db')
  const subject = `DATABASE_URL: ${database}`
  await copyDatabase(database, path, subject, report)
  const copy = openCopy(path, subject)
  try {
    const to = join(folder, 'exports')
    const leftOut = exportsDir === undefined ? [] : await copyExports(copy.listExports(), exportsDir, to, report)
    for (const [id] of leftOut) copy.removeExport(id)
    report('checking the copy', 0, 1)
    return { rows: copy.check(), leftOut }
  } finally {
    copy.close()
  }
}
