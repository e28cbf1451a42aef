import type { Beside } from '../../db/beside.ts'
import { recount } from '../../db/recount.ts'

/** Mends the counters by which quotas and the number of bookmarks are known. */
export async function recountAll(database: Beside, unexpected: string[]): Promise<void> {
  if (unexpected.length > 0) throw new Error('Usage: npm run admin -- recount')
  let [users, mended] = [0, 0]
  for await (const found of recount(database)) {
    users += 1
    if (!found) continue
    mended += 1
    console.log(`${found.userId}  was ${describe(found.was)}  is ${describe(found.is)}`)
  }
  console.log(`recounted ${users} users, mended ${mended}`)
}

function describe(counters: object): string {
  return Object.entries(counters)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')
}
