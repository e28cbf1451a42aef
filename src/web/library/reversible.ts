import { mergeBookmarks } from '../../client/bookmark/merge.ts'
import type { Sync } from '../../client/index.ts'
import { type UndoableEdits, undoable } from '../../client/undo.ts'
import type { Bookmark } from './kind.ts'

/** What may take an action back. */
export type Edits = Pick<UndoableEdits, 'put' | 'remove'>

/**
 * Undo and redo of an action, as often as the person likes. What somebody has changed meanwhile stays.
 *
 * @param takeBack is called the first time
 */
export function reversible(
  sync: Sync,
  takeBack: (edits: Edits) => unknown,
): { undo(): Promise<void>; redo(): Promise<void> } {
  let edits: UndoableEdits | undefined
  const all = async (way: 'undo' | 'redo') => {
    while (edits && edits.steps.read()[way] > 0) await edits[way]()
  }
  return {
    async undo() {
      if (edits) return all('redo')
      edits = undoable(sync)
      await takeBack(edits)
    },
    redo: () => all('undo'),
  }
}

/**
 * The bookmark as it is now, without what a step has changed of it. Tags are a set: the step's are taken off, those that it
 * took off are back, and all others stay.
 */
export function takenBack(before: Bookmark, after: Bookmark, now: Bookmark): Bookmark {
  return mergeBookmarks(after, now, before).bookmark
}
