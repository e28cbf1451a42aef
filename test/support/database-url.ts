import { createHash } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'

const server = process.env.TEST_POSTGRES
export const isPostgres = Boolean(server)

/**
 * Where a test's data is stored: in its folder, or in a separate database of the Postgres server that scripts/test.ts
 * started. The same folder gets the same database, so that a service can be restarted with its data.
 */
export async function databaseUrl(folder: string): Promise<string> {
  if (!server) return `sqlite:${join(folder, 'bookmarks.db')}`
  if (!created.has(folder)) await createDatabase(folder)
  return `${server}/${nameOf(folder)}`
}

/** The folders with a database of this process. Connecting only to find that one exists takes as long as a test. */
const created = new Set<string>()

/** Creates the folder's database on Postgres unless it exists: empty, or a copy of `template`'s, which must be unused. */
export async function createDatabase(folder: string, template?: string): Promise<void> {
  const client = new pg.Client({ connectionString: `${server}/postgres` })
  await client.connect()
  try {
    await client.query(
      `CREATE DATABASE ${nameOf(folder)} ${template ? `TEMPLATE ${nameOf(template)} STRATEGY FILE_COPY` : ''}`,
    )
  } catch (error) {
    const duplicate = ['42P04', '23505']
    if (!duplicate.includes((error as { code?: string }).code ?? '')) throw error
  } finally {
    await client.end()
  }
  created.add(folder)
}

function nameOf(folder: string): string {
  return `ebs_${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`
}
