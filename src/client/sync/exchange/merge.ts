import { compareVersions, isSameContent } from '../../../protocol/order.ts'
import { isEqual } from '../../bookmark/equal.ts'
import { differingFields, mergeBookmarks, withFieldsOf } from '../../bookmark/merge.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import { isDerivedId } from '../../crypto/derived-id.ts'
import { isUndo } from '../edits/edit.ts'
import { fieldsLost } from '../store/conflicts.ts'
import type { Conflict } from '../store/emitter.ts'
import { idOf, typeOf } from '../store/key.ts'
import { newestOf, versionOf, viewOf } from '../store/row.ts'
import type { Row, Version, Waiting } from '../store/store.ts'

/** The circumstances of an event, that is, of a change as the service sends it, in addition to its version. */
export interface Circumstances {
  /** This store's current device id. `ownIds` also has its earlier ones, under which a copy of the store may make edits. */
  deviceId: string
  ownIds: ReadonlySet<string>
  /** The cursor before the event arrived. */
  base: number
  /** The cursor once the event is applied. */
  cursor: number
  /** Set if the event's device had not seen this version, which was made here. */
  overwrites(mine: Version): Unseen | false
  /** True if the event was certainly made on top of this version. */
  descendsFrom(version: Version): boolean
}

/** How a version of this device was overwritten by a device that had not seen it. */
export interface Unseen {
  /** False if that device may have seen the version: after a recovery, the service no longer knows whether it had. */
  isCertain?: boolean
  /** True if that device had also not seen the values that the version had replaced: they are then lost, too. */
  made_on_unseen?: boolean
}

/** The edit that a merge results in, with the changes of both sides. */
export interface MergedEdit {
  /** Null for a delete. */
  bookmark: PlaintextBookmark | null
  basis: { cursor: number; overwrites: boolean; isNew: boolean; above: number; source?: 'import' }
  /** The conflicts if the merged bookmark is too large to be stored. */
  orLost?: readonly Lost[]
}

export type Merged =
  /** The version is known already. */
  | { kind: 'known' }
  /** The version is older than `than`, which the service had sent or accepted before. */
  | { kind: 'older'; than: Version }
  | { kind: 'taken'; row: Row; lost?: readonly Lost[]; edit?: MergedEdit | undefined }

/** `theirs` is set if it differs from the version that the service sent. */
type Lost = Pick<Conflict, 'fields' | 'mine'> & Partial<Pick<Conflict, 'theirs'>>

/**
 * Merges a version from the service into the row. Pending edits are merged with it. `lost` are the new conflicts; `edit`
 * must be made on top if the result differs from the version.
 */
export function mergeVersion(row: Row, version: Version, circumstances: Circumstances): Merged {
  const [first] = row.waiting
  if (first && compareVersions(version, versionOf(first)) === 0) {
    return { kind: 'taken', row: settleFirst(row, { ...version, bookmark: first.bookmark }) }
  }
  const known = newestOf(row)
  const order = known ? compareVersions(version, known) : 1
  if (known && order < 0) return { kind: 'older', than: known }
  if (known && order === 0) {
    const seen = withSeen(row, circumstances.cursor)
    if (known.confirmed && seen === row) return { kind: 'known' }
    return { kind: 'taken', row: confirmed(seen, version) }
  }

  if (isReencrypted(row.version, version)) {
    const unreadable = unreadableAfter(row, version)
    const { changed, before, editedOn, yields, madeOnForgotten } = row.version ?? {}
    const edits = { changed, before, editedOn, yields, madeOnForgotten }
    const reencrypted = { ...row, version: { ...version, ...edits }, unreadable }
    return { kind: 'taken', row: withSeen(reencrypted, circumstances.cursor) }
  }
  const named = withOwnFields(row, version, circumstances)
  if (isIgnoredDelete(row, version)) return keepImported(named, version, circumstances)
  const last = row.waiting.at(-1)
  if (last) return mergePending(named, last, version, circumstances)
  return { kind: 'taken', row: taking(named, version, circumstances), lost: overwrittenBy(version, row, circumstances) }
}

/** True for a delete that an import here overrules: the delete is earlier, or only takes back another device's import. */
function isIgnoredDelete(row: Row, version: Version): boolean {
  const last = row.waiting.at(-1)
  const importedAt = importTimeOf(row)
  if (version.bookmark || !viewOf(row).bookmark || importedAt === undefined) return false
  if (isUndo(version.event_id)) return true
  const isLater = last && compareVersions(versionOf(last), version) > 0
  return !isLater && importedAt > version.timestamp
}

/** When this device imported the bookmark, if that import is pending or noted in `importedAt`; otherwise undefined. */
function importTimeOf({ importedAt, waiting }: Row): number | undefined {
  const last = waiting.at(-1)
  return last?.imported && last.bookmark ? Math.max(last.change.timestamp, importedAt ?? 0) : importedAt
}

/**
 * Keeps an imported bookmark although another device deleted it. That device is informed, unless it has only taken back
 * its own import.
 */
function keepImported(row: Row, version: Version, circumstances: Circumstances): Merged {
  const last = row.waiting.at(-1)
  const isEdited = last && !isEqual(last.bookmark, last.imported)
  const overwrites = !isUndo(version.event_id)
  const basis = {
    cursor: overwrites ? circumstances.base : circumstances.cursor,
    overwrites,
    isNew: false,
    above: (importTimeOf(row) ?? 0) - 1,
    ...(!isEdited && { source: 'import' as const }),
  }
  const { bookmark } = viewOf(row)
  const gone = { ...row, version, waiting: [], held: null, unreadable: unreadableAfter(row, version) }
  return { kind: 'taken', row: gone, edit: { bookmark, basis } }
}

function mergePending(row: Row, last: Waiting, version: Version, circumstances: Circumstances): Merged {
  const mine = versionOf(last)
  const isLater = compareVersions(mine, version) > 0
  // The last edit contains those before it.
  const kept = { ...row, version, waiting: [last], held: null, unreadable: unreadableAfter(row, version) }
  // True if this store made the version and has lost it since. The service does not inform a device that overwrites a
  // version of its own.
  const isOwn = version.device_id === circumstances.deviceId
  // True if this store or a copy of it made the version: what the version loses is then reported here.
  const isReportedHere = circumstances.ownIds.has(version.device_id)
  // The version counts as older than the delete, unless the id is derived from a file, which others may import at any time.
  const isBefore = isLater || !isDerivedId(idOf(row.id))
  if (
    !mine.bookmark &&
    version.bookmark &&
    isBefore &&
    last.imported &&
    isSameInFolder(last.imported, version.bookmark)
  ) {
    if (isLater) return { kind: 'taken', row: withSeen(kept, circumstances.cursor) }
    const basis = { cursor: circumstances.cursor, overwrites: false, isNew: false, above: mine.timestamp }
    return { kind: 'taken', row: taking(row, version, circumstances), edit: { bookmark: null, basis } }
  }
  const isImport = last.yields && !row.version?.bookmark
  const isUnedited = isImport && isEqual(mine.bookmark, last.imported)
  // Another device deleted the bookmark after it was imported here, and nobody has edited it since.
  if (isUnedited && !version.bookmark && !isLater) return { kind: 'taken', row: taking(row, version, circumstances) }
  if (!mine.bookmark || !version.bookmark) {
    const [loser, winner] = isLater ? [version.bookmark, mine.bookmark] : [mine.bookmark, version.bookmark]
    const after = isOwn ? kept : asOverwriting(kept)
    const isLost = (isReportedHere || !isLater) && !isSameContent(mine, version)
    const lost = isLost ? [{ fields: [], mine: loser, theirs: winner }] : []
    return { kind: 'taken', row: isLater ? after : taking(row, version, circumstances), lost }
  }
  const { bookmark, ours, theirs } = mergeEdits(row, version, version.bookmark, circumstances)
  const lost: Lost[] = []
  const isUnseen = !isImport && !isOwn && isMadeOnUnseen(row, circumstances)
  const fields = isUnseen ? fieldsLost(mine.bookmark, bookmark) : ours
  if (fields.length > 0) lost.push({ fields, mine: mine.bookmark })
  if (theirs.length > 0 && isReportedHere) lost.push({ fields: theirs, mine: version.bookmark, theirs: mine.bookmark })
  const overwrites = last.overwrites === true || (theirs.length > 0 && !isOwn)
  const isNew = overwrites && !isImport && row.waiting[0]?.change.operation === 'create'
  // If this device had seen no version, its edit must be a create (see the contract's `made_on_unseen`), unless it was sent.
  const hasRightOperation = !isNew || last.sent || last.change.operation === 'create'
  if (isLater && !isImport && (overwrites || isOwn) && hasRightOperation && isSame(bookmark, mine.bookmark)) {
    return { kind: 'taken', row: overwrites ? asOverwriting(kept) : kept, lost }
  }
  const cursor = overwrites ? last.change.base : circumstances.cursor
  const isWhole = isUnseen || (row.version && unseenOf(row.version, circumstances))
  const whole = wholeConflict(isWhole ? { ...row, version: null } : row, version)
  return {
    kind: 'taken',
    row: taking(row, version, circumstances),
    lost,
    edit: isSame(bookmark, version.bookmark)
      ? undefined
      : { bookmark, basis: { cursor, overwrites, isNew, above: mine.timestamp }, orLost: [whole] },
  }
}

/**
 * Merges this device's edits, one by one, with another version, so that each field counts with the time of the edit that
 * set it. `ours` and `theirs` are the fields that each side loses.
 */
function mergeEdits(row: Row, version: Version, content: PlaintextBookmark, circumstances: Circumstances) {
  const { version: known, waiting } = row
  const [ours, theirs]: [string[], string[]] = [[], []]
  const last = waiting.at(-1)
  const imported = !known?.bookmark && last?.yields ? last.imported : undefined
  // The other version is an import, too, whose values were not set deliberately. If they were edited on the other device
  // before they were sent, that device reports what it loses.
  const isOnlyImported = imported && version.operation === 'create' && isDerivedId(idOf(row.id))
  let bookmark = content
  const merge = (before: PlaintextBookmark | null, edited: PlaintextBookmark, isLater: boolean) => {
    const [base, mine] = imported && before ? withPlaceOf(bookmark, before, edited) : [before, edited]
    const merged = isLater ? mergeBookmarks(base, bookmark, mine) : mergeBookmarks(base, mine, bookmark)
    bookmark = merged.bookmark
    const losing = isLater ? theirs : ours
    losing.push(...merged.lost)
  }
  let base = imported ?? known?.bookmark ?? null
  if (known?.bookmark && !isMadeOnAll(row, content, known, circumstances)) {
    merge(beforeEdits(known, version, circumstances), known.bookmark, false)
  }
  for (const one of waiting) {
    if (one.bookmark) merge(base, one.bookmark, isOnlyImported || compareVersions(versionOf(one), version) > 0)
    base = one.bookmark ?? imported ?? null
  }
  const lostBy = (names: string[], loser: PlaintextBookmark | null) => {
    const differing = differingFields(bookmark, loser ?? {})
    return [...new Set(names)].filter((name) => differing.includes(name))
  }
  return { bookmark, ours: lostBy(ours, base), theirs: lostBy(theirs, content) }
}

/** True if an edit made here replaced another device's change that the winner had not seen either. Only this device reports it. */
function isMadeOnUnseen({ version, waiting }: Row, circumstances: Circumstances): boolean {
  const all = [...waiting.map(versionOf), ...(version ? [version] : [])]
  return !version?.yields && all.some((one) => unseenOf(one, circumstances)?.made_on_unseen)
}

/** Set if the version was made here and replaced by a device that had not seen it. */
function unseenOf(mine: Version, { ownIds, overwrites }: Circumstances): Unseen | undefined {
  const named = (ownIds.has(mine.device_id) && overwrites(mine)) || undefined
  const unseen = named && mine.madeOnForgotten ? { ...named, made_on_unseen: true } : named
  // An import's values were not set deliberately, and the changes since then are known.
  return unseen && mine.yields ? { ...unseen, made_on_unseen: false } : unseen
}

/** Both versions, at the place that counts in a merge: an import that adds a bookmark to a folder has not moved it there. */
function withPlaceOf(there: PlaintextBookmark, before: PlaintextBookmark, edited: PlaintextBookmark) {
  const place = (one: PlaintextBookmark) => withFieldsOf(there, ['parentId'], one)
  const isMoved = differingFields(before, edited).includes('parentId')
  if (!isMoved) return [place(before), place(edited)] as const
  return [before.parentId === there.parentId ? place(before) : before, edited] as const
}

/**
 * True if the other version was certainly made on top of the known one, or re-encrypts a pending edit that the service has
 * accepted without this device knowing. Only equal content proves the latter, because a client can choose any event id.
 */
function isMadeOnAll(
  { waiting: [first] }: Row,
  content: PlaintextBookmark,
  known: Version,
  { descendsFrom }: Circumstances,
) {
  return (first?.bookmark && isSame(first.bookmark, content)) || descendsFrom(known)
}

/**
 * The known version without the edits made here, which the other device may not have seen. Null if one of these created
 * the bookmark, or if the other device did: then that device has set all fields.
 */
function beforeEdits(known: Version, { operation }: Version, { ownIds, overwrites }: Circumstances) {
  const { device_id, bookmark, changed, before = {} } = known
  if (!bookmark || !ownIds.has(device_id)) return bookmark
  if (operation === 'create') return null
  if (changed) return withFieldsOf(before, changed, bookmark)
  const unseen = overwrites(known)
  // A device that updates a bookmark created here has seen it, unless the service is certain that it had not. A recovered
  // service seldom is (`namesEarlier`).
  const isSeen = known.operation === 'create' && (!unseen || unseen.isCertain === false)
  return isSeen ? bookmark : null
}

/**
 * The row with the version instead of all pending edits. A delete of a visible bookmark is held, that is, not applied
 * until all deletes of the pull are counted: if there are many, the user must approve. Other types need no approval.
 */
function taking(row: Row, version: Version, { base }: Circumstances): Row {
  const importedAt = version.bookmark ? importTimeOf(row) : undefined
  const without = { ...row, waiting: [], unreadable: unreadableAfter(row, version), importedAt, editedLost: undefined }
  const isHeld = version.bookmark === null && typeOf(row.id) === 'bookmark' && viewOf(without).bookmark !== null
  return isHeld ? { ...without, held: { ...version, base } } : { ...without, version, held: null }
}

/** Marks pending edits as overwriting another device's version, about which the service then informs that device. */
export function asOverwriting(row: Row): Row {
  return { ...row, waiting: row.waiting.map((one) => ({ ...one, overwrites: true })) }
}

/**
 * The values that an accepted edit of this device lost to a device that had not seen it: those of the fields that the edit
 * changed (all if it created the bookmark), or all that differ if that device had also not seen an earlier edit.
 */
function overwrittenBy(theirs: Version, { version: mine }: Row, circumstances: Circumstances): Lost[] {
  if (!mine || theirs.device_id === circumstances.deviceId) return []
  const unseen = unseenOf(mine, circumstances)
  if (!unseen || isSameContent(mine, theirs)) return []
  if (!mine.bookmark || !theirs.bookmark) return [{ fields: [], mine: mine.bookmark }]
  const { bookmark, lost } = mergeBookmarks(beforeEdits(mine, theirs, circumstances), mine.bookmark, theirs.bookmark)
  const all = fieldsLost(mine.bookmark, theirs.bookmark)
  const missing = differingFields(bookmark, theirs.bookmark)
  const fields = unseen.made_on_unseen ? all : all.filter((name) => lost.includes(name) || missing.includes(name))
  return fields.length > 0 ? [{ fields, mine: mine.bookmark }] : []
}

/** The row with `ownFields`: the fields that edits made here set, and whose values the new version has kept. */
function withOwnFields(row: Row, { bookmark }: Version, { ownIds }: Circumstances): Row {
  const { device_id = '', changed = [], bookmark: known } = row.version ?? {}
  const own = [...(row.ownFields ?? []), ...(ownIds.has(device_id) ? changed : [])]
  if (own.length === 0) return row
  const differing = differingFields(known ?? {}, bookmark ?? {})
  return { ...row, ownFields: [...new Set(own)].filter((name) => !differing.includes(name)) }
}

function isSame(one: PlaintextBookmark, other: PlaintextBookmark): boolean {
  return differingFields(one, other).length === 0
}

/** Ignores positions, which may differ between imports of the same folder. */
function isSameInFolder(one: PlaintextBookmark, other: PlaintextBookmark): boolean {
  return one.parentId === other.parentId && isSame(withFieldsOf(other, ['parentId'], one), other)
}

/** True if the version was only re-encrypted. */
function isReencrypted(known: Version | null, version: Version): boolean {
  const isSameEdit = known?.timestamp === version.timestamp && known.device_id === version.device_id
  return isSameEdit && !!known.bookmark && !!version.bookmark && isSame(known.bookmark, version.bookmark)
}

/** The conflict for a pending edit that loses completely. */
export function wholeConflict(row: Row, { bookmark: theirs }: Pick<Version, 'bookmark'>): Omit<Conflict, 'id'> {
  const mine = viewOf(row).bookmark
  return { fields: fieldsLost(mine, theirs, row.version?.bookmark), mine, theirs }
}

/** Notes a version without readable content. The previous content stays, and later edits get a higher timestamp. */
export function mergeUnreadable(row: Row, { event_id, timestamp }: Version, base: number, key?: string): Row {
  return { ...row, unreadable: { event_id, timestamp, base, ...(key && { key }) } }
}

/** The row's note of an unreadable version; null if the version that is now taken is at least as new. */
export function unreadableAfter({ unreadable }: Row, { timestamp }: Version): Row['unreadable'] {
  return unreadable && unreadable.timestamp > timestamp ? unreadable : null
}

/** Removes the first pending change, which the service has stored as this version. */
export function settleFirst(row: Row, version: Version): Row {
  const [first, ...waiting] = row.waiting
  const known = newestOf(row)
  if (known && compareVersions(known, version) > 0) return { ...row, waiting }
  const { version: before } = row
  // `changed` accumulates over edits made here: a device that overwrites this version may have seen none of those since
  // another device's last version. If the record was deleted before, all fields count as changed, except for an import's
  // values, which were not set deliberately.
  const made =
    first?.yields && first.imported && !before?.bookmark
      ? { bookmark: first.imported, yields: true }
      : (before ?? row.editedLost)
  const edits = made && version.bookmark ? withChanges(made, version.bookmark, version.device_id) : {}
  // As the service does. A recovery may need the list before the version is pulled.
  const overwritten = version.overwritten ?? before?.overwritten
  const isUnlisted = version.isUnlisted || (!version.confirmed && before?.isUnlisted)
  return {
    ...row,
    version: { ...version, overwritten, isUnlisted, ...edits },
    waiting,
    held: null,
    unreadable: unreadableAfter(row, version),
    editedLost: undefined,
  }
}

function withChanges(made: Partial<Version>, next: PlaintextBookmark, device_id: string) {
  const { bookmark, changed = [], before = {}, yields } = made
  const was: Partial<PlaintextBookmark> = bookmark ?? {}
  const others = differingFields(was, next).filter((name) => !changed.includes(name))
  const changes = { changed: [...changed, ...others], before: withFieldsOf(was, others, before) }
  // This device made the update, but has lost its store since, and with it which fields the update changed.
  const isForgotten = made.device_id === device_id && made.operation === 'update' && !made.changed
  const madeOnForgotten = made.madeOnForgotten || isForgotten
  const editedOn = made.device_id === device_id ? made.editedOn : identityOf(made)
  const traits = { ...(yields && { yields }), ...(madeOnForgotten && { madeOnForgotten }) }
  return { ...changes, ...(editedOn && { editedOn }), ...traits }
}

function identityOf({ event_id, timestamp, device_id, operation, data_hash, bookmark }: Partial<Version>) {
  if (!bookmark || !event_id || !timestamp || !device_id || !operation || !data_hash) return undefined
  return { event_id, timestamp, device_id, operation, data_hash }
}

/** Raises the `base` of pending edits: they were made on this version, even if a recovery gave it a new sequence number. */
function withSeen(row: Row, cursor: number): Row {
  const isBehind = ({ overwrites, change }: Waiting) => !overwrites && change.base < cursor
  if (!row.waiting.some(isBehind)) return row
  const waiting = row.waiting.map((one) => (isBehind(one) ? { ...one, change: { ...one.change, base: cursor } } : one))
  return { ...row, waiting }
}

function confirmed(row: Row, { overwritten }: Version): Row {
  if (!row.version) return row
  const { base: _, isUnlisted: __, ...version } = row.version
  return { ...row, version: { ...version, confirmed: true, ...(overwritten && { overwritten }) } }
}
