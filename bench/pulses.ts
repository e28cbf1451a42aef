import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { pino } from 'pino'
import { v7 as uuidv7 } from 'uuid'
import { startNats } from '../scripts/servers/nats.ts'
import { startPostgres } from '../scripts/servers/postgres.ts'
import type { Notices } from '../src/service/notices/notices.ts'
import { openNotices } from '../src/service/notices/open.ts'

const instances = 60
/** Users per instance whose changes it follows, as if each had a socket there. */
const users = 50
const perSecond = 600
const seconds = 10
/** How many notifications all instances together send as fast as possible. */
const burst = 12_000
const program = process.env.NATS_BIN || '/usr/sbin/nats-server'

interface Way {
  name: string
  config: Parameters<typeof openNotices>[0]
  /** The process ids of Postgres or NATS. */
  server(): Promise<number[]>
}

/**
 * `npm run bench -- pulses`: measures the cost of notifications between 60 instances in this process, each with its own
 * users, over LISTEN and NOTIFY and over NATS.
 */
export async function measureNotifications(): Promise<void> {
  const [postgres, nats] = [await startPostgres(), await startNats(program)]
  const db = new Kysely<unknown>({
    dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: postgres.url }) }),
  })
  const databaseUrl = `${postgres.url}/postgres`
  const config = { databaseUrl, databaseServer: { directUrl: databaseUrl } }
  const backends = async () =>
    (await sql<{ pid: number }>`select pid from pg_stat_activity`.execute(db)).rows.map(({ pid }) => pid)
  const ways: Way[] = [
    { name: 'LISTEN and NOTIFY', config: { ...config, natsUrls: [] }, server: backends },
    { name: 'NATS', config: { ...config, natsUrls: [nats.url] }, server: async () => [nats.pid()] },
  ]
  try {
    for (const way of ways) await measure(way)
  } finally {
    await db.destroy()
    await nats.stop()
    await postgres.close()
  }
}

async function measure({ name, config, server }: Way): Promise<void> {
  const log = pino({ level: 'error' })
  const ids: string[] = []
  const all: Notices[] = []
  let heard = 0
  let waiting = () => {}
  for (let n = 0; n < instances; n++) {
    const notices = await openNotices(config, log)
    const own = Array.from({ length: users }, () => uuidv7())
    const changed = () => {
      heard++
      waiting()
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    notices.subscribe({ ended() {}, missed: resolve })
    await promise
    await Promise.all(own.map((id) => notices.follow(id, changed).ready))
    ids.push(...own)
    all.push(notices)
  }
  /** Publishes a change at the next instance, mostly of a user whom another instance follows. */
  const publish = (n: number) =>
    all[n % instances]?.publishChange(ids[(n * 61 + users + Math.floor(n / ids.length)) % ids.length] as string)
  const arrived = (count: number) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting = () => heard >= count && resolve()
    waiting()
    return Promise.race([promise, sleep(60_000)])
  }

  const before = await cpuMs(server)
  const received = () => all.reduce((sum, { counts }) => sum + counts().received, 0)
  for (let n = 0; n < perSecond * seconds; n++) {
    publish(n)
    if (n % (perSecond / 50) === 0) await sleep(20)
  }
  await arrived(perSecond * seconds)
  const after = await cpuMs(server)
  const per = (ms: number) => (ms / (perSecond * seconds)).toFixed(3)
  console.log(`${name}: ${(received() / (perSecond * seconds)).toFixed(1)} received for each notification,`)
  console.log(
    `  CPU of a notification: ${per(after.server - before.server)} ms of the server, ${per(after.own - before.own)} ms of all ${instances} instances`,
  )

  heard = 0
  const began = performance.now()
  for (let n = 0; n < burst; n++) publish(n)
  await arrived(burst)
  console.log(`  at once: ${Math.round((heard / (performance.now() - began)) * 1000)} notifications a second`)
  await Promise.all(all.map((each) => each.close()))
}

async function cpuMs(server: Way['server']): Promise<{ own: number; server: number }> {
  const { user, system } = process.cpuUsage()
  const ticks = await Promise.all((await server()).map(ticksOf))
  return { own: (user + system) / 1000, server: ticks.reduce((sum, count) => sum + count, 0) * 10 }
}

/** CPU time of the process in ticks of 10 ms. */
async function ticksOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0)
}
