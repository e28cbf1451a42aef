/**
 * Two browsers, a Chrome and a Firefox, in which people edit at once. The browsers are closed and crash, workers die, and the
 * extension is off at times: see walk.ts. SEED=<number> repeats one walk and prints its operations.
 */
import { depth } from '../support/depth.ts'
import { walk } from './walk.ts'

const { SEED } = process.env
const operations = 300
const first = Number(SEED ?? 1)
const count = SEED === undefined ? depth(6, 500) : 1
const failed: { SEED: number; failures: string[] }[] = []
for (let seed = first; seed < first + count && failed.length < 3; seed++) {
  const failures = await walk(seed, operations, SEED === undefined ? undefined : (text) => console.error(text))
  if (failures.length > 0) failed.push({ SEED: seed, failures })
}

// Loaded only now, because tap tracks every promise from then on, which takes longer than the walks themselves.
const { default: t } = await import('tap')
t.same(failed, [], `both end up the same, with nothing lost and nothing doubled: ${count} walks from SEED=${first}`)
