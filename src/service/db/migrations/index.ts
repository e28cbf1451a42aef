import type { QueryExecutorProvider } from 'kysely'
import { makeSchema } from './schema-3.0.0.ts'

/** A step of the schema's history. A released one never changes. */
export interface Migration {
  name: string
  /** Instances that do not know it cannot use the database any more. */
  isRequired: boolean
  up(db: QueryExecutorProvider, isServer: boolean): Promise<void>
}

/** In the order in which they are applied. docs/operating/upgrading.md says what one may do. */
export const migrations: Migration[] = [{ name: '3.0.0', isRequired: true, up: makeSchema }]

/** The schema that this version brings a database to. */
export const newestMigration = (migrations.at(-1) as Migration).name
