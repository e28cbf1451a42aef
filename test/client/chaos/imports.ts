import type { TreeNode } from '../../../src/client/bookmark/tree.ts'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import type { Sync } from '../../../src/client/sync/sync.ts'
import type { Device, Tab } from './device.ts'
import { follow } from './follow.ts'
import type { Run } from './run.ts'

/** Imports one of two bookmark files, often again, sometimes in two tabs at once: nothing may be added twice. */
export function importFile(run: Run, device: Device, tab: Tab): void {
  const { dice } = run
  const name = dice.pick(['file0', 'file1'])
  const tabs = dice.happens(0.5) ? [tab, dice.pick(device.tabs)] : [tab]
  run.note(`${name} in ${tabs.length}`)
  const imports = tabs.map((one) => importIn(run, device, one, read(run, name)))
  const compare = ([first = [], second = []]: string[][]) => {
    // The folder of the first may have been renamed before the second.
    const isThereTwice = (place: string) => tabs.some(({ sync }) => (places(sync).get(place)?.size ?? 0) > 1)
    const twice = first.filter((place) => second.includes(place) && isThereTwice(place))
    if (twice.length > 0) run.fail(`${device.id} has imported in two tabs`, twice)
  }
  Promise.all(imports).then(compare, () => {})
}

/** Each reading of a file gives other ids. */
function read(run: Run, name: string): PlaintextBookmark[] {
  const folder = run.unique('f')
  const link = (url: string, parentId?: string): PlaintextBookmark => {
    const place = parentId === undefined ? {} : { parentId }
    return { id: run.unique('l'), source: 'bookmarks', title: url, url: `https://${name}.example/${url}`, ...place }
  }
  const inside = ['one', 'two'].map((url) => link(url, folder))
  return [{ id: folder, source: 'bookmarks', title: name }, ...inside, link('three'), link('four')]
}

/** Returns the places of what was added. */
async function importIn(run: Run, device: Device, tab: Tab, list: PlaintextBookmark[]): Promise<string[]> {
  const { ledger, fail } = run
  const before = places(tab.sync)
  const answers = new Map(
    // Folders that are there already are used again, so nobody counts on those that are listed.
    list.map(({ parentId: _, ...one }) => [one.id, ledger.begin(device.id, one.id, one, undefined)]),
  )
  const imported = tab.sync.importBookmarks(list)
  const accounted = imported.then(({ existing }) => {
    for (const [id, answer] of answers) answer(existing.includes(id) ? 'refused' : 'kept')
  })
  follow(device, tab, 'import', accounted, (outcome) => {
    if (outcome === 'refused') for (const answer of answers.values()) answer(outcome)
  })
  const { existing } = await imported
  const after = places(tab.sync)
  const [folder] = list
  const added = list.filter(({ id, url }) => url !== undefined && !existing.includes(id))
  const target = ({ parentId, url }: PlaintextBookmark) => placeOf(parentId ? [folder?.title ?? ''] : [], url)
  const isThere = (place: string) => [...(before.get(place) ?? [])].some((id) => after.get(place)?.has(id))
  const twice = added.map(target).filter(isThere)
  if (twice.length > 0) fail.call(run, `${device.id} has imported what was there`, twice)
  return added.map(target)
}

/** The ids of the links by their folders' titles and their address. */
function places(sync: Sync): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  const visit = (nodes: readonly TreeNode[], path: readonly string[]) => {
    for (const { bookmark, children } of nodes) {
      const place = placeOf(path, bookmark.url)
      found.set(place, (found.get(place) ?? new Set()).add(bookmark.id))
      visit(children, [...path, bookmark.title])
    }
  }
  visit(sync.tree(), [])
  return found
}

function placeOf(path: readonly string[], url: string | undefined): string {
  return [...path, url].join(' / ')
}
