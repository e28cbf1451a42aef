import { statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { requireDatabaseUrl } from '../config/storage.ts'
import { type CommandDatabase, openForCommand } from '../db/for-command.ts'
import { existingFile } from '../terminal/command.ts'
import { withProgress } from '../terminal/progress.ts'
import { bringBack } from '../upkeep/bring-back.ts'

/** Brings back one account from a backup, while the service runs. */
export async function restoreUser(database: CommandDatabase, id: string, backup: string): Promise<void> {
  const opening = openForCommand(await urlOf(backup), pino({ level: 'silent' }))
  const source = await opening.catch(({ message }: Error) => {
    throw new Error(message.replace(/^DATABASE_URL/, backup))
  })
  try {
    const { records } = await withProgress(({ report }) => bringBack(source, database, id, report))
    console.log(
      `${id}: is back with ${records} records; the person has to sign in again, and devices send what is newer`,
    )
  } finally {
    await source.close()
  }
}

async function urlOf(backup: string): Promise<string> {
  const isFolder = statSync(backup, { throwIfNoEntry: false })?.isDirectory() === true
  if (isFolder) return `sqlite:${existingFile(join(backup, 'bookmarks.db'))}`
  const url = (await readFile(existingFile(backup), 'utf8')).trim()
  requireDatabaseUrl(backup, url)
  return url
}
