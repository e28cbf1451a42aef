import { useMemo } from 'preact/hooks'
import { bareAddress } from '../../client/bookmark/address.ts'
import type { SyncReader } from '../../client/index.ts'
import { useSelection, useSync } from '../../client/react.ts'
import { Button } from '../ui/button.tsx'
import { DuplicatesIcon } from '../ui/icons.tsx'
import { Empty } from '../ui/waiting.tsx'
import { remove } from './actions.ts'
import { Collection } from './collection.tsx'
import type { Bookmark } from './kind.ts'
import { byTree } from './sorter.ts'

/** Bookmarks with the same address, one after another. */
export function Duplicates() {
  const ids = useSelection(useMemo(() => byTree(findDuplicates), []))
  const sync = useSync()
  const later = ids.filter((id, index) => index > 0 && isSame(sync, id, ids[index - 1]))
  return (
    <Collection
      label="Duplicates"
      heading={
        <div class="heading">
          <h1>Duplicates</h1>
          {later.length > 0 && (
            <div class="bar">
              <p>Addresses that you have saved more than once, the oldest first.</p>
              <Button onClick={() => remove(sync, later)}>
                Keep the oldest of each, delete {later.length.toLocaleString()}
              </Button>
            </div>
          )}
        </div>
      }
      ids={ids}
      showsPath
      empty={
        <Empty icon={DuplicatesIcon} title="No duplicates">
          <p>Addresses that you save more than once appear here.</p>
        </Empty>
      }
    />
  )
}

function findDuplicates(sync: SyncReader): string[] {
  const byAddress = new Map<string, Bookmark[]>()
  for (const bookmark of sync.bookmarks().values()) {
    const address = bareAddress(bookmark.url)
    if (address === undefined) continue
    const same = byAddress.get(address)
    if (same) same.push(bookmark)
    else byAddress.set(address, [bookmark])
  }
  return [...byAddress.values()]
    .filter((same) => same.length > 1)
    .flatMap((same) => same.sort(byAge).map(({ id }) => id))
}

function isSame(sync: SyncReader, one: string | undefined, other: string | undefined): boolean {
  const [first, second] = [sync.get(one ?? ''), sync.get(other ?? '')]
  return first !== undefined && second !== undefined && bareAddress(first.url) === bareAddress(second.url)
}

function byAge(one: Bookmark, other: Bookmark): number {
  const [first, second] = [one.dateAdded ?? '', other.dateAdded ?? '']
  return first < second ? -1 : first > second ? 1 : 0
}
