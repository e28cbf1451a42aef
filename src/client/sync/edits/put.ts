import { differingFields, mergeBookmarks } from '../../bookmark/merge.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import { paced } from '../../timing/paced.ts'
import type { Draft } from '../store/draft.ts'
import { viewOf } from '../store/row.ts'
import type { Row } from '../store/store.ts'
import { applyEdit } from './edit.ts'
import { withPlaces } from './place.ts'
import type { EditParts } from './queue.ts'
import { type SealedEdit, sealAgain, sealAll } from './seal.ts'

/** What an edit was made on. */
export interface PutOptions {
  /**
   * What the edit was made on. If it takes a while, as in a form, pass what was there when the form opened: either the
   * bookmark, so that only the fields that differ from it are changed, or the result of `seen`. Default: the bookmark as
   * it is when the method is called.
   */
  seen?: number | Readonly<PlaintextBookmark> | undefined
}

/** What the maker of an edit had before them. */
export interface Sight {
  bookmark: PlaintextBookmark | null
  /** Later versions had not been seen. Undefined: not known, so versions that lose are kept here as conflicts. */
  cursor: number | undefined
  /** Whether that was earlier than the call, so that the bookmark itself may be later. */
  isEarlier: boolean
}

export function sightOf({ replica }: EditParts, id: string, seen: PutOptions['seen']): Sight {
  if (typeof seen === 'object' && seen.id === id) return { bookmark: seen, cursor: undefined, isEarlier: false }
  const isEarlier = typeof seen === 'number'
  if (isEarlier && !(Number.isSafeInteger(seen) && seen >= 0)) {
    throw new RangeError(`seen must be a bookmark or what seen() returned, not ${seen}`)
  }
  return { bookmark: replica.live.get(id) ?? null, cursor: isEarlier ? seen : replica.meta.cursor, isEarlier }
}

/** Bookmarks are sealed before it is their turn; those that have changed by then are merged and sealed again. */
export async function putBookmarks(
  parts: EditParts,
  bookmarks: readonly PlaintextBookmark[],
  { seen }: PutOptions = {},
): Promise<void> {
  if (bookmarks.length === 0) return
  const sights = new Map(bookmarks.map(({ id }) => [id, sightOf(parts, id, seen)]))
  const edits = await sealAll(parts.keys, withPlaces(parts.replica, bookmarks))
  await parts.replica.commit([...sights.keys()], 'local', (draft) =>
    paced(edits, (edit) => {
      putOne(parts, draft, edit, sights.get(edit.id) as Sight)
      parts.replica.asked.set(edit.id, edit.bookmark)
      sights.set(edit.id, { bookmark: edit.bookmark, cursor: draft.meta.cursor, isEarlier: false })
    }),
  )
}

function putOne(parts: EditParts, draft: Draft, edit: SealedEdit, sight: Sight): void {
  const row = draft.get(edit.id)
  const current = viewOf(row).bookmark
  if (!current) {
    applyEdit(draft, row, edit, parts, { cursor: sight.cursor ?? draft.meta.cursor })
    return
  }
  const { bookmark, lost } = mergeBookmarks(sight.bookmark, current, edit.bookmark)
  applyOver(parts, draft, row, sealAgain(parts.keys, bookmark, edit), sight, lost)
}

/**
 * Applies an edit that replaces what its maker had not seen in the fields `lost`, and tells whoever made that: another
 * device by way of the service, another tab by a conflict that is kept here. What this tab has asked for, its user knows.
 */
export function applyOver(
  parts: EditParts,
  draft: Draft,
  row: Row,
  edit: SealedEdit,
  { cursor, isEarlier }: Sight,
  lost: readonly string[],
): void {
  const now = draft.meta.cursor
  const overwrites = cursor !== undefined && cursor < now && (isEarlier || lost.length > 0)
  applyEdit(draft, row, edit, parts, { cursor: overwrites ? cursor : now, overwrites })
  const mine = viewOf(row).bookmark as PlaintextBookmark
  const own = cursor === undefined ? undefined : parts.replica.asked.get(row.id)
  const others = own ? differingFields(own, mine) : lost
  const fields = others.filter((name) => lost.includes(name))
  const isToldThere = overwrites && row.waiting.length === 0 && row.version?.device_id !== parts.deviceId
  if (fields.length > 0 && !isToldThere) draft.lose(draft.get(row.id), { fields, mine, theirs: edit.bookmark })
}
