import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../scripts/servers/free-port.ts'
import { runService } from '../../scripts/servers/service.ts'
import { addPeople, createDatabase, type Data, openData } from '../data.ts'
import type { Account } from '../worker/apis.ts'

/** A server in a separate process. */
export interface Server {
  pid: number
  origin: string
  /** Another user at each call, but always the same on the bare app. Without data, unless `fill` stored some. */
  newUser(): Promise<Account>
  close(): Promise<void>
}

export interface Prepared {
  /** Starts a server on this data. After `close`, it can be started again. */
  restart(): Promise<Server>
  remove(): Promise<void>
}

/** One of the compared products or versions. Each prepared server has its own data. */
export interface Contender {
  prepare(): Promise<Prepared>
}

/** Starts a server. `close` also removes its data. */
export async function startOn({ restart, remove }: Prepared): Promise<Server> {
  const server = await restart()
  return {
    ...server,
    async close() {
      await server.close()
      await remove()
    },
  }
}

/** The memory of a process (RSS), in bytes: now, and at its highest. */
export function memoryOf(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const read = (field: string) => 1024 * Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1])
  return { now: read('VmRSS'), peak: read('VmHWM') }
}

interface ServiceOptions {
  people?: number
  fill?: Fill
  /** Environment variables in addition to `settings`. */
  env?: Record<string, string>
}

/** Writes these users' data into the database before the service starts. */
type Fill = (data: Data, users: string[]) => Promise<void>

export interface Services extends Contender {
  /** Prepares a database with users who are signed in. */
  prepare(options?: ServiceOptions): Promise<Prepared>
}

const enoughPeople = 200
const secretKey = randomBytes(32).toString('base64')
/**
 * Production settings, without an access log and without limits that would stop the load. The heap is what Node has in
 * a container with 768 MiB, which docs/operating/sizing.md recommends. With more, Node would free memory less often.
 */
const settings = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'https://bench.example',
  OIDC_ISSUER: 'https://127.0.0.1:9',
  OIDC_CLIENT_ID: 'bench',
  OIDC_CLIENT_SECRET: 'bench',
  RATE_LIMIT_PER_MINUTE: '1000000000',
  MAX_USER_RECORDS: '10000000',
  MAX_USER_BYTES: '10000000000',
  LOG_LEVEL: 'warn',
  SECRET_KEY: secretKey,
  NODE_OPTIONS: '--max-semi-space-size=16 --max-old-space-size=384',
  MALLOC_ARENA_MAX: '1',
}

/** Starts services from the main module `entry`, each in a folder of `root` with a copy of the same empty database. */
export function openServices(entry: string, postgresUrl: string | undefined, root: string): Services {
  let template: Promise<Place> | undefined
  return { prepare }

  async function prepare({ people = enoughPeople, fill, env }: ServiceOptions = {}): Promise<Prepared> {
    template ??= makeTemplate()
    const place = await newPlace(await template)
    Object.assign(place.env, env)
    const data = await openData(place.database)
    const persons = await addPeople(data, people, secretKey)
    await fill?.(
      data,
      persons.map(({ userId }) => userId),
    )
    await data.close()
    const rest = persons.values()
    const newUser = (origin: string): Account => {
      const { value: person } = rest.next()
      if (!person) throw new Error(`There are only ${people} people`)
      const headers = { cookie: `service_session=${person.session}` }
      return { api: 'service', origin, user: person.userId, headers }
    }
    return {
      async restart() {
        const { origin, pid, stop } = await run(place.env)
        return { pid, origin, newUser: async () => newUser(origin), close: stop }
      },
      remove: () => rm(place.folder, { recursive: true, force: true }),
    }
  }

  async function makeTemplate(): Promise<Place> {
    const place = await newPlace()
    const { stop } = await run(place.env)
    await stop()
    return place
  }

  async function run(env: Record<string, string>) {
    const port = await freePort()
    const service = runService({ ...env, PORT: `${port}` }, 'ignore', entry)
    await service.ready()
    return { origin: `http://127.0.0.1:${port}`, pid: service.pid, stop: service.stop }
  }

  async function newPlace(from?: Place): Promise<Place> {
    const folder = await mkdtemp(join(root, 'service-'))
    const env = { ...settings, DATA_DIR: folder }
    if (postgresUrl !== undefined) {
      const name = `bench-${randomBytes(6).toString('hex')}`
      const database = await createDatabase(postgresUrl, name, from?.database.split('/').at(-1))
      return { folder, database, env: { ...env, DATABASE_URL: database } }
    }
    if (from) await cp(from.folder, folder, { recursive: true })
    return { folder, database: join(folder, 'bookmarks.db'), env }
  }
}

interface Place {
  folder: string
  /** A `postgres:` URL or an SQLite file. */
  database: string
  env: Record<string, string>
}
