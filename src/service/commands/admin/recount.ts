import type { Beside } from '../../db/beside.ts'
import { withProgress } from '../../terminal/progress.ts'
import { recount } from '../../upkeep/recount.ts'

/** Mends the counters by which quotas and the number of bookmarks are known. */
export async function recountAll(database: Beside): Promise<void> {
  let [users, mended] = [0, 0]
  await withProgress(async (progress) => {
    for await (const found of recount(database)) {
      users += 1
      progress.report('recounting users', users)
      if (!found) continue
      mended += 1
      progress.print(`${found.userId}  was ${describe(found.was)}  is ${describe(found.is)}`)
    }
  })
  console.log(`recounted ${users} users, mended ${mended}`)
}

function describe(counters: object): string {
  return Object.entries(counters)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')
}
