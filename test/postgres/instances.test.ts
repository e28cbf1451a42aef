import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { openDevice } from '../realtime/device.ts'
import { buildApp, type CallOptions, type TestApp } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { isPostgres } from '../support/database-url.ts'

t.setTimeout(120_000)

/** Instances of the service on one database. */
async function instances(t: Test, count: number): Promise<[TestApp, ...TestApp[]]> {
  const first = await buildApp(t)
  const others: TestApp[] = []
  while (others.length < count - 1) others.push(await buildApp(t, {}, { dataDir: first.dataDir }))
  return [first, ...others]
}

if (!isPostgres) t.comment('instances share a Postgres: `npm test` runs this file there')
else {
  t.test('A change made on one instance reaches the sockets of the others once, in stamp order', async (t) => {
    const [one, ...others] = await instances(t, 3)
    const ada = await one.user('ada')
    const devices = await Promise.all(
      others.map(async (other, index) => openDevice(t, await other.listen(), ada, { deviceId: `device-${index}` })),
    )
    for (const name of ['x', 'y', 'z']) {
      await ada.call('POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id: name })] } })
    }
    for (const device of devices) t.same(await device.takeEntities('z'), ['x', 'y', 'z'])
  })

  t.test('Signed out on one instance: refused on the next, and the socket on a third is closed', async (t) => {
    const [one, two, three] = await instances(t, 3)
    const ada = await one.user('ada')
    const device = await openDevice(t, await (three as TestApp).listen(), ada)
    await ada.call('POST', '/api/v1/auth/logout')
    const next = await (two as TestApp).call('GET', '/api/v1/bookmarks', { headers: { cookie: ada.cookie } })
    t.same([next.status, next.body], [401, { error: 'Invalid or expired session' }])
    t.equal(await device.closeCode, 4401)
  })

  t.test('While the LISTEN connection is killed again and again, every socket gets every change', async (t) => {
    const [one, two] = await instances(t, 2)
    const ada = await one.user('ada')
    const device = await openDevice(t, await (two as TestApp).listen(), ada)
    const killed = sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'encrypted-bookmark-sync pulse' and datname = current_database()`
    const names = Array.from({ length: 60 }, (_, index) => `e${index}`)
    for (const [index, name] of names.entries()) {
      if (index % 15 === 7) await killed.execute(one.context.database.db)
      await ada.call('POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id: name })] } })
      await sleep(20)
    }
    t.same(await device.takeEntities(names.at(-1) as string), names)
  })

  t.test('3 instances, 16 writers, 8 pullers: none missed, stamps unique and rising', async (t) => {
    const apps = await instances(t, 3)
    const ada = await apps[0].user('ada')
    const on = (index: number) => {
      const app = apps[index % apps.length] as TestApp
      return {
        call: (method: string, path: string, { body }: CallOptions) =>
          app.call(method, path, { body, headers: { cookie: ada.cookie } }),
      }
    }
    let writing = true
    const write = async (writer: number) => {
      for (let round = 0; round < 40; round += 1) {
        const changes = Array.from({ length: 8 }, (_, index) =>
          change({ entity_id: `w${writer}-${round}-${index}`, device_id: `w${writer}` }),
        )
        const { body } = await on(writer + round).call('POST', '/api/v1/sync/push', { body: { changes } })
        if (body.accepted !== changes.length) throw new Error(`accepted ${body.accepted}`)
      }
    }
    const follow = async (puller: number) => {
      const seen: string[] = []
      for (let cursor = 0, last = false; ; ) {
        const wasWriting = writing
        const page = await pullAll(on(puller), { since: cursor, limit: 50 })
        if (page.cursor < cursor) throw new Error('the cursor fell')
        seen.push(...page.changes.map(({ entity_id }) => entity_id))
        cursor = page.cursor
        if (last) return seen
        last = !wasWriting
      }
    }
    const following = Promise.all(Array.from({ length: 8 }, (_, index) => follow(index)))
    await Promise.all(Array.from({ length: 16 }, (_, index) => write(index)))
    writing = false
    const total = 16 * 40 * 8
    for (const seen of await following) {
      t.equal(seen.length, total, 'each once')
      t.equal(new Set(seen).size, total, 'none missed')
    }
    const rows = await apps[0].context.database.db.selectFrom('records').select('stamp').execute()
    t.equal(new Set(rows.map(({ stamp }) => stamp)).size, total, 'stamps are unique')
  })

  t.test('Five instances start at once on an empty database', async (t) => {
    const { dataDir, close } = await buildApp(t)
    await close()
    const empty = `${dataDir}/empty`
    const apps = await Promise.all(Array.from({ length: 5 }, () => buildApp(t, {}, { dataDir: empty })))
    t.equal(apps.length, 5, 'one of them migrates, the others wait for it')
    const ada = await (apps[0] as TestApp).user('ada')
    t.equal((await ada.call('GET', '/api/v1/bookmarks')).status, 200)
  })

  t.test('Connections that break are replaced, and answers meanwhile are 503', async (t) => {
    const app = await buildApp(t)
    const ada = await app.user('ada')
    const { db } = app.context.database
    for (let round = 0; round < 5; round += 1) {
      const others = sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`
      const [, ...answers] = await Promise.all([
        others.execute(db).catch(() => {}),
        ...Array.from({ length: 20 }, () => ada.call('GET', '/api/v1/bookmarks')),
      ])
      for (const { status } of answers) t.ok([200, 503].includes(status), `${status}`)
    }
    t.equal((await ada.call('GET', '/api/v1/bookmarks')).status, 200)
  })
}
