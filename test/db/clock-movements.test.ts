/** The service runs with a wrong clock for some hours: data is erased early only by as much as a believed clock is ahead. */
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
  /** Days that the clock is ahead of the true time. Negative if it is behind. */
  error: number
  /** Hours for which the clock has this error. If it is over two days, the service does not believe the clock. */
  wrong: number
  /** Hours for which the clock is right after that. */
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

t.test('Nothing is erased early after the clock was behind, or ahead and then corrected', async (t) => {
  const example = [{ error: -40, wrong: 3, right: 2 }]
  const property = fc.asyncProperty(settings, async (moves) => liveThrough(t, moves))
  await fc.assert(property, { numRuns: depth(3, 100), examples: [[example]] })
})

/** Writes and sweeps while the clock is set to each setting in turn, and checks that nothing was erased early. */
async function liveThrough(t: Test, moves: Setting[]): Promise<void> {
  const began = Date.now()
  const app = await buildApp(t, { KEEP_VERSIONS_DAYS: String(keptDays) }, { now: began })
  let trueTime = began
  let count = 0
  /** The true time of writing, by version. */
  const written = new Map<string, number>()

  /** Keeps the service running for these hours, with a write and a sweep at the beginning and at the end. */
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
    // The guard believes a clock that is only a little ahead, so rows may be erased that much earlier.
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
  // After 60 more days under a right clock, everything must be erased.
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

/** Replaces a bookmark and the keyring. Returns the revision of the keyring before this one. */
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
