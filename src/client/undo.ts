/** `encrypted-bookmark-sync-client/undo`: undo and redo of edits. */
import { differingFields, mergeBookmarks, withFieldsOf } from './bookmark/merge.ts'
import type { PlaintextBookmark } from './bookmark.ts'
import type { ImportReport } from './sync/edits/import.ts'
import type { Patch, Update } from './sync/edits/put.ts'
import { Emitter } from './sync/store/emitter.ts'
import type { Sync } from './sync/sync.ts'
import type { Selection } from './sync/view/selections.ts'

/** How many edits can be undone and redone. */
export interface UndoSteps {
  undo: number
  redo: number
}

/** The result of undoing an edit, or of redoing it. */
export interface UndoReport {
  /** Ids of bookmarks with a later edit that undoing would overwrite: that edit stays. */
  changed: string[]
}

/** The edit methods of a sync. Edits by these methods can be undone, but not edits in other tabs or on other devices. */
export interface UndoableEdits
  extends Pick<Sync, 'put' | 'update' | 'move' | 'remove' | 'importBookmarks' | 'restoreExport'> {
  /**
   * Undoes the last edit, by a new edit. Resolves with undefined if there is none.
   *
   * @throws StorageFullError the edit can still be undone later
   */
  undo(): Promise<UndoReport | undefined>
  /** Redoes what was undone last, unless something was edited since by these methods. */
  redo(): Promise<UndoReport | undefined>
  /** The numbers of steps, for example to disable buttons while there is nothing to undo or redo. */
  readonly steps: Selection<UndoSteps>
}

/** A bookmark before and after an edit; null if it did not exist then. */
interface Edited {
  id: string
  before: PlaintextBookmark | null
  after: PlaintextBookmark | null
  /** True if an import or a restore has made the edit. */
  isImported?: boolean
}

/** The fields that an edit asked to set, named as in `Conflict`. */
type FieldsOf = (id: string, before: PlaintextBookmark) => readonly string[]

const mostSteps = 100

/** Returns methods that edit, and remembers their last hundred edits until the sync is signed out. */
export function undoable(sync: Sync): UndoableEdits {
  const emitter = new Emitter<{ step: undefined }>()
  const stacks: Record<keyof UndoSteps, Edited[][]> = { undo: [], redo: [] }
  let counts: UndoSteps = { undo: 0, redo: 0 }
  let isRead = false
  let last: Promise<unknown> = Promise.resolve()

  function keep(name: keyof UndoSteps, steps: Edited[][]): void {
    stacks[name] = steps.slice(-mostSteps)
    counts = { ...counts, [name]: stacks[name].length }
    emitter.emit('step', undefined)
  }

  sync.on('status', ({ state }) => {
    if (state !== 'signed-out') return
    keep('undo', [])
    keep('redo', [])
  })

  function add(step: Edited[]): void {
    if (step.length === 0) return
    keep('undo', [...stacks.undo, step])
    keep('redo', [])
  }

  /** Waits until the sync has read the store: an empty `put` resolves then. */
  async function read(): Promise<void> {
    await sync.put([])
    isRead = true
  }

  /** @param fieldsOf undefined for a delete */
  function edit(ids: readonly string[], run: () => Promise<void>, fieldsOf?: FieldsOf): Promise<void> {
    const making = async () => {
      // Edits wait only for the first reading of the store, so that they stay in order with those made without `undoable`.
      if (!isRead) await read()
      const befores = new Map(ids.map((id) => [id, sync.get(id) ?? null]))
      await run()
      const step = [...befores].flatMap(([id, before]): Edited[] => {
        if (!fieldsOf) return before ? [{ id, before, after: null }] : []
        const now = sync.get(id)
        if (!now) return []
        const after = before ? withFieldsOf(now, fieldsOf(id, before), before) : now
        return before && differingFields(before, after).length === 0 ? [] : [{ id, before, after }]
      })
      add(step)
    }
    const made = making()
    last = Promise.allSettled([last, made])
    return made
  }

  /** Adds an import or a restore as one step when it has ended, so after edits made meanwhile. */
  async function importAsStep(run: () => Promise<ImportReport>): Promise<ImportReport> {
    if (!isRead) await read()
    const all = new Map(sync.bookmarks())
    const report = await run()
    const stepOf = (id: string): Edited | [] => {
      const after = sync.get(id)
      return after ? { id, before: all.get(id) ?? null, after, isImported: true } : []
    }
    add(report.edited.flatMap(stepOf))
    return report
  }

  /** Undoes the last step of one stack, and puts its reverse on the other. */
  function moveStep(from: keyof UndoSteps, to: keyof UndoSteps): Promise<UndoReport | undefined> {
    const taking = last.then(async () => {
      const step = stacks[from].at(-1)
      if (!step) return undefined
      const changed = await revert(sync, step)
      // An import may have ended meanwhile, and added its step.
      const others = stacks[from].filter((one) => one !== step)
      keep(from, others)
      keep(to, [...stacks[to], step.map((one) => ({ ...one, before: one.after, after: one.before }))])
      return { changed }
    })
    last = taking.catch(() => {})
    return taking
  }

  return {
    put(bookmarks, options = {}) {
      const { seen } = options
      const list = [bookmarks].flat().map((one) => ({ ...one }))
      const asked = new Map(list.map((one) => [one.id, one]))
      const fieldsOf: FieldsOf = (id, before) =>
        differingFields(typeof seen === 'object' && seen.id === id ? seen : before, asked.get(id) as PlaintextBookmark)
      return edit([...asked.keys()], () => sync.put(list, options), fieldsOf)
    },
    update(ids, update, options) {
      const list = [ids].flat()
      const asked = new Map<string, Patch>(typeof update === 'function' ? [] : list.map((id) => [id, { ...update }]))
      const noting = (current: Readonly<PlaintextBookmark>) => {
        const patch = (update as Exclude<Update, Patch>)(current)
        asked.set(current.id, patch ?? {})
        return patch
      }
      const run = () => sync.update(list, typeof update === 'function' ? noting : update, options)
      const names = (id: string) => Object.keys(asked.get(id) ?? {})
      return edit(list, run, (id) => names(id).map((name) => (name === 'position' ? 'parentId' : name)))
    },
    move(ids, place) {
      const list = [ids].flat()
      return edit(
        list,
        () => sync.move(list, place),
        () => ['parentId'],
      )
    },
    remove(ids, options) {
      const list = [ids].flat()
      return edit(list, () => sync.remove(list, options))
    },
    importBookmarks: (bookmarks, options) => importAsStep(() => sync.importBookmarks(bookmarks, options)),
    restoreExport: (opened, options) => importAsStep(() => sync.restoreExport(opened, options)),
    undo: () => moveStep('undo', 'redo'),
    redo: () => moveStep('redo', 'undo'),
    steps: { read: () => counts, subscribe: (listener) => emitter.on('step', listener) },
  }
}

/** Undoes a step. Returns the ids for `UndoReport.changed`. */
async function revert(sync: Sync, step: readonly Edited[]): Promise<string[]> {
  const changed = new Set<string>()
  const edited = new Map<string, Edited>()
  const [gone, reimported, added]: [PlaintextBookmark[], PlaintextBookmark[], string[]] = [[], [], []]
  for (const one of step) {
    const { id, before, after } = one
    const current = sync.get(id)
    if (before && after && current) edited.set(id, one)
    else if (before && !after && !current && !one.isImported) gone.push(before)
    else if (after && !before && current && differingFields(after, current).length === 0) added.push(id)
    else if (current || (before && after)) changed.add(id)
    // Imported again even if another device has imported it meanwhile: then an undo on that device does not delete it.
    if (before && !after && one.isImported) reimported.push(before)
  }
  await sync.put(gone)
  // Imported again, so that values that other devices have set win over them, as at the first import.
  if (reimported.length > 0) await sync.restoreExport({ bookmarks: reimported })
  await sync.update([...edited.keys()], (current) => {
    const { before, after } = edited.get(current.id) as Edited
    // A value that was set since counts as the later edit, so it wins.
    const { bookmark, lost } = mergeBookmarks(after, before as PlaintextBookmark, current)
    if (lost.length > 0) changed.add(current.id)
    const removed = Object.keys(current).map((name) => [name, undefined])
    return { ...Object.fromEntries(removed), ...bookmark }
  })
  await sync.remove(added, { takesBack: true })
  for (const id of added) if (sync.get(id)) changed.add(id)
  return [...changed]
}
