import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import { buildApp } from '../support/app.ts'
import { change, push } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { unchecked } from './unchecked.ts'

const hourMs = 3_600_000
const writers = 8
const pullers = 4
const changesOfEach = depth(40, 2500)
const total = writers * changesOfEach

type Caller = ReturnType<typeof unchecked>

/** Random sizes from 1 to 50, always the same sequence for a seed. */
function sizes(seed: number): () => number {
  let state = seed * 7919 + 1
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return 1 + ((state >> 8) % 50)
  }
}

async function write({ call }: Caller, name: string, seed: number, wrote: (count: number) => void): Promise<void> {
  const next = sizes(seed)
  for (let done = 0; done < changesOfEach; ) {
    const count = Math.min(next(), changesOfEach - done)
    const changes = Array.from({ length: count }, (_, index) =>
      change({ entity_id: `${name}-${done + index}`, device_id: name }),
    )
    const { body } = await call('POST', '/api/v1/sync/push', { body: { changes } })
    if (body.accepted !== count) throw new Error(`accepted ${body.accepted} of ${count}`)
    done += count
    wrote(count)
  }
}

/** Keeps pulling until the writers are done and no change is left. */
async function follow({ call }: Caller, seed: number, isWriting: () => boolean) {
  const next = sizes(seed)
  const seen: Schemas['SyncEvent'][] = []
  const cursors = [0]
  for (;;) {
    const wasWriting = isWriting()
    const since = cursors.at(-1) ?? 0
    const { body } = await call('POST', '/api/v1/sync/pull', { body: { since, limit: next() } })
    const page = body as Schemas['PullResponse']
    seen.push(...page.changes)
    if (page.changes.length > 0) cursors.push(page.last_sync_timestamp)
    else if (page.last_sync_timestamp !== since) throw new Error(`${since} came back as ${page.last_sync_timestamp}`)
    if (!page.has_more && !wasWriting) return { ids: seen.map(({ entity_id }) => entity_id), cursors }
    if (page.changes.length === 0) await sleep(10)
  }
}

t.test(`${writers} writers, ${pullers} pullers, and a clock set back: none of ${total} changes missed`, async (t) => {
  const { app, context, user, setClock } = await buildApp(t)
  const ada = await user('ada')
  const caller = unchecked(app, ada)
  let written = 0
  let turned = false
  const wrote = (count: number) => {
    written += count
    if (written < total / 2 || turned) return
    turned = true
    setClock(Date.now() - hourMs)
  }
  const names = Array.from({ length: writers }, (_, index) => `w${index}`)
  const writing = names.map((name, index) => write(caller, name, index, wrote))
  const pulling = Array.from({ length: pullers }, (_, index) => follow(caller, 100 + index, () => written < total))
  await Promise.all(writing)
  const pulled = await Promise.all(pulling)

  const rows = await context.database.db
    .selectFrom('records')
    .select(['entity_id', 'sequence'])
    .where('user_id', '=', ada.userId)
    .orderBy('sequence')
    .execute()
  const ids = rows.map(({ entity_id }) => entity_id)
  t.equal(new Set(ids).size, total, `${total} changes`)
  t.equal(new Set(rows.map(({ sequence }) => sequence)).size, total, 'stamps are unique')
  const ofWriter = (name: string) => ids.filter((id) => id.startsWith(`${name}-`))
  for (const name of names) {
    const inOrder = ofWriter(name).every((id, index) => id === `${name}-${index}`)
    t.ok(inOrder, `stamps rise in the order of the changes of ${name}`)
  }
  for (const [puller, { ids: seen, cursors }] of pulled.entries()) {
    t.ok(isEqual(seen, ids), `puller ${puller}: none missed, none twice, in the order of the stamps`)
    t.ok(
      cursors.every((cursor, index) => index === 0 || cursor > (cursors[index - 1] ?? 0)),
      `puller ${puller}: each last_sync_timestamp is greater than the one before`,
    )
  }
})

function isEqual(one: string[], other: string[]): boolean {
  return one.length === other.length && one.every((id, index) => id === other[index])
}

t.test('Stamps keep rising when the clock is set back', async (t) => {
  const { user, setClock } = await buildApp(t)
  const ada = await user('ada')
  const start = Date.now()
  const stamps: number[] = []
  for (const now of [start, start, start - hourMs, start - 1, start + 10]) {
    setClock(now)
    await push(ada, change({ entity_id: 'x', timestamp: stamps.length }))
    const { body } = await ada.call('POST', '/api/v1/sync/pull')
    stamps.push(body.last_sync_timestamp)
  }
  t.same(stamps, [start, start + 1, start + 2, start + 3, start + 10], 'each stamp is max(now, last + 1)')
})
