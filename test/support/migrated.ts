import { rmSync } from 'node:fs'
import { copyFile, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../src/service/db/open.ts'
import { createDatabase, databaseUrl, isPostgres } from './database-url.ts'
import { silent } from './log.ts'

let template: Promise<string> | undefined

/** Makes a migrated database for the folder, as a copy of one that this process makes once. */
export async function makeMigrated(folder: string): Promise<void> {
  template ??= makeTemplate()
  if (isPostgres) await createDatabase(folder, await template)
  else await copyFile(join(await template, 'bookmarks.db'), join(folder, 'bookmarks.db'))
}

async function makeTemplate(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ebs-test-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const database = await openDatabase(await databaseUrl(folder), silent)
  await database.close()
  return folder
}
