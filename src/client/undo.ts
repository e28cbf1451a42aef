/** `encrypted-bookmark-sync-client/undo`: takes back what was edited here, and does it again. */
import { differingFields, mergeBookmarks, withFieldsOf } from './bookmark/merge.ts'
import type { PlaintextBookmark } from './bookmark.ts'
import type { ImportReport } from './sync/edits/import.ts'
import type { Patch, Update } from './sync/edits/put.ts'
import { Emitter } from './sync/store/emitter.ts'
import type { Sync } from './sync/sync.ts'
import type { Selection } from './sync/view/selections.ts'

/** How many edits can be taken back, and done again. */
export interface UndoSteps {
  undo: number
  redo: number
}

/** The result of undoing an edit, or of redoing it. */
export interface UndoReport {
  /** Ids of bookmarks of which somebody has changed the same since: there, that stays as it is. */
  changed: string[]
}

/** The edits of a sync. Those made by these methods can be taken back, and nothing that another tab or device does. */
export interface UndoableEdits
  extends Pick<Sync, 'put' | 'update' | 'move' | 'remove' | 'importBookmarks' | 'restoreExport'> {
  /**
   * Takes back the last edit, by a new edit. Resolves with undefined if there is none.
   *
   * @throws StorageFullError it can still be taken back
   */
  undo(): Promise<UndoReport | undefined>
  /** Does again what was taken back last, unless something was edited since. */
  redo(): Promise<UndoReport | undefined>
  /** For buttons that can be pressed only while there is something to take back. */
  readonly steps: Selection<UndoSteps>
}

/** A bookmark before and after an edit; null stands for one that is not there. */
interface Edited {
  id: string
  before: PlaintextBookmark | null
  after: PlaintextBookmark | null
  /** True if it came with an import or a restore. */
  isBrought?: boolean
}

/** The fields that an edit asked to set, named as in `Conflict`. */
type FieldsOf = (id: string, before: PlaintextBookmark) => readonly string[]

const mostSteps = 100

/** Remembers the last hundred edits that are made by what it returns, until the user signs out. */
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

  /** The bookmarks that are stored. */
  async function read(): Promise<void> {
    await sync.put([])
    isRead = true
  }

  /** @param fieldsOf undefined: it deletes */
  function edit(ids: readonly string[], run: () => Promise<void>, fieldsOf?: FieldsOf): Promise<void> {
    const making = async () => {
      // Later edits are called for at once, in their order with those that are made without this.
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

  /** One step, once it has ended: what is edited meanwhile is taken back before it. */
  async function bring(run: () => Promise<ImportReport>): Promise<ImportReport> {
    if (!isRead) await read()
    const all = new Map(sync.bookmarks())
    const report = await run()
    const stepOf = (id: string): Edited | [] => {
      const after = sync.get(id)
      return after ? { id, before: all.get(id) ?? null, after, isBrought: true } : []
    }
    add(report.edited.flatMap(stepOf))
    return report
  }

  /** Moves the last step of one stack, turned round, to the other. */
  function takeBack(from: keyof UndoSteps, to: keyof UndoSteps): Promise<UndoReport | undefined> {
    const taking = last.then(async () => {
      const step = stacks[from].at(-1)
      if (!step) return undefined
      const changed = await revert(sync, step)
      // An import may have ended meanwhile.
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
    importBookmarks: (bookmarks, options) => bring(() => sync.importBookmarks(bookmarks, options)),
    restoreExport: (opened, options) => bring(() => sync.restoreExport(opened, options)),
    undo: () => takeBack('undo', 'redo'),
    redo: () => takeBack('redo', 'undo'),
    steps: { read: () => counts, subscribe: (listener) => emitter.on('step', listener) },
  }
}

/** Returns the ids of what is not as the step has left it, and was not put back. */
async function revert(sync: Sync, step: readonly Edited[]): Promise<string[]> {
  const changed = new Set<string>()
  const edited = new Map<string, Edited>()
  const [gone, brought, added]: [PlaintextBookmark[], PlaintextBookmark[], string[]] = [[], [], []]
  for (const one of step) {
    const { id, before, after } = one
    const current = sync.get(id)
    if (before && after && current) edited.set(id, one)
    else if (before && !after && !current && !one.isBrought) gone.push(before)
    else if (after && !before && current && differingFields(after, current).length === 0) added.push(id)
    else if (current || (before && after)) changed.add(id)
    // Also if another device has brought it meanwhile: its undo is to leave it.
    if (before && !after && one.isBrought) brought.push(before)
  }
  await sync.put(gone)
  // It yields to what others have, as it did the first time.
  if (brought.length > 0) await sync.restoreExport({ bookmarks: brought })
  await sync.update([...edited.keys()], (current) => {
    const { before, after } = edited.get(current.id) as Edited
    // A value that somebody has set since counts as the later edit.
    const { bookmark, lost } = mergeBookmarks(after, before as PlaintextBookmark, current)
    if (lost.length > 0) changed.add(current.id)
    const removed = Object.keys(current).map((name) => [name, undefined])
    return { ...Object.fromEntries(removed), ...bookmark }
  })
  await sync.remove(added, { takesBack: true })
  for (const id of added) if (sync.get(id)) changed.add(id)
  return [...changed]
}
