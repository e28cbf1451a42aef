import type { DatabaseSync } from 'node:sqlite'
import type { DatabaseFile } from './database-file.ts'

type Name = 'meta' | 'device-id' | 'user-id' | 'master-key' | 'cookies' | 'given-cookie'

/** What the file keeps besides the bookmarks. */
export class Settings {
  readonly #file: DatabaseFile

  constructor(file: DatabaseFile) {
    this.#file = file
  }

  read(name: Name): string | undefined {
    return this.#file.transact((database) => readSetting(database, name))
  }

  /** Signing out deletes the file before it ends the session: the cookies of that response are not kept. */
  write(name: Name, value: string): void {
    if (!this.#file.isRemoved) this.#file.transact((database) => writeSetting(database, name, value))
  }
}

export function readSetting(database: DatabaseSync, name: Name): string | undefined {
  const found = database.prepare('select value from settings where name = ?').get(name)
  return found && String(found.value)
}

export function writeSetting(database: DatabaseSync, name: Name, value: string): void {
  database.prepare('insert or replace into settings (name, value) values (?, ?)').run(name, value)
}
