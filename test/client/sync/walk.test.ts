/**
 * Three devices of one person, one of them with an earlier version of the client, whose clocks are up to 20 h off, edit, lose
 * answers, hear things twice, lose their channel and are killed; in the end all is the same everywhere, and nothing was lost
 * unnoticed.
 *
 * WALK_SEED and WALK_PATH, as a failure prints them, repeat a walk; WALK_SHRINK=1 looks for a shorter one.
 */
import fc from 'fast-check'
import t from 'tap'
import type { TreeNode } from '../../../src/client/bookmark/tree.ts'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import type { Keys } from '../../../src/client/crypto/keys.ts'
import { decryptBookmark } from '../../../src/client/crypto/record.ts'
import type { TestApp, TestUser } from '../../support/app.ts'
import { pullAll } from '../../support/changes.ts'
import { depth } from '../../support/depth.ts'
import { World } from './clock.ts'
import { Ledger } from './ledger.ts'
import { openPeople } from './person.ts'
import { settled } from './turns.ts'
import { markOf, VaultKeys } from './vault-keys.ts'
import { Walker } from './walker.ts'

const { WALK_SEED, WALK_PATH, WALK_SHRINK } = process.env
const hourMs = 3_600_000

interface Step {
  device: number
  kind: number
  one: number
  two: number
}

const numbers = { device: fc.nat(2), one: fc.nat(55), two: fc.nat(55) }
const skews = fc.tuple(...[0, 1, 2].map(() => fc.integer({ min: -20, max: 20 })))

for (const { name, kinds, numRuns } of [
  { name: 'Random walk', kinds: 100, numRuns: depth(15, 1000) },
  { name: 'Random walk on which keys are rotated', kinds: 112, numRuns: depth(6, 1000) },
]) {
  t.test(name, async (t) => {
    const { app } = await openPeople()
    let walks = 0
    const step = fc.record({ ...numbers, kind: fc.nat(kinds - 1) })
    const steps = fc.array(step, { minLength: 15, maxLength: 45 })
    const property = fc.asyncProperty(steps, skews, fc.nat(), async (steps, hours, luck) => {
      const user = await app.user(`walker ${kinds} ${walks++}`)
      await walk({ app, user, steps, hours, luck })
    })
    await fc.assert(property, {
      numRuns,
      endOnFailure: WALK_SHRINK === undefined,
      ...(WALK_SEED && { seed: Number(WALK_SEED) }),
      ...(WALK_PATH && { path: WALK_PATH }),
    })
    t.pass(`${walks} walks`)
  })
}

interface Walk {
  app: TestApp
  user: TestUser
  steps: Step[]
  hours: number[]
  luck: number
}

async function walk({ app, user, steps, hours, luck }: Walk): Promise<void> {
  const vault = new VaultKeys(user)
  const world = new World((time) => app.setClock(time))
  const ledger = new Ledger()
  const chance = chances(luck)
  const walkers = hours.map((hour, index) => {
    const clock = { world, skew: hour * hourMs }
    return new Walker({
      app,
      user,
      keys: vault.keys,
      ledger,
      ...clock,
      id: `device${index}`,
      isOlder: index === 2,
      chance,
    })
  })
  for (const walker of walkers) await walker.start()
  for (const one of steps) {
    await take(world, walkers, vault, one)
    await settled()
  }
  for (const walker of walkers) {
    await walker.checkMemory()
    walker.settle()
    await walker.sync.adoptKeys(vault.keys)
  }
  // The second time each hears of what the others had to send the first time.
  for (const { sync } of [...walkers, ...walkers]) {
    await sync.syncNow()
    await sync.approveDeletions(sync.status().heldDeletions?.count ?? 0)
  }
  // Edits that were sent under older keys before, and whose answers were lost, have arrived under those.
  for (const { sync } of walkers) await sync.adoptKeys(vault.keys)
  const final = await readService(user, vault.keys)
  for (const walker of walkers) checkDevice(walker, final, walkers[0] as Walker)
  const faults = ledger.faults(final)
  if (faults.length > 0) throw new Error(`lost or wrong: ${JSON.stringify(faults)}`)
  await Promise.all(walkers.map(({ sync }) => sync.stop()))
}

async function take(
  world: World,
  walkers: Walker[],
  vault: VaultKeys,
  { device, kind, one, two }: Step,
): Promise<void> {
  const walker = walkers[device] as Walker
  const parentId = two % 2 ? { parentId: 'abcdefgh'.charAt(two % 8) } : {}
  const url = one % 3 ? {} : { url: `https://example.org/${one}` }
  if (kind < 18) await walker.put(one, { ...parentId, ...url })
  else if (kind < 27) await walker.update(one, two)
  else if (kind < 35) await walker.move(one, two, one + two)
  else if (kind < 42) await walker.remove(one, two % 7 ? 1 : 8)
  else if (kind < 66) await walker.hear(1 + (one % 5))
  else if (kind < 70) walker.hearAgain()
  else if (kind < 80) await walker.release()
  else if (kind < 84) walker.syncNow()
  else if (kind < 95) await world.pass((1 + one) * 500)
  else if (kind < 97) walker.hangUp()
  else if (kind < 100) await walker.restart()
  else if (kind < 103) await walker.rotate(vault)
  else walker.unlock(vault)
}

/** A stream of numbers from 0 to below 1, the same for the same seed (mulberry32). */
function chances(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

async function readService(user: TestUser, keys: Keys): Promise<Map<string, PlaintextBookmark>> {
  const { changes } = await pullAll(user)
  const live = changes.filter(({ operation }) => operation !== 'delete')
  const isOld = ({ encrypted_data = '' }) => keys.older && !encrypted_data.startsWith(markOf(keys))
  if (live.some(isOld)) throw new Error(`under older keys: ${JSON.stringify(live.filter(isOld))}`)
  return new Map(
    live.map(({ entity_id: id, encrypted_data = '', data_hash = '' }) => {
      return [id, decryptBookmark(keys, { id, encrypted_data, data_hash })] as const
    }),
  )
}

function checkDevice({ sync, errors }: Walker, final: Map<string, PlaintextBookmark>, first: Walker): void {
  const fail = (what: string) => {
    throw new Error(
      `${what}: ${JSON.stringify({ status: sync.status(), here: [...sync.bookmarks()], final: [...final] })}`,
    )
  }
  if (sync.status().waiting > 0) fail('something still waits')
  if (errors.length > 0) fail(`errors: ${errors.map(({ error }) => error)}`)
  if (JSON.stringify(sorted(sync.bookmarks())) !== JSON.stringify(sorted(final))) fail('not the same bookmarks')
  if (JSON.stringify(shape(sync.tree())) !== JSON.stringify(shape(first.sync.tree()))) fail('not the same tree')
  if (count(sync.tree()) !== final.size) fail('a bookmark cannot be reached')
}

function sorted(bookmarks: ReadonlyMap<string, Readonly<PlaintextBookmark>>): unknown {
  const entries = [...bookmarks].map(
    ([id, bookmark]) => [id, Object.entries(bookmark).sort(byName)] as [string, unknown],
  )
  return entries.sort(byName)
}

function byName([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1
}

function shape(nodes: TreeNode[]): unknown {
  return nodes.map(({ bookmark, children }) => [bookmark.id, shape(children)])
}

function count(nodes: TreeNode[]): number {
  return nodes.reduce((sum, { children }) => sum + 1 + count(children), 0)
}
