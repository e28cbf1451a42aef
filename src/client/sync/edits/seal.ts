import { differingFields } from '../../bookmark/merge.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import type { Keys } from '../../crypto/keys.ts'
import { sealJson, toJson } from '../../crypto/record.ts'
import { paced } from '../../timing/paced.ts'
import type { Edit } from './edit.ts'

export type SealedEdit = Extract<Edit, { bookmark: PlaintextBookmark }>

/** Encrypts bookmarks without blocking the page. */
export async function sealAll(keys: Keys, bookmarks: readonly PlaintextBookmark[]): Promise<SealedEdit[]> {
  const edits: SealedEdit[] = []
  await paced(bookmarks, (bookmark) => edits.push(sealOne(keys, bookmark)))
  return edits
}

/**
 * The edit has a copy of the bookmark as the other devices will read it, which later changes to the app's own object do not
 * affect.
 *
 * @throws RecordError `invalid-id`, `too-large`
 */
export function sealOne(keys: Keys, bookmark: PlaintextBookmark): SealedEdit {
  const json = toJson(bookmark)
  const copy = JSON.parse(json) as PlaintextBookmark
  return { id: copy.id, bookmark: copy, sealed: sealJson(keys, copy.id, json) }
}

/** Like `sealOne`, but uses an earlier result if that is the same bookmark. */
export function sealAgain(keys: Keys, bookmark: PlaintextBookmark, earlier: SealedEdit | undefined): SealedEdit {
  const isSame = earlier && differingFields(earlier.bookmark, bookmark).length === 0
  return isSame ? earlier : sealOne(keys, bookmark)
}
