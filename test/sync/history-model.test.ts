/** After random requests and sweeps, the service has the same data as a model of plain arrays. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type Placeholders, query } from '../../src/service/db/engine/query.ts'
import { recountUser } from '../../src/service/upkeep/recount.ts'
import { buildApp, type TestApp } from '../support/app.ts'
import { isPostgres } from '../support/database-url.ts'
import { depth } from '../support/depth.ts'
import { digestOf } from '../support/digest.ts'
import { Model } from './history/model.ts'
import { type Player, play, script, scriptOfBursts } from './history/script.ts'

// A run takes about 18 ms of CPU time with SQLite, and more with Postgres.
const numRuns = Number(process.env.HISTORY_RUNS ?? depth(isPostgres ? 20 : 60, 20_000))
// Room for some records and versions, most of which have a few hundred bytes.
const maxBytes = 8000

t.test("After any requests and sweeps, records, versions, conflicts and counters equal the model's", (t) =>
  hold(t, script, numRuns, maxBytes),
)

t.test('They are equal even without room for all tombstones', (t) => hold(t, script, Math.ceil(numRuns / 2), 2600))

// A run takes about 0.2 s of CPU time with SQLite.
const burstRuns = Number(process.env.HISTORY_RUNS ?? depth(isPostgres ? 3 : 6, 300))

t.test("If a bookmark has more edits than kept versions, the service erases the model's choice", (t) =>
  // With this quota, most runs have room for all versions.
  hold(t, scriptOfBursts, burstRuns, 70_000),
)

async function hold(t: Test, scripts: typeof script | typeof scriptOfBursts, numRuns: number, maxBytes: number) {
  const app = await buildApp(t, { MAX_USER_BYTES: `${maxBytes}` })
  const counts: Record<string, number> = {}
  let run = 0
  let now = Date.now()
  await fc.assert(
    fc.asyncProperty(scripts as fc.Arbitrary<Parameters<typeof play>[1][]>, async (steps) => {
      run += 1
      app.setClock(now)
      const name = `user-${run}`
      const player: Player = {
        app,
        name,
        user: await app.user(name),
        model: new Model(maxBytes),
        now,
        sent: [],
        made: 0,
      }
      for (const step of steps) {
        await play(player, step)
        counts[step.do] = (counts[step.do] ?? 0) + 1
        await compare(player)
      }
      await compareLists(player)
      const { userId } = player.user
      assert.equal(await app.context.database.write((trx) => recountUser(trx, userId)), undefined)
      counts.gaps = (counts.gaps ?? 0) + [...player.model.entities.values()].filter(({ hasGaps }) => hasGaps).length
      now = player.now
    }),
    { numRuns },
  )
  t.comment(JSON.stringify(counts))
  t.pass(`${run} scripts`)
}

/** Compares all data. First copies the service's own event ids, and its clock's error, to the model. */
async function compare({ app, user, model }: Player): Promise<void> {
  const { records, versions, data, counters } = await readTables(app, user.userId)
  for (const { entity_type, entity_id, event_id } of records) {
    const entity = model.entities.get(`${entity_type}/${entity_id}`)
    if (entity) entity.current.event_id = event_id
  }
  for (const { began, sequence, version_id, behind } of versions) {
    const version = model.kept().find((kept) => kept.sequence === sequence)
    if (version && began !== null) version.event_id = version_id
    if (version) version.behind = behind
  }
  const kept = model.kept()
  assert.deepEqual(
    versions.map(
      ({ data_sequence, user_id, bytes, settled_at, was_deleted, stored_at, began_at, ended_at, ...version }) => ({
        ...version,
        at: stored_at,
        beganAt: Number(began_at),
        endedAt: ended_at,
        isOpen: settled_at === null && version.reason !== 'superseded',
        data: data_sequence === null ? undefined : data.get(data_sequence),
      }),
    ),
    kept.map(({ event_id: version_id, by, data, ended: _, ...version }) => {
      const { type: entity_type, id: entity_id } = entityOf(model, version.sequence)
      return { entity_type, entity_id, version_id, ...version, replaced_by: by.event_id, data: data?.text }
    }),
  )
  const inUse = new Set(kept.map(({ data }) => data))
  assert.deepEqual(
    records.map((record) => {
      const { entity_type, entity_id, sequence, operation, timestamp, device_id, data_hash, data_sequence, bytes } =
        record
      const own = versions.filter((one) => one.entity_type === entity_type && one.entity_id === entity_id)
      assert.equal(record.versions, own.length)
      const text = data_sequence === null ? undefined : data.get(data_sequence)
      assert.equal(bytes, text?.length ?? 0)
      return {
        entity_type,
        entity_id,
        sequence,
        at: record.stored_at,
        operation,
        timestamp,
        device_id,
        data_hash,
        text,
      }
    }),
    [...model.entities.values()]
      .map(({ type, id, current }) => {
        const { event_id: _, data, ...version } = current
        const text = version.operation !== 'delete' || inUse.has(data) ? data?.text : undefined
        return { entity_type: type, entity_id: id, ...version, text }
      })
      .sort((one, other) => one.sequence - other.sequence),
  )
  const { stored, live: liveBytes } = model.bytes()
  const live = (type?: string) =>
    records.filter(({ deleted_at, entity_type }) => deleted_at === null && (!type || type === entity_type))
  assert.deepEqual(counters, {
    last_sequence: model.lastSequence,
    live_bookmarks: records.filter((record) => record.entity_type === 'bookmark' && record.deleted_at === null).length,
    stored_bytes: stored,
    version_bytes: stored - liveBytes,
    stored_records: records.length,
    empty_tombstones: records.filter(
      (one) => one.deleted_at !== null && one.data_sequence === null && one.versions === 0,
    ).length,
    stored_versions: kept.length,
    digest: digestOf(live()),
    history_digest: digestOf(live('history')),
    group_digest: digestOf(live('group')),
  })
  assert.equal([...data.values()].join('').length, stored, 'no other ciphertext is left')
  partitionTime(model, versions)
}

function entityOf(model: Model, sequence: number) {
  for (const entity of model.entities.values())
    if (entity.kept.some((version) => version.sequence === sequence)) return entity
  throw new Error(`no version has the sequence number ${sequence}`)
}

/** Asserts that the times of an entity's versions do not overlap, and have no gaps unless some were erased. */
function partitionTime(model: Model, versions: Tables['versions']): void {
  for (const { type, id, current, hasGaps } of model.entities.values()) {
    const own = versions.filter(
      ({ entity_type, entity_id, began }) => entity_type === type && entity_id === id && began,
    )
    // A version gets the sequence number of the change that replaced it.
    const ends = own.map(({ sequence }) => sequence)
    const nextBegan = [...own.slice(1).map(({ began }) => Number(began)), ...(own.length > 0 ? [current.sequence] : [])]
    if (hasGaps) assert.ok(ends.every((end, index) => end <= (nextBegan[index] ?? 0)))
    else assert.deepEqual(nextBegan, ends)
  }
}

async function compareLists({ user, model }: Player): Promise<void> {
  const open = model.open().toReversed()
  const get = async (path: string) => (await user.call('GET', path)).body
  const { conflicts } = await get('/api/v1/sync/conflicts?limit=1000')
  const eventIds = (versions: { version_id: string }[]) => versions.map(({ version_id }) => version_id)
  assert.deepEqual(
    eventIds(conflicts),
    open.map(({ event_id }) => event_id),
  )
  const { conflict_count, total_bookmarks } = await get('/api/v1/sync/status')
  const live = [...model.entities.values()].filter(
    ({ type, current: { operation } }) => type === 'bookmark' && operation !== 'delete',
  )
  const { data, meta } = await get('/api/v1/bookmarks')
  assert.deepEqual([conflict_count, total_bookmarks, meta.total], [open.length, live.length, live.length])
  assert.deepEqual(data.map(({ id }: { id: string }) => id).sort(), live.map(({ id }) => id).sort())
  const inTrash: string[] = []
  for (const { type, id, current, kept } of model.entities.values()) {
    if (type !== 'bookmark') continue
    const { versions } = await get(`/api/v1/bookmarks/${id}/versions`)
    assert.deepEqual(
      versions.map((version: { version_id: string; encrypted_data?: string }) => [
        version.version_id,
        version.encrypted_data,
      ]),
      kept.toReversed().map(({ event_id, data }) => [event_id, data?.text]),
    )
    if (current.operation === 'delete' && kept.some(({ data }) => data && data === current.data)) inTrash.push(id)
  }
  const { bookmarks } = await get('/api/v1/trash')
  assert.deepEqual(bookmarks.map(({ id }: { id: string }) => id).sort(), inTrash.sort())
}

type Tables = Awaited<ReturnType<typeof readTables>>

async function readTables({ context }: TestApp, userId: string) {
  const { db } = context.database
  const records = await rowsOfRecords.all(db, { userId })
  const versions = await rowsOfVersions.all(db, { userId })
  const rows = await rowsOfCiphertexts.all(db, { userId })
  const counters = await rowOfUser.one(db, { userId })
  return {
    records,
    versions,
    data: new Map(rows.map(({ sequence, encrypted_data }) => [sequence, encrypted_data])),
    counters,
  }
}

type OfUser = Placeholders<{ userId: string }>

// Compiled once, because they run after each step.
const rowsOfRecords = query((db, { userId }: OfUser) =>
  db.selectFrom('records').selectAll().where('user_id', '=', userId).orderBy('sequence'),
)
const rowsOfVersions = query((db, { userId }: OfUser) =>
  db.selectFrom('versions').selectAll().where('user_id', '=', userId).orderBy('sequence'),
)
const rowsOfCiphertexts = query((db, { userId }: OfUser) =>
  db
    .selectFrom('records')
    .select(['data_sequence as sequence', 'encrypted_data'])
    .where('user_id', '=', userId)
    .where('encrypted_data', 'is not', null)
    .unionAll(db.selectFrom('ciphertexts').select(['sequence', 'encrypted_data']).where('user_id', '=', userId)),
)
const rowOfUser = query((db, { userId }: OfUser) =>
  db
    .selectFrom('users')
    .select([
      'last_sequence',
      'live_bookmarks',
      'stored_bytes',
      'version_bytes',
      'stored_records',
      'empty_tombstones',
      'stored_versions',
      'digest',
      'history_digest',
      'group_digest',
    ])
    .where('id', '=', userId),
)
