import { chmodSync, closeSync, openSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { StorageFullError, StoreInUseError, StoreVersionError } from '../errors.ts'
import { isBlank } from '../sync/store/row.ts'
import type { Meta, Row, Store } from '../sync/store/store.ts'

/**
 * Keeps the bookmarks in one SQLite file, which only its owner may read (0600). They are in plaintext; `signOut` deletes
 * the file. A file holds one user's bookmarks. The store's methods throw StoreInUseError while another process uses it.
 */
export function fileStore(path: string): Store {
  return storeIn(new DatabaseFile(path))
}

/** Keeps the file open and locked against other processes until the store is closed. */
export function storeIn(file: DatabaseFile): Store {
  async function transact<T>(task: (database: DatabaseSync) => T): Promise<T> {
    file.open()
    return file.transact(task)
  }

  return {
    shared: false,
    holdTypes: () => file.holdTypes(),
    load: () =>
      transact((database) => {
        const rows = database.prepare('select row from rows').all().map(parseRow)
        return { meta: readMeta(database), rows }
      }),
    read: (ids) =>
      transact((database) => {
        const find = database.prepare('select row from rows where id = ?')
        const rows = ids.flatMap((id) => {
          const found = find.get(id)
          return found ? parseRow(found) : []
        })
        return { meta: readMeta(database), rows }
      }),
    write: (rows, meta) =>
      transact((database) => {
        const put = database.prepare('insert or replace into rows (id, row) values (?, ?)')
        const remove = database.prepare('delete from rows where id = ?')
        for (const row of rows) {
          if (isBlank(row)) remove.run(row.id)
          else put.run(row.id, JSON.stringify(row))
        }
        writeSetting(database, 'meta', JSON.stringify(meta))
      }),
    async wipe() {
      file.remove()
    },
    close: () => file.close(),
  }
}

function readMeta(database: DatabaseSync): Meta | undefined {
  const meta = readSetting(database, 'meta')
  return meta === undefined ? undefined : (JSON.parse(meta) as Meta)
}

function parseRow({ row }: Record<string, unknown>): Row {
  return JSON.parse(String(row)) as Row
}

/** The file's settings: texts that it keeps besides the bookmarks. */
type Name = 'meta' | 'device-id' | 'user-id' | 'master-key' | 'cookies' | 'given-cookie'

function readSetting(database: DatabaseSync, name: Name): string | undefined {
  const found = database.prepare('select value from settings where name = ?').get(name)
  return found && String(found.value)
}

function writeSetting(database: DatabaseSync, name: Name, value: string): void {
  database.prepare('insert or replace into settings (name, value) values (?, ?)').run(name, value)
}

/** SQLite's result codes (https://www.sqlite.org/rescode.html). */
const busy = 5
const full = 13

/** Marks the files of this package: "EBSD" in ASCII. */
const applicationId = 0x45_42_53_44
/** The newest `user_version` that this package reads. Newer packages raise it, so that this one refuses their files. */
const fileVersion = 1
/** A file with rows of other types than bookmarks has version 1; other files have version 0. */
const versionWithTypes = `pragma user_version = ${fileVersion}`

const schema = `
  create table rows (id text primary key, row text not null);
  create table settings (name text primary key, value text not null);
`

/** One SQLite file, which only its owner may read. While it is open, other processes cannot use it. */
export class DatabaseFile {
  readonly #path: string
  #holdsTypes = false
  #database: DatabaseSync | undefined
  #isRemoved = false

  constructor(path: string) {
    this.#path = path
  }

  /** Opens the file and keeps it open until `close`. */
  open(): void {
    if (this.#isRemoved) throw new DOMException('The store was wiped', 'InvalidStateError')
    if (this.#database) return
    this.#database = openLocked(this.#path)
    if (this.#holdsTypes) this.#database.exec(versionWithTypes)
  }

  /** Marks the file as one with other types, so that earlier versions of this package refuse it from now on. */
  holdTypes(): void {
    this.#holdsTypes = true
    this.#database?.exec(versionWithTypes)
  }

  /**
   * Runs the task in a transaction: all or nothing, and on disk when this returns. Opens the file for this if it is closed.
   *
   * @throws StorageFullError nothing was changed
   */
  transact<T>(task: (database: DatabaseSync) => T): T {
    const wasOpen = this.#database !== undefined
    this.open()
    try {
      return inTransaction(this.#database as DatabaseSync, task)
    } finally {
      if (!wasOpen) this.close()
    }
  }

  close(): void {
    this.#database?.close()
    this.#database = undefined
  }

  readSetting(name: Name): string | undefined {
    return this.transact((database) => readSetting(database, name))
  }

  /** Does nothing after `remove`: signing out ends the session after deleting the file, and the response sets cookies. */
  writeSetting(name: Name, value: string): void {
    if (!this.#isRemoved) this.transact((database) => writeSetting(database, name, value))
  }

  /** Deletes the file for good: this object does not create it again. */
  remove(): void {
    this.close()
    this.#isRemoved = true
    for (const path of [this.#path, `${this.#path}-journal`]) rmSync(path, { force: true })
  }
}

function inTransaction<T>(database: DatabaseSync, task: (database: DatabaseSync) => T): T {
  return translated(() => {
    database.exec('begin immediate')
    try {
      const result = task(database)
      database.exec('commit')
      return result
    } catch (error) {
      // SQLite has already ended the transaction if the disk was full.
      if (database.isTransaction) database.exec('rollback')
      throw error
    }
  })
}

function openLocked(path: string): DatabaseSync {
  create(path)
  const database = new DatabaseSync(path)
  try {
    translated(() => {
      // The first transaction takes the lock, which this mode then keeps.
      database.exec('pragma locking_mode = exclusive; pragma synchronous = extra; begin immediate')
      if (isNew(database, path)) database.exec(`pragma application_id = ${applicationId}; ${schema}`)
      chmodSync(path, 0o600)
      database.exec('commit')
    })
    return database
  } catch (cause) {
    database.close()
    throw codeOf(cause) === busy
      ? new StoreInUseError(`${path} is in use, perhaps by another process`, { cause })
      : cause
  }
}

/**
 * Creates the file first, because SQLite would make it readable for everybody. Its journal gets the file's permissions.
 * Does not open an existing file: closing it would release the locks of this process's other connections (POSIX, fcntl).
 */
function create(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** True for an empty database. Throws for another program's, which a mistyped path must not change or delete. */
function isNew(database: DatabaseSync, path: string): boolean {
  const marked = database.prepare('pragma application_id').get()?.application_id
  if (marked === applicationId) {
    const version = Number(database.prepare('pragma user_version').get()?.user_version)
    if (version > fileVersion) throw new StoreVersionError()
    return false
  }
  const { tables } = database.prepare('select count(*) as tables from sqlite_schema').get() as { tables: number }
  if (tables > 0) throw new Error(`${path} is another program's database`)
  return true
}

function translated<T>(task: () => T): T {
  try {
    return task()
  } catch (cause) {
    throw codeOf(cause) === full ? new StorageFullError({ cause }) : cause
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'errcode' in error ? error.errcode : undefined
}
