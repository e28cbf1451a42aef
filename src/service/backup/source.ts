import type { Config } from '../config/config.ts'

/** What a backup is made of. */
export interface Source {
  /** The file of the SQLite database. */
  database: string
  /** Undefined if the exports are in a bucket. */
  exportsDir: string | undefined
}

/** @param config is for SQLite */
export function sourceOf({ databaseUrl, exportsDir, s3 }: Pick<Config, 'databaseUrl' | 'exportsDir' | 's3'>): Source {
  return { database: databaseUrl.slice('sqlite:'.length), exportsDir: s3 ? undefined : exportsDir }
}
