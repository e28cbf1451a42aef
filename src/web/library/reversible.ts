import { mergeBookmarks } from '../../client/bookmark/merge.ts'
import type { Sync } from '../../client/index.ts'
import { type UndoableEdits, undoable } from '../../client/undo.ts'
import type { Outcome } from '../ui/tell.ts'
import type { Bookmark } from './kind.ts'

/** Makes the edits that undo an action. */
export type Edits = Pick<UndoableEdits, 'put' | 'remove'>

interface Steps {
  undo(): Promise<Outcome>
  redo(): Promise<Outcome>
}

/** Undoes and redoes these edits, any number of times. What somebody has changed meanwhile stays. */
export function stepsOf(sync: Sync, edits: UndoableEdits): Steps {
  const all = async (way: 'undo' | 'redo') => {
    let staying = 0
    while (edits.steps.read()[way] > 0) staying += (await edits[way]())?.changed.length ?? 0
    return staying
  }
  return { undo: () => outcomeOf(sync, () => all('undo')), redo: () => outcomeOf(sync, () => all('redo')) }
}

/**
 * Undoes an action with the edits that `takeBack` makes, and redoes it.
 *
 * @param takeBack called at the first undo only: redo takes back its edits, and the next undo repeats them
 */
export function reversible(sync: Sync, takeBack: (edits: Edits) => unknown): Steps {
  let steps: Steps | undefined
  return {
    undo() {
      if (steps) return steps.redo()
      const edits = undoable(sync)
      steps = stepsOf(sync, edits)
      return outcomeOf(sync, async () => {
        await takeBack(edits)
        return 0
      })
    },
    redo: async () => (await steps?.undo()) ?? 'not',
  }
}

/** @param run resolves with the number of bookmarks that could not be changed completely */
async function outcomeOf(sync: Sync, run: () => Promise<number>): Promise<Outcome> {
  let isChanged = false
  const end = sync.on('change', ({ origin }) => {
    isChanged ||= origin === 'local'
  })
  const staying = await run().finally(end)
  return isChanged ? (staying > 0 ? 'partly' : 'done') : 'not'
}

/** The current bookmark without the changes of an action: tags that it added go, removed ones return, others stay. */
export function revertStep(before: Bookmark, after: Bookmark, now: Bookmark): Bookmark {
  return mergeBookmarks(after, now, before).bookmark
}
