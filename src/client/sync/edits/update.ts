import { mergeBookmarks } from '../../bookmark/merge.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import { withMine } from '../store/conflicts.ts'
import { viewOf } from '../store/row.ts'
import { applyEdit } from './edit.ts'
import { withPlaces } from './place.ts'
import { applyOver, type PutOptions, sightOf } from './put.ts'
import type { EditParts } from './queue.ts'
import { sealOne } from './seal.ts'

/** The fields to change. A field that is undefined is removed, unless every bookmark has it. */
export type Patch = Partial<Pick<PlaintextBookmark, 'id' | 'title' | 'source'>> & {
  [Name in Exclude<keyof PlaintextBookmark, 'id' | 'title' | 'source'>]?: PlaintextBookmark[Name] | undefined
}

/** A patch, or a function that makes one of the bookmark as it is then; null changes nothing. */
export type Update = Patch | ((current: Readonly<PlaintextBookmark>) => Patch | null)

/** @throws RangeError there is no such bookmark */
export async function updateBookmark(
  parts: EditParts,
  id: string,
  update: Update,
  { seen }: PutOptions = {},
): Promise<void> {
  const { replica, keys } = parts
  const sight = sightOf(parts, id, seen)
  await replica.commit([id], 'local', (draft) => {
    const row = draft.get(id)
    const current = viewOf(row).bookmark
    if (!current) throw new RangeError(`There is no bookmark ${id}`)
    // A copy: if the app changes what it is given, `current` must still be what the others have.
    const asks = typeof update === 'function' ? update(structuredClone(current)) : update
    if (!asks) return
    // The types cannot keep undefined out where an app's compiler takes it for a value of any optional field.
    const patch = { ...asks }
    if (patch.title === undefined) delete patch.title
    if (patch.source === undefined) delete patch.source
    const position = 'parentId' in patch ? undefined : current.position
    const [patched] = withPlaces(replica, [{ ...current, position, ...patch, id } as PlaintextBookmark])
    const edit = sealOne(keys, patched as PlaintextBookmark)
    const base = typeof update === 'function' ? current : sight.bookmark
    const asked = { ...(base ?? current), ...patch } as PlaintextBookmark
    const { lost } = mergeBookmarks(base, current, asked)
    applyOver(parts, draft, row, edit, sight, lost)
    replica.asked.set(id, asked)
  })
}

/** Ends all conflicts of a bookmark. */
export async function resolveConflicts(parts: EditParts, id: string, choice: 'mine' | 'theirs'): Promise<void> {
  await parts.replica.commit([id], 'local', (draft) => {
    const { conflicts, ...row } = draft.get(id)
    if (conflicts.length === 0) return
    const settled = { ...row, conflicts: [] }
    draft.set(settled)
    if (choice === 'theirs') return
    const bookmark = withMine(viewOf(settled).bookmark, conflicts)
    const edit = bookmark ? sealOne(parts.keys, bookmark) : { id, bookmark: null, sealed: null }
    applyEdit(draft, settled, edit, parts, { cursor: draft.meta.cursor })
  })
}
