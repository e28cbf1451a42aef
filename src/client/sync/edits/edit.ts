import { differingFields } from '../../bookmark/merge.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import type { Keys } from '../../crypto/keys.ts'
import { type SealedRecord, sealJson, toJson } from '../../crypto/record.ts'
import { uuidv7 } from '../../ids.ts'
import { paced } from '../../timing/paced.ts'
import type { Engine } from '../engine.ts'
import { idOf, typeOf } from '../store/key.ts'
import type { Draft } from '../store/replica.ts'
import { isUnknownYet, latestTimestamp, ownIds, releaseHeld, viewOf } from '../store/row.ts'
import { nextTick } from '../store/service-clock.ts'
import type { Row, Waiting } from '../store/store.ts'

/** Prefix of the event ids of new edits. The ids of changes by the service itself never begin with it: see `isMadeByCopy`. */
const madeHere = 'e'
/**
 * Prefix of event ids of deletes by which a device takes back its own additions. A device that has imported the same
 * bookmark itself brings it back after such a delete.
 */
const undoMark = `${madeHere}u`

export function isUndo(eventId: string): boolean {
  return eventId.startsWith(undoMark)
}

/** The new content of a record, or null to delete it. `id` is the key of its row. */
export type Edit = { id: string } & (
  | { bookmark: PlaintextBookmark; sealed: SealedRecord }
  | { bookmark: null; sealed: null }
)

/** The state that an edit was made on, and the origin of the edit. */
interface Basis {
  /** The cursor when the edit was made: later changes had not been seen. */
  cursor: number
  /** True if the edit overwrites another device's version, unseen when the edit was made: that device must be informed. */
  overwrites?: boolean | undefined
  /** True if no bookmark with this id was known when the edit was made. */
  isNew?: boolean | undefined
  /** For merges and undos: the edit's time is 1 ms after this or after the latest known version, so that later edits win. */
  above?: number | undefined
  /**
   * `import`: from a file or backup, and yields to other devices' versions. `restore`: from a backup, and does not yield,
   * because the user has asked for `overwrite`. `undo`: takes an addition back, without a delete if it was never sent.
   */
  source?: 'import' | 'restore' | 'undo' | undefined
}

/**
 * Puts the edited row into the draft, unless the edit changes nothing. The timestamp of a person's edit is from `nextTick`,
 * that of a merge or an undo from `above`.
 */
export function applyEdit(draft: Draft, row: Row, edit: Edit, author: Engine, basis: Basis): void {
  const { above } = basis
  const tick = above === undefined ? nextTick(author.clock, draft.meta) : above + 1
  const isAdded = isUnknownYet(row, draft.meta)
  const cursor = isAdded ? 0 : basis.cursor
  const isFirst = draft.meta.lastSync === 0 || isAdded
  const edited = editRow(row, edit, { ...author, ...basis, cursor, tick, isFirst })
  if (edited === row) return
  draft.set(edited)
  if (above === undefined) draft.setMeta({ lastTick: tick })
}

interface EditContext extends Pick<Engine, 'userId' | 'deviceId'>, Basis {
  tick: number
  /** True before the first pull, of the store or of a type added later: other devices may have the same bookmarks. */
  isFirst: boolean
}

/**
 * The row after an edit; the same row if the edit changes nothing.
 *
 * The change's timestamp is higher than the known ones of the bookmark, whatever the clocks say, unless it is an undo that
 * repeats an unsent delete. A pending change that was never sent is replaced, so a device's edits between two exchanges
 * become one. A change that was sent stays, before the new one, until the service has responded to it.
 */
function editRow(row: Row, edit: Edit, context: EditContext): Row {
  const view = viewOf(row)
  if (edit.sealed ? view.data_hash === edit.sealed.data_hash : view.bookmark === null) return row
  const released = edit.bookmark ? releaseHeld(row) : forgetImport(releaseHeld(row))
  const sent = row.waiting.filter((waiting) => waiting.sent)
  const takesBack = context.source === 'undo' && row.waiting.every(({ deletion }) => !deletion)
  const mayBeThere = !takesBack && (context.isFirst || row.waiting.some(({ imported }) => imported))
  const isUnknownThere = !mayBeThere && sent.length === 0 && !row.held && !row.version?.bookmark && !row.unreadable
  if (edit.bookmark === null && isUnknownThere) return { ...released, waiting: [] }
  // The user's own delete is sent on top of another device's held one, which a third device may still reject.
  return { ...released, waiting: [...sent, toWaiting(edit.bookmark ? row : released, edit, context)] }
}

function toWaiting(row: Row, edit: Edit, context: EditContext): Waiting {
  const { userId, deviceId, tick, cursor, source } = context
  const last = row.waiting.at(-1)
  const change = {
    id: `${source === 'undo' ? undoMark : madeHere}${uuidv7()}`,
    user_id: userId,
    entity_type: typeOf(edit.id),
    entity_id: idOf(edit.id),
    timestamp: Math.max(tick, latestTimestamp(row, last ? [last.change] : []) + 1),
    device_id: deviceId,
    base: baseOf(row, cursor),
    ...(source === 'undo' && last?.deletion),
  }
  // If there is a held delete, the edit overwrites it, and the device that deleted must be informed.
  const overwrites = context.overwrites || last?.overwrites || row.held
  const deleted = edit.bookmark === null && context.isFirst ? last?.bookmark : undefined
  const imported = source && edit.bookmark ? edit.bookmark : (last?.imported ?? deleted)
  const yields = source ? source === 'import' : last?.yields
  const origin = imported && { imported, ...(yields && { yields }) }
  const isUndelete = source && last && !last.bookmark && !last.sent
  const deletion = isUndelete ? { id: last.change.id, timestamp: last.change.timestamp } : last?.deletion
  const state = { sent: false, ...(overwrites && { overwrites: true }), ...origin, ...(deletion && { deletion }) }
  if (edit.bookmark === null) return { change: { ...change, operation: 'delete' }, bookmark: null, ...state }
  const there = row.waiting.findLast(({ sent }) => sent) ?? releaseHeld(row).version
  const isNew = context.isNew || (last?.overwrites && last.change.operation === 'create')
  const operation = isNew || !there?.bookmark ? 'create' : 'update'
  return { change: { ...change, operation, ...edit.sealed }, bookmark: edit.bookmark, ...state }
}

/** The cursor up to which the user had seen the bookmark: a pending change, held delete or unreadable version limits it. */
function baseOf({ waiting, held, unreadable }: Row, cursor: number): number {
  return Math.min(cursor, waiting.at(-1)?.change.base ?? cursor, held?.base ?? cursor, unreadable?.base ?? cursor)
}

/** Resolves once the edits requested earlier have ended; false if this one does not wait for them. */
export type Turn = Promise<unknown> | false

/** The options of `remove`. */
export interface RemoveOptions {
  /** True to take additions back: bookmarks last edited by another device stay, and those never sent need no delete. */
  takesBack?: boolean | undefined
}

export async function removeBookmarks(
  parts: Engine,
  turn: Turn,
  ids: readonly string[],
  { takesBack = false }: RemoveOptions = {},
): Promise<void> {
  const edits = ids.map((id) => ({ id, bookmark: null, sealed: null }))
  const { cursor } = parts.replica.meta
  await turn
  if (takesBack) return takeBack(parts, edits, cursor)
  await queueEdits(parts, edits, cursor)
}

/** The deletes get timestamps just above the known versions', so that other devices' later edits win. */
async function takeBack(parts: Engine, edits: readonly Edit[], cursor: number): Promise<void> {
  const own = ownIds(parts.replica.meta, parts.deviceId)
  const ids = edits.map(({ id }) => id)
  await parts.replica.commit(ids, 'local', (draft) =>
    paced(edits, (edit) => {
      const row = draft.get(edit.id)
      const isOwn = row.waiting.length > 0 || own.has(row.version?.device_id ?? '')
      if (isOwn) applyEdit(draft, row, edit, parts, { cursor, source: 'undo', above: 0 })
      else draft.set(forgetImport(row))
    }),
  )
}

function forgetImport(row: Row): Row {
  return row.importedAt === undefined ? row : { ...row, importedAt: undefined }
}

/**
 * Queues edits, all or none; resolves once they would survive a reload. `accepts` may leave some out, judging by the
 * existing row.
 *
 * @param cursor the cursor when the edits were made: later changes had not been seen
 * @throws StorageFullError none were queued
 */
export async function queueEdits(
  parts: Engine,
  edits: readonly Edit[],
  cursor: number,
  accepts: (row: Row, edit: Edit) => boolean = () => true,
  sourceOf: (edit: Edit) => Basis['source'] = () => undefined,
): Promise<void> {
  if (edits.length === 0) return
  const ids = edits.map(({ id }) => id)
  await parts.replica.commit(ids, 'local', (draft) =>
    paced(edits, (edit) => {
      const row = draft.get(edit.id)
      if (accepts(row, edit)) applyEdit(draft, row, edit, parts, { cursor, source: sourceOf(edit) })
    }),
  )
}

export type SealedEdit = Extract<Edit, { bookmark: PlaintextBookmark }>

/** Encrypts records, given with the keys of their rows, without blocking the page. */
export async function sealAll(
  keys: Keys,
  records: readonly (readonly [key: string, bookmark: PlaintextBookmark])[],
): Promise<SealedEdit[]> {
  const edits: SealedEdit[] = []
  await paced(records, ([key, bookmark]) => edits.push(sealOne(keys, bookmark, key)))
  return edits
}

/**
 * Encrypts one bookmark. The edit has a copy as other devices will read it, so later changes to the app's object do not
 * affect it.
 *
 * @throws RecordError `invalid-id`, `too-large`
 */
export function sealOne(keys: Keys, bookmark: PlaintextBookmark, key = bookmark.id): SealedEdit {
  const json = toJson(bookmark)
  const copy = JSON.parse(json) as PlaintextBookmark
  return { id: key, bookmark: copy, sealed: sealJson(keys, copy.id, json, typeOf(key)) }
}

/** Like `sealOne`, but uses an earlier result if that is the same bookmark. */
export function sealAgain(
  keys: Keys,
  key: string,
  bookmark: PlaintextBookmark,
  earlier: SealedEdit | undefined,
): SealedEdit {
  const isSame = earlier && differingFields(earlier.bookmark, bookmark).length === 0
  return isSame ? earlier : sealOne(keys, bookmark, key)
}
