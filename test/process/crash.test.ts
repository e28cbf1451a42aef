import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { pick } from '../support/pick.ts'
import { folder, type Service, signInBefore, startService } from '../support/service.ts'

const rounds = depth(2, 50)
const devicesOfEach = 3
/** The numbers of changes in the pushes of a device, in turn. The large push is written many rows at a time. */
const sizes = [1, 101, 2, 3]

interface Push {
  ids: string[]
  answered: boolean
}

interface History {
  person: TestUser
  pushes: Push[]
  /** The number of pushes that were compared already. */
  compared: number
  cursor: number
  pulled: string[]
}

t.test(`kill -9 during concurrent pushes, ${rounds} times: each push that got a 2xx survives`, async (t) => {
  const dataDir = await folder(t)
  const people = await signInBefore(t, dataDir, ['ada', 'bob'])
  const histories: History[] = people.map((person) => ({ person, pushes: [], compared: 0, cursor: 0, pulled: [] }))
  const faults: string[] = []

  for (let round = 1; round <= rounds; round += 1) {
    const service = await startService(t, dataDir, { LOG_LEVEL: 'error' })
    for (const history of histories) faults.push(...(await compare(service, history)))
    const before = countAnswered(histories)
    const devices = histories.flatMap((history) =>
      Array.from({ length: devicesOfEach }, (_, device) => pushUntilDead(service, history, `${round}-${device}`)),
    )
    while (countAnswered(histories) < before + 10 + (round % 10)) await sleep(1)
    await sleep(round % 7)
    t.match(await service.kill('SIGKILL'), { signal: 'SIGKILL' })
    await Promise.all(devices)
  }
  const last = await buildApp(t, {}, { dataDir })
  for (const history of histories) faults.push(...(await compare(last, history)))
  await last.close()

  const pushes = histories.flatMap((history) => history.pushes)
  const answered = countAnswered(histories)
  t.comment(`${pushes.length} pushes, ${answered} answered, ${pushes.length - answered} cut off`)
  t.same(faults, [], 'every acknowledged push is stored, and every other one completely or not at all')
  for (const { person, pulled } of histories) checkStamps(t, dataDir, person, pulled)
})

function countAnswered(histories: History[]): number {
  return histories.flatMap(({ pushes }) => pushes.filter(({ answered }) => answered)).length
}

/** Sends one push after another, until the service no longer responds. */
async function pushUntilDead(service: Service, { person, pushes }: History, name: string): Promise<void> {
  const { call } = service.as(person)
  for (let count = 0; ; count += 1) {
    const ids = Array.from({ length: sizes[count % sizes.length] ?? 1 }, (_, index) => `${name}-${count}-${index}`)
    const push: Push = { ids, answered: false }
    pushes.push(push)
    const changes = ids.map((entity_id) => change({ entity_id, device_id: name }))
    const answer = await call('POST', '/api/v1/sync/push', { body: { changes } }).catch(isCutOff)
    if (!answer) return
    if (answer.body.accepted !== ids.length) throw new Error(`refused: ${answer.raw}`)
    push.answered = true
  }
}

function isCutOff(error: unknown): undefined {
  if (error instanceof TypeError) return undefined
  throw error
}

/** Pulls the new changes and compares them with the pushes since the last comparison. */
async function compare(service: Pick<Service, 'as'>, history: History): Promise<string[]> {
  const user = service.as(history.person)
  const { changes, cursor } = await pullAll(user, { since: history.cursor, limit: 1000 })
  const pulled = changes.map(({ entity_id }) => entity_id)
  history.cursor = cursor
  history.pulled.push(...pulled)
  const there = new Set(pulled)
  const pushes = history.pushes.slice(history.compared)
  history.compared = history.pushes.length
  const lost = pushes.filter(({ ids, answered }) => answered && !ids.every((id) => there.has(id)))
  const torn = pushes.filter(({ ids }) => new Set(ids.map((id) => there.has(id))).size > 1)
  const pushed = new Set(pushes.flatMap(({ ids }) => ids))
  const status = await user.call('GET', '/api/v1/sync/status')
  return [
    ...lost.map(({ ids }) => `lost: ${ids}`),
    ...torn.map(({ ids }) => `torn: ${ids}`),
    ...pulled.filter((id) => !pushed.has(id)).map((id) => `unknown: ${id}`),
    ...(status.body.total_bookmarks === history.pulled.length ? [] : [`counted: ${status.body.total_bookmarks}`]),
  ]
}

/** Checks in the database file that stamps rise in the order of each device's pushes, and that pulls followed them. */
function checkStamps(t: Test, dataDir: string, { userId }: TestUser, pulled: string[]): void {
  const sqlite = new Sqlite(`${dataDir}/bookmarks.db`, { readonly: true })
  const rows = sqlite
    .prepare<[string], { entity_id: string; sequence: number }>(
      'select entity_id, sequence from records where user_id = ? order by sequence',
    )
    .all(userId)
  const user = sqlite.prepare('select last_sequence from users where id = ?').get(userId)
  sqlite.close()
  t.ok(
    rows.every(({ sequence }, index) => sequence > (rows[index - 1]?.sequence ?? 0)),
    'stamps are unique and rising',
  )
  t.same(user, { last_sequence: rows.at(-1)?.sequence }, 'the user row has the last stamp')
  t.same(pulled, pick(rows, 'entity_id'), 'pulling round by round skipped and repeated nothing')
  const devices = Map.groupBy(rows, ({ entity_id }) => entity_id.split('-', 2).join('-'))
  const inOrder = [...devices.values()].every((own) => {
    const counts = own.map(({ entity_id }) => entity_id.split('-').slice(2).map(Number))
    return counts.every(([count = 0, index = 0], at) => {
      const [before = -1, last = -1] = counts[at - 1] ?? []
      return count > before ? true : count === before && index > last
    })
  })
  t.ok(inOrder, "a device's changes have rising stamps in the order in which it made them")
}
