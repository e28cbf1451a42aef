import pg from 'pg'
import { type MinioServer, startMinio } from '../servers/minio.ts'
import { builtMinio, NoMinioError } from '../servers/minio-binary.ts'
import { inMemory, startPostgres } from '../servers/postgres.ts'
import type { TestProcess } from './plan.ts'

/** The servers that all tests share. */
export interface TestServers extends AsyncDisposable {
  /** False if MinIO must still be built when the tests start, which takes minutes. */
  isMinioBuilt: boolean
  /** Waits for the servers that a process needs. Returns the environment variables that point to them. */
  env(process: TestProcess): Promise<Record<string, string>>
}

export async function startServers(
  processes: TestProcess[],
  depth: 'quick' | 'deep',
  isAll: boolean,
): Promise<TestServers> {
  const stack = new AsyncDisposableStack()
  const needsPostgres = processes.some(({ database }) => database === 'Postgres')
  const isMinioBuilt = !isAll || (await builtMinio()) !== undefined
  const starting = isAll ? startSharedMinio() : undefined
  // An error is reported by the process that waits for MinIO.
  starting?.catch(() => {})
  stack.defer(async () => {
    const minio = await starting?.catch(() => undefined)
    if (typeof minio === 'object') await minio.close()
  })
  const postgres = needsPostgres ? stack.adopt(await startForgetfulPostgres(depth), (it) => it.close()) : undefined
  if (isMinioBuilt) await starting
  return {
    isMinioBuilt,
    async env({ database, usesMinio }) {
      const available = isMinioBuilt || usesMinio ? await starting : undefined
      const minio = usesMinio ? available : 'none'
      return {
        ...(isAll && minio !== undefined && { TEST_MINIO: typeof minio === 'string' ? minio : JSON.stringify(minio) }),
        ...(database === 'Postgres' && postgres && { TEST_POSTGRES: postgres.url }),
      }
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** Returns the reason as a text if MinIO is not available. */
async function startSharedMinio(): Promise<MinioServer | string> {
  try {
    return await startMinio()
  } catch (error) {
    if (!(error instanceof NoMinioError)) throw error
    return error.message
  }
}

/** Postgres that does not sync to disk and does not vacuum, because its data need not outlive the tests. */
async function startForgetfulPostgres(depth: 'quick' | 'deep') {
  const postgres = await startPostgres(depth === 'quick' ? await inMemory() : undefined)
  const client = new pg.Client({ connectionString: `${postgres.url}/postgres` })
  await client.connect()
  for (const setting of ['fsync', 'full_page_writes', 'autovacuum'])
    await client.query(`ALTER SYSTEM SET ${setting} = off`)
  await client.query('SELECT pg_reload_conf()')
  // Each connection derives a key from the password: in one round instead of 4,096.
  const { password } = new URL(postgres.url)
  await client.query(`SET scram_iterations = 1; ALTER ROLE postgres PASSWORD '${password}'`)
  await client.end()
  return postgres
}
