import { sql } from 'kysely'
import type { TestApp } from '../../support/app.ts'

/** All that a side has stored, as lines that can be compared with another's. */
export async function openStored({ context: { database, objects } }: TestApp) {
  const all = (await database.db.introspection.getTables()).map(({ name }) => name)
  // It is not the script's.
  const tables = all.filter((name) => name !== 'heartbeat').sort()

  async function readTable(table: string): Promise<string[]> {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(table)}`.execute(database.db)
    return rows.map((row) => `${table} ${JSON.stringify(row, withoutSecrets)}`).sort()
  }
  return {
    listRows: async () => (await Promise.all(tables.map(readTable))).flat(),
    listObjects: async () => (await Array.fromAsync(objects.list(), (key) => `object ${key}`)).sort(),
    /** The tables that are not listed refer to users, and go with them. */
    async removeUsers(): Promise<void> {
      const listed = ['users', 'records', 'ciphertexts', 'versions', 'used_nonces'] as const
      for (const table of listed) await database.db.deleteFrom(table).execute()
    },
    async removeObjects(): Promise<void> {
      for await (const key of objects.list()) await objects.remove(key)
    },
  }
}

/** They are random, and no name is needed for them: nothing else refers to them. */
function withoutSecrets(column: string, value: unknown): unknown {
  // Each side writes it every 30 s, at another moment.
  if (column === 'last_used_at') return 'some hour'
  const isSecret = (column.endsWith('_sealed') && value !== null) || column === 'hash' || column === 'nonce'
  return isSecret ? 'secret' : value
}
