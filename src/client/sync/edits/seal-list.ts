import type { PlaintextBookmark } from '../../bookmark.ts'
import { RecordError } from '../../errors.ts'
import type { Keys } from '../../keys.ts'
import { recordSealer } from '../../record/seal-aside.ts'
import { nextTurn } from '../../timing/paced.ts'
import { asRead, type SealedEdit } from './seal.ts'

/** As many keep the platform's threads busy, and take the page a few milliseconds. */
const atOnce = 100

/**
 * Seals bookmarks like `sealAll`, but faster. What cannot be sealed yields its error.
 *
 * @param onSealed called once for each
 */
export async function sealList(
  keys: Keys,
  bookmarks: readonly PlaintextBookmark[],
  signal: AbortSignal | undefined,
  onSealed: () => void,
): Promise<(SealedEdit | RecordError)[]> {
  const seal = await recordSealer(keys, 'bookmark')
  const sealOne = async (bookmark: PlaintextBookmark) => {
    const copy = asRead(bookmark)
    const sealed = await seal(copy).catch(recordErrorOf)
    onSealed()
    return sealed instanceof RecordError ? sealed : { id: copy.id, bookmark: copy, sealed }
  }
  const edits: (SealedEdit | RecordError)[] = []
  for (let start = 0; start < bookmarks.length; start += atOnce) {
    edits.push(...(await Promise.all(bookmarks.slice(start, start + atOnce).map(sealOne))))
    await nextTurn()
    signal?.throwIfAborted()
  }
  return edits
}

function recordErrorOf(error: unknown): RecordError {
  if (error instanceof RecordError) return error
  throw error
}
