import type { EntityType, PlaintextBookmark } from '../../bookmark.ts'
import type { Keys } from '../../crypto/keys.ts'
import { recordSealer } from '../../crypto/many-records.ts'
import { type SealedRecord, toJson } from '../../crypto/record.ts'
import { RecordError } from '../../errors.ts'
import { nextTurn } from '../../timing/paced.ts'
import { rowKey } from '../store/key.ts'
import type { SealedEdit } from './edit.ts'

/** Records per step: enough to keep the platform's threads busy, for a few milliseconds of the page's time. */
const atOnce = 100

/**
 * Encrypts bookmarks like `sealAll`, but faster. For a bookmark that cannot be encrypted, the list has its error.
 *
 * @param onSealed called after each bookmark
 */
export async function sealList(
  keys: Keys,
  bookmarks: readonly PlaintextBookmark[],
  signal: AbortSignal | undefined,
  onSealed: () => void = () => {},
  type: EntityType = 'bookmark',
): Promise<(SealedEdit | RecordError)[]> {
  const seal = await recordSealer(keys, type)
  const edits: (SealedEdit | RecordError)[] = []
  for (let start = 0; start < bookmarks.length; start += atOnce) {
    const written = bookmarks.slice(start, start + atOnce).map((one) => [one.id, toJson(one)] as const)
    const records = await seal(written)
    for (const [index, [id, json]] of written.entries()) {
      const sealed = records[index] as SealedRecord | RecordError
      edits.push(
        sealed instanceof RecordError
          ? sealed
          : { id: rowKey(id, type), bookmark: JSON.parse(json) as PlaintextBookmark, sealed },
      )
      onSealed()
    }
    await nextTurn()
    signal?.throwIfAborted()
  }
  return edits
}
