import type { QueryExecutorProvider } from 'kysely'
import { makeSchema } from './schema-3.0.0.ts'

/** A step in the schema's history. Released steps never change. */
export interface Migration {
  name: string
  /** If true, versions that do not know this migration cannot use the database. */
  isRequired: boolean
  up(db: QueryExecutorProvider, isServer: boolean): Promise<void>
}

/** In the order of application. docs/operating/upgrading.md says what a migration may do. */
export const migrations: Migration[] = [{ name: '3.0.0', isRequired: true, up: makeSchema }]

/** Names the newest schema that this version knows. */
export const newestMigration = (migrations.at(-1) as Migration).name
