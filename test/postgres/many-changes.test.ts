import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import type { TestUser } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { databaseUrl } from '../support/database-url.ts'
import { depth } from '../support/depth.ts'
import { folder, type Service, signInBefore } from '../support/service.ts'
import { until } from '../support/until.ts'
import { follow, startInstances } from './processes.ts'

const writers = 16
const pullers = 8
const batch = 125
const rounds = Math.ceil(depth(600, 50_000) / writers / batch)
const total = writers * rounds * batch
const killEveryMs = 2_000

t.test(`3 instances, ${writers} writers, ${pullers} pullers, ${total} changes, LISTEN killed: none lost`, async (t) => {
  const dataDir = await folder(t)
  const [ada] = (await signInBefore(t, dataDir, ['ada'])) as [TestUser]
  const instances = await startInstances(t, 3, dataDir)
  const at = (index: number) => (instances[index % instances.length] as Service).as(ada)
  const database = new pg.Client({ connectionString: await databaseUrl(dataDir) })
  await database.connect()
  t.teardown(() => database.end())
  const followers = instances.map((_, index) => follow(t, instances, ada, `socket-${index}`, index))

  let writing = true
  const began = performance.now()
  const killing = killWhile(database, () => writing)
  const pulling = Promise.all(Array.from({ length: pullers }, (_, index) => pullWhile(at(index), () => writing)))
  await Promise.all(Array.from({ length: writers }, (_, index) => write(at, `w${index}`)))
  const wrote = performance.now() - began
  writing = false
  const { kills, lastAt } = await killing
  await until(() => followers.every(({ stamps }) => stamps.length >= total))
  const healed = performance.now() - lastAt
  t.comment(
    `written in ${Math.round(wrote)} ms, ${kills} kills, sockets complete ${Math.round(healed)} ms after the last`,
  )

  t.ok(kills >= instances.length, `${kills} LISTEN connections were killed`)
  for (const { entities, stamps, closeCodes } of followers) {
    t.equal(new Set(entities).size, total, 'every change')
    t.equal(entities.length, total, 'each once')
    t.ok(isRising(stamps), 'a socket gets changes in the order of their stamps')
    t.same(closeCodes, [], 'over one socket')
  }
  const order = followers[0]?.entities.join()
  for (const pulled of await pulling) t.ok(pulled.join() === order, 'a puller gets all once, in that order')
  const { rows } = await database.query('select count(*)::int, count(distinct sequence)::int sequences from records')
  t.same(rows, [{ count: total, sequences: total }], 'stamps are unique')
})

/** Pushes the changes, each batch to the next instance. */
async function write(at: (index: number) => TestUser, name: string): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const changes = Array.from({ length: batch }, (_, index) =>
      change({ entity_id: `${name}-${round}-${index}`, device_id: name }),
    )
    const instance = at(Number(name.slice(1)) + round)
    const push = () => instance.call('POST', '/api/v1/sync/push', { body: { changes } })
    let { status, body } = await push()
    // On a busy machine a write may wait too long and get 503. Clients then push again, too.
    while (status === 503) ({ status, body } = await push())
    if (body.accepted !== changes.length) throw new Error(`${status} ${JSON.stringify(body)}`)
  }
}

async function pullWhile(user: TestUser, writing: () => boolean): Promise<string[]> {
  const seen: string[] = []
  for (let cursor = 0, last = false; !last; ) {
    last = !writing()
    const page = await pullAll(user, { since: cursor })
    if (page.cursor < cursor) throw new Error('the cursor fell')
    seen.push(...page.changes.map(({ entity_id }) => entity_id))
    cursor = page.cursor
  }
  return seen
}

/** Kills all LISTEN connections regularly while the writers write, and once more after the last change. */
async function killWhile(database: pg.Client, writing: () => boolean): Promise<{ kills: number; lastAt: number }> {
  const kill = `select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'encrypted-bookmark-sync pulse' and datname = current_database()`
  let kills = 0
  for (let nextAt = performance.now() + killEveryMs; writing(); await sleep(20)) {
    if (performance.now() < nextAt) continue
    nextAt += killEveryMs
    kills += (await database.query(kill)).rowCount ?? 0
  }
  kills += (await database.query(kill)).rowCount ?? 0
  return { kills, lastAt: performance.now() }
}

function isRising(stamps: number[]): boolean {
  return stamps.every((stamp, index) => index === 0 || stamp > (stamps[index - 1] as number))
}
