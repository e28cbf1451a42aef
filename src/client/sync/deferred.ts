import { bytesToBase64 } from '../crypto/base64.ts'
import { sealedLength } from '../crypto/record.ts'
import { OfflineError } from '../errors.ts'
import { uuidv7 } from '../ids.ts'
import { sealList } from './edits/seal-list.ts'
import { exchange } from './exchange/exchange.ts'
import { markOf, takeKeys } from './exchange/key-marks.ts'
import { pullAll } from './exchange/pull.ts'
import type { Rotation } from './rotation/rotation.ts'
import type { RotationTools } from './rotation/tools.ts'

/** The second file of the sync: `start` loads it while the page already shows and edits the stored bookmarks. */
export { approveDeletions, rejectDeletions } from './edits/deletions.ts'
export { importList, restoreList } from './edits/import.ts'
export { exchange } from './exchange/exchange.ts'
export { lead } from './life/lead.ts'
export { Search } from './search/search.ts'

export const rotationTools: RotationTools = {
  bytesToBase64,
  sealedLength,
  uuidv7,
  sealList,
  exchange,
  markOf,
  pullAll,
  takeKeys,
}

/** @throws OfflineError the file did not arrive */
export async function loadRotation() {
  const { Rotation } = await import('./rotation/rotation.ts').catch((cause: unknown) => {
    throw new OfflineError(undefined, { cause })
  })
  return new Rotation(rotationTools)
}

export async function adoptKeys(...parameters: Parameters<Rotation['adoptKeys']>): Promise<void> {
  await (await loadRotation()).adoptKeys(...parameters)
}
