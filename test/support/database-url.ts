import { createHash } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'

/**
 * Where a test's data is stored: in its folder, or in a separate database of the Postgres server that scripts/test.ts
 * started. The same folder gets the same database, so that a service can be restarted with its data.
 */
export async function databaseUrl(folder: string): Promise<string> {
  const server = process.env.TEST_POSTGRES
  if (!server) return `sqlite:${join(folder, 'bookmarks.db')}`
  const name = `ebs_${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`
  const client = new pg.Client({ connectionString: `${server}/postgres` })
  await client.connect()
  try {
    await client.query(`CREATE DATABASE ${name}`)
  } catch (error) {
    const duplicate = ['42P04', '23505']
    if (!duplicate.includes((error as { code?: string }).code ?? '')) throw error
  } finally {
    await client.end()
  }
  return `${server}/${name}`
}

export const isPostgres = Boolean(process.env.TEST_POSTGRES)
