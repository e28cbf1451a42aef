/** However the clock is set while the service runs, nothing is erased before it was kept for as long as it is to be. */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { startSweeps } from '../../src/service/upkeep/sweeps.ts'
import { buildApp, type TestApp } from '../support/app.ts'
import { change, push } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { keyringOf } from '../support/keyrings.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const keptDays = 4

interface Setting {
  /** By how many days the clock is ahead of the true time, or behind if it is negative, */
  error: number
  /** for so many hours, in which nobody believes it; */
  wrong: number
  /** then it is right for so many. */
  right: number
}

const settings = fc.array(
  fc.record<Setting>({
    error: fc.oneof(fc.constantFrom(-40, -2, -0.04, 1.9, 40), fc.integer({ min: -10, max: 10 })),
    wrong: fc.integer({ min: 1, max: 22 }),
    right: fc.integer({ min: 1, max: 40 }),
  }),
  { minLength: 2, maxLength: 5 },
)

t.test('Nothing is erased early because the clock was behind, or ahead and put right', async (t) => {
  const example = [{ error: -40, wrong: 3, right: 2 }]
  const property = fc.asyncProperty(settings, async (moves) => liveThrough(t, moves))
  await fc.assert(property, { numRuns: depth(6, 100), examples: [[example]] })
})

/** Writes and sweeps under a clock that is set so, and looks for what is to be there still. */
async function liveThrough(t: Test, moves: Setting[]): Promise<void> {
  const began = Date.now()
  const app = await buildApp(t, { KEEP_VERSIONS_DAYS: String(keptDays) }, { now: began })
  let trueTime = began
  let count = 0
  /** When each was written, by true time. */
  const written = new Map<string, number>()

  /** Runs for so long, and is used when that begins and when it ends. */
  async function run(error: number, hours: number): Promise<void> {
    await use(error)
    for (const end = trueTime + hours * hourMs; trueTime < end; trueTime += 5 * minuteMs) {
      app.setClock(trueTime + error)
      await app.context.clockGuard.isBelieved()
    }
    await use(error)
  }

  async function use(error: number): Promise<void> {
    app.setClock(trueTime + error)
    const revision = await write(app, ++count)
    written.set(`bookmark ${count}`, trueTime)
    if (revision > 0) written.set(`keyring ${revision}`, trueTime)
    await sweep(app)
    const kept = await listKept(app)
    // A clock that is ahead by less than what is noticed is believed.
    const mostMs = keptDays * dayMs - Math.max(0, error)
    for (const [one, at] of written) {
      if (kept.has(one)) continue
      if (trueTime - at < mostMs)
        throw new Error(
          `${one} is gone after ${(trueTime - at) / hourMs} h, while the clock is ${error / hourMs} h ahead`,
        )
      written.delete(one)
    }
  }

  for (const { error, wrong, right } of moves) {
    await run(error * dayMs, wrong)
    await run(0, right)
  }
  // In the end all of it goes.
  for (const end = trueTime + 60 * dayMs; trueTime < end; ) {
    trueTime += 1.9 * dayMs
    app.setClock(trueTime)
    await sweep(app)
  }
  const left = await listKept(app)
  if (left.size > 0) throw new Error(`${[...left]} are kept for ever`)
  await app.close()
}

async function sweep({ context }: TestApp): Promise<void> {
  const sweeps = startSweeps(context)
  await sweeps.first
  await sweeps.close()
}

/** Replaces a bookmark and the keyring. Returns the revision of the one before. */
async function write(app: TestApp, count: number): Promise<number> {
  const ada = await app.user('ada')
  const timestamp = app.context.clock()
  for (const later of [0, 1]) {
    const changes = [change({ entity_id: `${count}`, timestamp: timestamp + later })]
    await push(ada, ...changes)
  }
  const { revision = 0 } = (await ada.call('GET', '/api/v1/account/keyring')).body
  const body = { keyring: keyringOf(`${count}`), revision: revision + 1 }
  const { status } = await ada.call('PUT', '/api/v1/account/keyring', { body })
  if (status !== 200) throw new Error(`the keyring got ${status}`)
  return revision
}

async function listKept({ context: { database } }: TestApp): Promise<Set<string>> {
  const [versions, keyrings] = await Promise.all([
    database.db.selectFrom('versions').select('entity_id').execute(),
    database.db.selectFrom('keyring_versions').select('revision').execute(),
  ])
  return new Set([
    ...versions.map(({ entity_id }) => `bookmark ${entity_id}`),
    ...keyrings.map(({ revision }) => `keyring ${revision}`),
  ])
}
