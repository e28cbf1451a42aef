import type { OpenedExport } from '../bookmark.ts'
import type { Engine } from './engine.ts'
import { type ImportOptions, type ImportReport, importList } from './import.ts'

export interface RestoreOptions extends ImportOptions {
  /** Whether bookmarks that are there become as they were in the backup, too. Default: they stay as they are. */
  overwrite?: boolean | undefined
}

/** Puts the bookmarks of a backup back: those that are gone, and with `overwrite` those that differ. */
export async function restoreList(
  engine: Engine,
  { bookmarks }: Pick<OpenedExport, 'bookmarks'>,
  { overwrite = false, ...options }: RestoreOptions,
): Promise<ImportReport> {
  return overwrite ? importList(engine, bookmarks, options, () => true) : importList(engine, bookmarks, options)
}
