import type { EntityType, PlaintextBookmark, SyncEvents } from '../../../src/client/index.ts'
import { entityTypes, typeOf } from '../../../src/client/sync/store/key.ts'

const fields = ['title', 'url', 'description', 'parentId'] as const
/** Each tag counts as a field, and so does each member of the field that only newer versions know. */
type Field = (typeof fields)[number] | `tag ${string}` | `newer ${string}`
type Content = Partial<Record<Field, string | null>>

/** A field that a call set, or a delete, with the values its caller saw. Only restores and `parentId` repeat values. */
interface Entry {
  /** Its place among all entries, in the order of the calls. */
  order: number
  id: string
  device: string
  /** Null: a delete. */
  field: Field | null
  value: string | null
  saw: Content | null
  /** `open`: the call never returned. */
  outcome: 'open' | 'kept' | 'refused'
  /** Why the edit may be lost without a report. */
  excuse?: string
  /** Deletes a bookmark that the same device created and had not sent. */
  takesBack?: true
  /** Comes from an export or a conflict. */
  isRestored?: true
  /** Comes from an import, or a restore without `overwrite`: edits of others win over it. */
  yields?: true
}

/** Every edit of a run, as the callers of the methods know it. */
export class Ledger {
  readonly #entries: Entry[] = []
  /** Fields that ever reached the service, named by `keyOf`. */
  readonly #arrived = new Set<string>()
  /** By device and field, the number of entries when it last reached the service. A restore removes later ones. */
  #stored = new Map<string, number>()
  #backup = new Map<string, number>()
  /** Entries that a device's store no longer knows. */
  readonly #forgotten: { device: string; from: number; to: number }[] = []
  /** By device and bookmark, what a store that went back takes for unsent: the device does not send its deletes. */
  readonly #takenForUnsent = new Set<string>()
  /** Devices and bookmarks of unsent edits in a store that went back: it may have sent them since, under other ids. */
  readonly #madeAgain = new Set<string>()
  /** Lost values that a conflict still has, by `keyOf`. */
  readonly #kept = new Set<string>()
  /** Bookmarks that were restored as they had been, so that their values occur twice. */
  readonly #repeated = new Set<string>()
  /** Bookmarks that an earlier client version, or a restore of the service, may have overwritten as a whole. */
  readonly #overwritten = new Set<string>()
  /** By device and type, the number of entries when the device last stopped storing the type. */
  readonly #without = new Map<string, number>()
  readonly #wrong: unknown[] = []
  /** True if the account was full, so that devices may have deleted history. */
  isFull = false
  /** All tags, and all members of `newer`, that were ever set. */
  readonly #members = new Set<Field>()

  /** Records the call of an edit. `patch` null is a delete. Returns the function to call with its outcome. */
  begin(
    device: string,
    id: string,
    patch: Partial<PlaintextBookmark> | null,
    saw: PlaintextBookmark | undefined,
    traits: Pick<Entry, 'isRestored' | 'yields'> = {},
  ): (outcome: 'kept' | 'refused') => void {
    const common = {
      ...traits,
      order: this.#entries.length,
      id,
      device,
      saw: saw ? contentOf(saw) : null,
      outcome: 'open' as const,
    }
    const entries: Entry[] = patch
      ? changes(patch, common.saw ?? {}).map((change) => ({ ...common, ...change }))
      : [{ ...common, field: null, value: null }]
    if (!patch && this.#takenForUnsent.has(ownKey(device, id)))
      for (const one of entries) one.excuse = 'not sent, it seems'
    const made = this.#entries.filter((one) => one.device === device && one.id === id && one.saw === null)
    // A device does not send the delete of a record that it never sent, although somebody may have restored the record
    // elsewhere from the device's export. It sends the delete of a record that it restored itself.
    if (!patch && made.length > 0 && !made.some((one) => this.#isStored(one) || one.isRestored))
      for (const one of entries) one.takesBack = true
    for (const { field } of entries) if (field && isMember(field)) this.#members.add(field)
    this.#entries.push(...entries)
    return (outcome) => {
      for (const entry of entries) entry.outcome = outcome
    }
  }

  get length(): number {
    return this.#entries.length
  }

  /** True if the device has called an edit of the bookmark since there were `since` entries. */
  hasEdited(device: string, id: string, since: number): boolean {
    return this.#entries.slice(since).some((entry) => entry.device === device && entry.id === id)
  }

  /** A device's version reached the service, sent by that device or another, and is current or kept there. */
  arrive(device: string, id: string, bookmark: PlaintextBookmark | null, by: string): void {
    const keys = this.#keysOf(id, bookmark)
    const own = this.#entries.filter((entry) => entry.device === device && entry.id === id)
    const isLate = (entry: Entry) => this.#isForgotten(entry) && keys.includes(keyOf(entry)) && !this.#isStored(entry)
    const late = by === device ? own.find(isLate) : undefined
    // The later ones may then be lost without a report: the forgotten one has the same device id, as in a copied store.
    if (late) for (const entry of own) if (entry.order > late.order) entry.excuse ??= 'what was forgotten came later'
    for (const key of keys) {
      this.#arrived.add(key)
      this.#stored.set(ownKey(device, key), this.length)
    }
  }

  /** Records a losing version. The service keeps it as a whole, a device only the fields that it names. */
  keep({
    id,
    mine,
    fields: names = [],
  }: Pick<SyncEvents['conflict'], 'id' | 'mine'> & { fields?: readonly string[] }): void {
    for (const key of this.#keysOf(id, mine, names)) this.#kept.add(key)
  }

  /** A device reports that an edit lost. */
  tell({ id, mine, theirs, fields: names }: SyncEvents['conflict']): void {
    const all = mine && theirs ? this.#undone(id, contentOf(mine), contentOf(theirs), names) : []
    // Of a field with members, only some may have lost.
    const undone = all.filter((field) => !isMember(field))
    if (undone.length > 0) this.#wrong.push({ id, undone, mine, theirs })
  }

  /** Records the call of an edit that restores what had lost, or what an export has. */
  repeat(
    device: string,
    id: string,
    mine: Partial<PlaintextBookmark> | null,
    saw: PlaintextBookmark | undefined,
    traits: Pick<Entry, 'yields'> = {},
  ): (outcome: 'kept' | 'refused') => void {
    this.#repeated.add(id)
    return this.begin(device, id, mine, saw, { ...traits, isRestored: true })
  }

  /** An earlier client version sent its whole bookmark. */
  overwrite(id: string): void {
    this.#overwritten.add(id)
  }

  /** The user discards edits that the service refused. */
  drop(device: string, ids: readonly string[]): void {
    for (const entry of this.#entries) {
      if (entry.device === device && ids.includes(entry.id)) entry.excuse ??= 'dropped'
    }
  }

  /** The user restored what others had deleted. */
  undelete(ids: readonly string[]): void {
    for (const id of ids) this.#repeated.add(id)
    for (const entry of this.#entries) if (!entry.field && ids.includes(entry.id)) entry.excuse ??= 'restored'
  }

  /** The device's store is deleted, by a sign-out or by accident. Returns the ids of edits that had not arrived. */
  lose(device: string): string[] {
    const own = this.#entries.filter((entry) => entry.device === device)
    const unsent = this.#unaccounted((e) => this.#arrived.has(keyOf(e)) || (!e.field && !this.#wasThere(e)))
    this.goBack(device, 0)
    return [...new Set(own.filter((entry) => unsent.includes(entry)).map(({ id }) => id))]
  }

  /**
   * Puts the device's store back to when there were `from` entries: unsent edits since then are lost. `unsent` are the
   * ids of bookmarks of which that store had sent nothing. If it removes them, it sends no delete.
   */
  goBack(device: string, from: number, unsent: readonly string[] = [], waiting: readonly string[] = []): void {
    this.#forgotten.push({ device, from, to: this.length })
    for (const id of unsent) this.#takenForUnsent.add(ownKey(device, id))
    for (const id of waiting) this.#madeAgain.add(ownKey(device, id))
    this.#excuse('gone with the store')
  }

  /** True if the service had the version that was edited. An absent field proves nothing: other versions may lack it. */
  #wasThere({ id, saw, order }: Entry): boolean {
    const keys = unique.map((field) => keyOf({ id, field, value: saw?.[field] ?? '' }))
    const before = this.#entries.filter((one) => one.order < order && keys.includes(keyOf(one)))
    return before.some((one) => this.#arrived.has(keyOf(one)) || this.#wasThere(one))
  }

  /** From now on the device stores only these types. Of other types, it removes what it has sent. */
  takeTypes(device: string, types: readonly EntityType[]): void {
    for (const type of entityTypes) if (!types.includes(type)) this.#without.set(ownKey(device, type), this.length)
    // A device that does not know yet that the service was restored does not send again what it removes.
    const isGone = (entry: Entry) => this.#isRemoved(entry) && this.#arrived.has(keyOf(entry)) && !this.#isStored(entry)
    for (const entry of this.#entries)
      if (entry.device === device && isGone(entry)) entry.excuse ??= 'gone with the service'
  }

  #isRemoved({ device, id, order }: Entry): boolean {
    return order < (this.#without.get(ownKey(device, typeOf(id))) ?? 0)
  }

  /** The service is backed up. */
  backUp(): void {
    this.#backup = new Map(this.#stored)
  }

  /** The service is restored from its backup. Stores cannot send again what they have forgotten. */
  restore(): void {
    const removed = this.#entries.filter((entry) => this.#isRemoved(entry) && this.#isStored(entry))
    this.#stored = new Map(this.#backup)
    for (const entry of removed) if (!this.#isStored(entry)) entry.excuse ??= 'gone with the service'
    // The service does not know which edits it has lost, so an older version of any record may win.
    for (const { id } of this.#entries) this.#overwritten.add(id)
    this.#excuse('gone with the service')
  }

  /** Excuses entries that neither a store nor the service has. */
  #excuse(why: string): void {
    for (const entry of this.#entries) {
      if (this.#isForgotten(entry) && !this.#isStored(entry)) entry.excuse ??= why
    }
  }

  #isForgotten({ device, order }: Entry): boolean {
    return this.#forgotten.some((one) => one.device === device && one.from <= order && order < one.to)
  }

  /** The faults at the end: edits that are unaccounted for, and fields that lost to no other edit. */
  faults(final: ReadonlyMap<string, PlaintextBookmark>): unknown[] {
    const undone = this.#entries.filter(({ id, field, value, outcome }) => {
      const bookmark = final.get(id)
      if (outcome !== 'kept' || !field || !bookmark) return false
      return this.#undone(id, { [field]: value }, contentOf(bookmark)).includes(field)
    })
    return [
      ...this.#unaccounted((entry) => this.#isThere(entry, final.get(entry.id))),
      ...this.#wrong,
      ...undone.map((e) => ({ undoneInTheEnd: true, ...e, saw: undefined })),
    ]
  }

  /** The service keeps no versions of history, so an entry that a store sent and removed may be gone for good. */
  #isReplacedHistory(entry: Entry): boolean {
    const isRemoved = this.#isForgotten(entry) || this.#isRemoved(entry)
    return isHistory(entry) && isRemoved && this.#arrived.has(keyOf(entry))
  }

  #mayMakeRoom(id: string): boolean {
    return this.isFull && isHistory({ id })
  }

  /** True if the service has got the value from the device since this entry. An equal edit from before does not count. */
  #isStored(entry: Entry): boolean {
    return (this.#stored.get(ownKey(entry.device, keyOf(entry))) ?? -1) > entry.order
  }

  #unaccounted(isThere: (entry: Entry) => boolean): Entry[] {
    const counted = this.#entries.filter(({ outcome }) => outcome !== 'refused')
    const byId = Map.groupBy(counted, ({ id }) => id)
    // For an import, an edit that its store has forgotten counts as another device's.
    const isForgottenBefore = (other: Entry, { order }: Entry) => other.order < order && this.#isForgotten(other)
    const isOthers = (one: Entry) =>
      byId.get(one.id)?.some((other) => other.device !== one.device || isForgottenBefore(other, one))
    const isExcused = (one: Entry) =>
      one.excuse ||
      this.#mayMakeRoom(one.id) ||
      this.#isReplacedHistory(one) ||
      (one.takesBack && this.#repeated.has(one.id)) ||
      (one.yields && isOthers(one))
    const isKept = (entry: Entry) => isThere(entry) || this.#kept.has(keyOf(entry))
    const accounted = new Set(counted.filter((entry) => isExcused(entry) || isKept(entry)))
    const isFollowed = (entry: Entry) =>
      (byId.get(entry.id) ?? []).some((later) => accounted.has(later) && follows(later, entry))
    for (let size = -1; size < accounted.size; ) {
      size = accounted.size
      for (const entry of counted) if (isFollowed(entry)) accounted.add(entry)
    }
    // Edits of calls that never returned (`open`) may be lost.
    return counted.filter((entry) => entry.outcome === 'kept' && !accounted.has(entry))
  }

  #keysOf(id: string, bookmark: PlaintextBookmark | null, names: readonly string[] = []): string[] {
    if (!bookmark) return [keyOf({ id, field: null, value: null })]
    const content = contentOf(bookmark)
    const isNamed = (field: Field) => names.length === 0 || names.includes(nameOf(field))
    const all = [...fields, ...this.#members].filter(isNamed)
    return all.map((field) => keyOf({ id, field, value: content[field] ?? null }))
  }

  /** True if the final record has the edit. A delete counts if none of the unique values that its caller saw is left. */
  #isThere(entry: Entry, bookmark: PlaintextBookmark | undefined): boolean {
    const { field, value, saw } = entry
    if (!bookmark) return field === null
    const final = contentOf(bookmark)
    if (field) return (final[field] ?? null) === value
    return unique.every((name) => saw?.[name] == null || saw[name] !== final[name])
  }

  /** A field may lose only to an edit that set that field, and not to the version on which the losing edit is based. */
  #undone(id: string, lost: Content, won: Content, names: readonly string[] = []): Field[] {
    if (this.#repeated.has(id) || this.#overwritten.has(id) || this.#mayMakeRoom(id)) return []
    const own = this.#entries.filter((entry) => entry.id === id && entry.outcome !== 'refused')
    const creations = new Set(own.flatMap(({ saw, order }) => (saw ? [] : order))).size
    const isUndone = (field: Field): boolean => {
      const [from, to] = [lost[field] ?? null, won[field] ?? null]
      const set = own.filter((entry) => entry.field === field)
      const first = set.find(({ value }) => value === from)
      // If the record was created twice, the other creation may not have had the field.
      if (from === to || !first || (to === null && creations > 1)) return false
      // If a later edit was based on this one, it is the later one that has lost.
      if (own.some((later) => follows(later, first))) return false
      // A store that went back to a copy may have sent the field before it went back.
      if (this.#forgotten.some(({ device }) => device === first.device)) return false
      // Such a store repeats edits that it takes for unsent, as if no edit was based on them.
      const isMadeAgain = ({ device, value }: Entry) => value === to && this.#madeAgain.has(ownKey(device, id))
      if (set.some(isMadeAgain)) return false
      if (set.some(({ value, order }) => value === to && order > first.order)) return false
      // Restoring a deleted record sets all fields.
      if (own.some(({ field: deleted, saw }) => deleted === null && (saw?.[field] ?? null) === to)) return false
      // So does an edit of a record by a device that had not seen its delete.
      const isOnTo = ({ device, field: set, saw }: Entry) =>
        set !== null && saw !== null && device !== first.device && (saw[field] ?? null) === to
      if (own.some((one) => one.field === null) && own.some(isOnTo)) return false
      const seen = new Set<string | null>()
      for (let entry: Entry | undefined = first; entry && !seen.has(entry.value); ) {
        const { excuse, saw }: Entry = entry
        if (excuse || this.#isForgotten(entry)) return false
        if (saw && (saw[field] ?? null) === to) return true
        seen.add(entry.value)
        entry = saw ? set.find(({ value }) => value === (saw[field] ?? null)) : undefined
      }
      return false
    }
    const all = [...fields, ...this.#members].filter((field) => names.length === 0 || names.includes(nameOf(field)))
    return all.filter((field) => field !== 'parentId' && isUndone(field))
  }
}

function isHistory({ id }: Pick<Entry, 'id'>): boolean {
  return typeOf(id) === 'history'
}

/** Fields whose values are unique. */
const unique = ['title', 'url', 'description'] as const

function follows(later: Entry, { order, field, value }: Entry): boolean {
  if (field === null) return later.field !== null && later.saw === null && later.order > order
  return (later.field === null || later.field === field) && later.saw !== null && (later.saw[field] ?? null) === value
}

function contentOf(bookmark: Partial<PlaintextBookmark>): Content {
  const { title = null, url = null, description = null, parentId = null, tags = [] } = bookmark
  const newer = Object.entries(newerOf(bookmark)).map(([name, value]) => [`newer ${name}`, value])
  const members = Object.fromEntries([...tags.map((tag) => [`tag ${tag}`, tag]), ...newer])
  return { title, url, description, parentId, ...members }
}

function ownKey(device: string, key: string): string {
  return `${device} ${key}`
}

function keyOf({ id, field, value }: Pick<Entry, 'id' | 'field' | 'value'>): string {
  return JSON.stringify([id, field, value])
}

/** The fields that the patch changes. */
function changes(patch: Partial<PlaintextBookmark>, saw: Content): { field: Field; value: string | null }[] {
  const given = contentOf(patch)
  const named = fields.filter((field) => field in patch)
  const isGiven = (field: Field) => (field.startsWith('tag ') ? 'tags' in patch : isMember(field) && 'newer' in patch)
  const members = ([...Object.keys(given), ...Object.keys(saw)] as Field[]).filter(isGiven)
  const all = [...new Set([...named, ...members])].map((field) => ({ field, value: given[field] ?? null }))
  return all.filter(({ field, value }) => value !== (saw[field] ?? null))
}

/** The field's name in conflicts. */
function nameOf(field: Field): string {
  return field.startsWith('tag ') ? 'tags' : field.startsWith('newer ') ? 'newer' : field
}

function isMember(field: Field): boolean {
  return field.startsWith('tag ') || field.startsWith('newer ')
}

/** Part of a bookmark with a field that only newer client versions know, and that all versions must keep. */
export function withNewer(newer: Record<string, string>): Partial<PlaintextBookmark> {
  return { newer } as Partial<PlaintextBookmark>
}

export function newerOf(bookmark: Partial<PlaintextBookmark>): Record<string, string> {
  return (bookmark as { newer?: Record<string, string> }).newer ?? {}
}
