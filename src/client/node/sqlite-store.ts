import type { DatabaseSync } from 'node:sqlite'
import { isBlank } from '../sync/store/row.ts'
import type { Meta, Row, Store } from '../sync/store/store.ts'
import type { DatabaseFile } from './database-file.ts'
import { readSetting, writeSetting } from './settings.ts'

/** The file stays open, and locked against other processes, until the store is closed. */
export function storeIn(file: DatabaseFile): Store {
  async function transact<T>(task: (database: DatabaseSync) => T): Promise<T> {
    file.open()
    return file.transact(task)
  }

  return {
    shared: false,
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
