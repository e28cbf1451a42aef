import type { Conflict, PlaintextBookmark, Sync } from '../../client/index.ts'
import type { WorkerState } from './messages.ts'

/** What the user is to decide, each side in one line, with the folder if that is what differs. */
export function readConflicts(sync: Pick<Sync, 'conflicts' | 'get'>): WorkerState['conflicts'] {
  const folderOf = ({ parentId }: PlaintextBookmark) =>
    (parentId !== undefined && sync.get(parentId)?.title) || 'the top level'
  return sync
    .conflicts()
    .filter((conflict) => !isOrder(conflict))
    .map(({ id, fields, mine, theirs }) => {
      const lineOf = (bookmark: PlaintextBookmark | null) => {
        if (!bookmark) return ''
        const name = [bookmark.title, bookmark.url].filter(Boolean).join(' · ')
        return fields.includes('parentId') ? `${name}, in ${folderOf(bookmark)}` : name
      }
      return { id, mine: lineOf(mine), theirs: lineOf(theirs) }
    })
}

/** Two orders of one folder: nobody needs to be asked. */
function isOrder({ fields, mine, theirs }: Conflict): boolean {
  return fields.length === 1 && fields[0] === 'parentId' && mine?.parentId === theirs?.parentId
}
