import { PlaintextBookmark as required } from '../../../../generated/required.ts'
import { requireForm } from '../../bookmark/form.ts'
import { differingFields, mergeBookmarks } from '../../bookmark/merge.ts'
import { isPosition, positionsBetween } from '../../bookmark/positions.ts'
import type { EntityType, PlaintextBookmark } from '../../bookmark.ts'
import { toJson } from '../../crypto/record.ts'
import { RecordError } from '../../errors.ts'
import { paced } from '../../timing/paced.ts'
import type { Engine } from '../engine.ts'
import { idOf, rowKey, typeOf } from '../store/key.ts'
import type { Draft } from '../store/replica.ts'
import { viewOf } from '../store/row.ts'
import type { Row } from '../store/store.ts'
import { applyEdit, type SealedEdit, sealAgain, sealOne, type Turn } from './edit.ts'

/** The options of `put` and `update`. */
export interface PutOptions {
  /**
   * The state that the edit was made on. If it takes a while, as in a form, pass the bookmark that was there when the form
   * opened, so that only the fields that differ from it are changed. Default: the bookmark as it is when the method is called.
   *
   * Passing the result of `Sync.seen` is deprecated: other devices' changes since then are overwritten, and such a device is
   * sure to get a `conflict` only if this one has not edited the bookmark after the change. Another tab's changes and deletes
   * before the call are overwritten without a report.
   */
  seen?: number | Readonly<PlaintextBookmark> | undefined
}

/** The state that an edit was made on. */
interface SeenState {
  bookmark: PlaintextBookmark | null
  /** The cursor up to which versions had been seen. Undefined if unknown: values that lose are then kept here as conflicts. */
  cursor: number | undefined
  /** True if the cursor is from before the call, so that `bookmark` may be newer. */
  isEarlier: boolean
}

/**
 * Encrypts before the store's transaction. Bookmarks that have changed by then are merged and encrypted again. Edits that
 * were requested earlier and have not been made at the call count as unseen.
 */
export async function putBookmarks(
  parts: Engine,
  turn: Turn,
  bookmarks: readonly PlaintextBookmark[],
  { seen }: PutOptions = {},
  type: EntityType = 'bookmark',
): Promise<void> {
  if (bookmarks.length === 0) return
  const keyFor = ({ id }: PlaintextBookmark) => rowKey(id, type)
  const seenStates = new Map(bookmarks.map((one) => [keyFor(one), seenStateOf(parts, keyFor(one), seen)]))
  const copies: PlaintextBookmark[] = []
  await paced(bookmarks, (bookmark) => {
    requireForm(bookmark)
    requireSource(bookmark, type)
    copies.push(JSON.parse(toJson(bookmark)))
  })
  await turn
  const place = placer(parts, type)
  const edits: SealedEdit[] = []
  await paced(copies, (copy) => edits.push(sealOne(parts.keys, place(copy), keyFor(copy))))
  await parts.replica.commit([...seenStates.keys()], 'local', (draft) =>
    paced(edits, (edit) => {
      const state = seenStates.get(edit.id) as SeenState
      putOne(parts, draft, edit, state)
      noteRequest(parts, edit.id, state.bookmark, edit.bookmark)
      seenStates.set(edit.id, { bookmark: edit.bookmark, cursor: draft.meta.cursor, isEarlier: false })
    }),
  )
}

/** Checks the `source` of tab groups and history, by which other clients know how to merge. Bookmarks may have any. */
export function requireSource({ id, source }: Partial<PlaintextBookmark>, type: EntityType): void {
  const expected = { bookmark: source, group: 'groups', history: 'history' }[type]
  if (source !== expected) throw new RecordError('malformed', `Record ${id}: its source must be ${expected}`)
}

function seenStateOf({ replica }: Engine, key: string, seen: PutOptions['seen']): SeenState {
  if (typeof seen === 'object' && seen.id === idOf(key)) return { bookmark: seen, cursor: undefined, isEarlier: false }
  const isEarlier = typeof seen === 'number'
  if (isEarlier && !(Number.isSafeInteger(seen) && seen >= 0)) {
    throw new RangeError(`seen is not a cursor: ${seen}`)
  }
  return { bookmark: viewOf(replica.rows.get(key)).bookmark, cursor: isEarlier ? seen : replica.meta.cursor, isEarlier }
}

/** Merges an edit with changes made since the state that it was made on, and reports values that are lost. */
export function putOne(parts: Engine, draft: Draft, edit: SealedEdit, state: SeenState): void {
  const row = draft.get(edit.id)
  const current = viewOf(row).bookmark
  if (!current) {
    const { cursor = draft.meta.cursor } = state
    applyEdit(draft, row, edit, parts, { cursor })
    const isReported = cursor < draft.meta.cursor && isOthers(parts, row)
    // The bookmark was deleted meanwhile, and the edit wins: the delete is a conflict.
    if (state.bookmark && !isReported)
      draft.addConflict(draft.get(row.id), { fields: [], mine: null, theirs: edit.bookmark })
    return
  }
  const { bookmark, lost } = mergeBookmarks(state.bookmark, current, edit.bookmark)
  applyOver(parts, draft, row, sealAgain(parts.keys, row.id, bookmark, edit), state, lost)
}

/**
 * Applies an edit that replaces unseen values in the fields `lost`. If another device's version has them, the service
 * informs that device; otherwise, those that this tab has not set (all if `cursor` is undefined) become a conflict here.
 */
function applyOver(
  parts: Engine,
  draft: Draft,
  row: Row,
  edit: SealedEdit,
  { cursor, isEarlier }: SeenState,
  lost: readonly string[],
): void {
  const now = draft.meta.cursor
  const overwrites = cursor !== undefined && cursor < now && (isEarlier || lost.length > 0)
  applyEdit(draft, row, edit, parts, { cursor: overwrites ? cursor : now, overwrites })
  const mine = viewOf(row).bookmark as PlaintextBookmark
  const own = cursor === undefined ? undefined : parts.replica.requested.get(row.id)
  const others = own ? differingFields(own, mine) : lost
  const fields = others.filter((name) => lost.includes(name))
  const isReportedThere = overwrites && isOthers(parts, row)
  if (fields.length > 0 && !isReportedThere)
    draft.addConflict(draft.get(row.id), { fields, mine, theirs: edit.bookmark })
}

/** True if the row shows another device's version. The service can inform that device that the version was overwritten unseen. */
function isOthers({ deviceId }: Engine, { waiting, version }: Row): boolean {
  return waiting.length === 0 && version?.device_id !== deviceId
}

/** The fields to change. A field that is undefined is removed; a required one then stays as it is. */
export type Patch = Partial<Pick<PlaintextBookmark, (typeof required)[number]>> & {
  [Name in Exclude<keyof PlaintextBookmark, (typeof required)[number]>]?: PlaintextBookmark[Name] | undefined
}

/** A patch, or a function that returns one for the bookmark as it is when the edit is made, or null to change nothing. */
export type Update = Patch | ((current: Readonly<PlaintextBookmark>) => Patch | null)

/**
 * @param ids the keys of the bookmarks' rows
 * @throws RangeError, RecordError see `Sync.update`; none was changed
 */
export async function updateBookmarks(
  parts: Engine,
  turn: Turn,
  ids: readonly string[],
  update: Update,
  { seen }: PutOptions = {},
): Promise<void> {
  if (ids.length === 0) return
  const { replica } = parts
  const seenStates = new Map(ids.map((id) => [id, seenStateOf(parts, id, seen)]))
  await turn
  const asked: Asked[] = []
  await replica.commit([...seenStates.keys()], 'local', async (draft) => {
    const place = placer(parts, typeOf(ids[0] as string))
    await paced(seenStates, ([key, state]) => asked.push(...updateOne(parts, draft, key, update, state, place)))
    for (const one of asked) noteRequest(parts, ...one)
  })
}

/** Returns what the app has asked for; nothing if its function returned null. */
function updateOne(parts: Engine, draft: Draft, key: string, update: Update, state: SeenState, place: Placer): Asked[] {
  const row = draft.get(key)
  const id = idOf(key)
  const current = viewOf(row).bookmark
  if (!current) throw new RangeError(`There is no bookmark ${id}`)
  // A copy, so that changes by the app do not alter `current`.
  const asks = typeof update === 'function' ? update(structuredClone(current)) : update
  if (!asks) return []
  // An app that is compiled without `exactOptionalPropertyTypes` may pass undefined for required fields.
  const patch = { ...asks, id }
  for (const name of required) if (patch[name] === undefined) delete patch[name]
  requireForm(patch as Partial<PlaintextBookmark>, true)
  const position = 'parentId' in patch ? undefined : current.position
  const patched = place({ ...current, position, ...patch } as PlaintextBookmark)
  if ('parentId' in patch) patch.position = patched.position
  requireSource(patched, typeOf(key))
  const edit = sealOne(parts.keys, patched, key)
  const base = typeof update === 'function' ? current : state.bookmark
  const asked = { ...(base ?? current), ...patch } as PlaintextBookmark
  const { lost } = mergeBookmarks(base, current, asked)
  applyOver(parts, draft, row, edit, state, lost)
  return [[key, base, asked]]
}

/** The bookmark that an edit was based on, and the requested one. */
type Asked = [key: string, base: PlaintextBookmark | null, asked: PlaintextBookmark]

/** Notes what the app requests in this tab, merged with earlier requests: `applyOver` does not report these values as lost. */
function noteRequest({ replica: { requested: all } }: Engine, ...[key, base, asked]: Asked): void {
  all.set(key, mergeBookmarks(base, all.get(key) ?? asked, asked).bookmark)
}

/** The last position in each folder; null if a bookmark there has none. The key `undefined` stands for the top level. */
type Ends = Map<string | undefined, string | null>

type Placer = (bookmark: PlaintextBookmark) => PlaintextBookmark

/**
 * Gives each bookmark without a position its present one if it stays in its folder, or else one at the folder's end. If the
 * folder has bookmarks without a position, which come last, the new one gets none either: `dateAdded` orders them.
 */
function placer({ replica, deviceId }: Engine, type: EntityType): Placer {
  const ends: Ends = new Map()
  const live = replica.lives[type]
  return (bookmark) => {
    // History entries have no positions: they are ordered by visits.
    if (bookmark.position !== undefined || type === 'history') return bookmark
    const before = live.get(bookmark.id)
    if (before && before.parentId === bookmark.parentId) return withPosition(bookmark, before.position)
    for (const { parentId, position = null } of ends.size > 0 ? [] : live.values()) {
      const end = ends.get(parentId)
      if (end === undefined || position === null || (end !== null && position > end)) ends.set(parentId, position)
    }
    const end = ends.get(bookmark.parentId)
    if (end !== undefined && !isPosition(end)) return bookmark
    const [position] = positionsBetween(end ?? null, null, 1, deviceId) as [string]
    ends.set(bookmark.parentId, position)
    return withPosition(bookmark, position)
  }
}

function withPosition(bookmark: PlaintextBookmark, position: string | undefined): PlaintextBookmark {
  const { position: _, ...rest } = bookmark
  return position === undefined ? rest : { ...rest, position }
}
