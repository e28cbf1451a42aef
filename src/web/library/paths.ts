import type { SyncReader } from '../../client/index.ts'
import { type Bookmark, isFolder } from './kind.ts'

/** No tree of folders that people make is deeper; a cycle that another client wrote ends here. */
const maxDepth = 50

/** The folders around a bookmark, the outermost first. */
export function foldersAround(sync: Pick<SyncReader, 'get'>, bookmark: Bookmark | undefined): Bookmark[] {
  const path: Bookmark[] = []
  let at = bookmark && sync.get(bookmark.parentId ?? '')
  while (at && isFolder(at) && path.length < maxDepth) {
    path.unshift(at)
    at = sync.get(at.parentId ?? '')
  }
  return path
}

export function pathText(sync: Pick<SyncReader, 'get'>, bookmark: Bookmark): string {
  return foldersAround(sync, bookmark)
    .map(({ title }) => title || 'untitled')
    .join(' › ')
}
