import pg from 'pg'
import { type MinioServer, startMinio } from '../servers/minio.ts'
import { NoMinioError } from '../servers/minio-binary.ts'
import { startPostgres } from '../servers/postgres.ts'
import type { TestProcess } from './plan.ts'

/** The servers that all tests share, and the environment variables that tell the tests where they are. */
export interface TestServers extends AsyncDisposable {
  env(database: TestProcess['database']): Record<string, string>
}

export async function startServers({
  withMinio,
  withPostgres,
}: Record<'withMinio' | 'withPostgres', boolean>): Promise<TestServers> {
  const stack = new AsyncDisposableStack()
  const [minio, postgres] = await Promise.all([
    withMinio ? startSharedMinio() : undefined,
    withPostgres ? startForgetfulPostgres() : undefined,
  ])
  if (typeof minio === 'object') stack.adopt(minio, (it) => it.close())
  if (postgres) stack.adopt(postgres, (it) => it.close())
  const shared = { ...(minio && { TEST_MINIO: typeof minio === 'string' ? minio : JSON.stringify(minio) }) }
  return {
    env: (database) => (database === 'Postgres' && postgres ? { ...shared, TEST_POSTGRES: postgres.url } : shared),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** Returns a sentence with the reason if MinIO is not available. */
async function startSharedMinio(): Promise<MinioServer | string> {
  try {
    return await startMinio()
  } catch (error) {
    if (!(error instanceof NoMinioError)) throw error
    return error.message
  }
}

/** A server that does not wait for the disk, because its data need not outlive the tests. */
async function startForgetfulPostgres() {
  const postgres = await startPostgres()
  const client = new pg.Client({ connectionString: `${postgres.url}/postgres` })
  await client.connect()
  for (const setting of ['fsync', 'full_page_writes']) await client.query(`ALTER SYSTEM SET ${setting} = off`)
  await client.query('SELECT pg_reload_conf()')
  await client.end()
  return postgres
}
