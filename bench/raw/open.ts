import { openRawPostgres } from './postgres.ts'
import { openRawSqlite } from './sqlite.ts'
import type { RawStore } from './store.ts'

/** Of a `postgres:` URL, or of a file. */
export function openRaw(place: string, connections: number): Promise<RawStore> {
  return place.startsWith('postgres:') ? openRawPostgres(place, connections) : openRawSqlite(place)
}
