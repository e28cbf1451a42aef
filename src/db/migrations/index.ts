import type { Migration } from 'kysely/migration'
import { initial } from './0001-initial.ts'

/** Applied in the order of their names; a landed one is never edited. */
export const migrations: Record<string, Migration> = {
  '0001-initial': initial,
}
