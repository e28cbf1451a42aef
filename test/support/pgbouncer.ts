import { chmod, chown, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freePort } from '../../scripts/servers/free-port.ts'
import { takesConnections } from '../../scripts/servers/postgres.ts'
import { tethered } from '../../scripts/servers/tethered.ts'
import { findProgram } from './programs.ts'
import { folder } from './service.ts'

/** The user for PgBouncer, which refuses to run as root. */
const nobody = 65_534

/** A PgBouncer in transaction mode in front of the database; undefined if it is not installed. */
export async function startPgbouncer(t: Test, database: string): Promise<string | undefined> {
  const program = await findProgram('pgbouncer')
  if (!program) return undefined
  const { hostname, port: target, username, password, pathname } = new URL(database)
  const [dir, port] = [await folder(t), await freePort()]
  const config = join(dir, 'pgbouncer.ini')
  const server = `host=${hostname} port=${target} dbname=${pathname.slice(1)} user=${username} password=${password}`
  await writeFile(
    config,
    `[databases]
main = ${server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
`,
  )
  const isRoot = process.getuid?.() === 0
  if (isRoot) {
    await chown(dir, nobody, nobody)
    await chmod(config, 0o644)
  }
  const url = `postgres://anybody@127.0.0.1:${port}/main`
  const { start, stop } = tethered([program, config], {
    lastSignal: 'KILL',
    isReady: () => takesConnections(url),
    ...(isRoot && { uid: nobody, gid: nobody }),
  })
  await start()
  t.teardown(stop)
  return url
}
