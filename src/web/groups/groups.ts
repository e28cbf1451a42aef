/** The actions of a person on saved tab groups. Those that change something show a message and can be undone. */
import { v7 as uuidv7 } from 'uuid'
import type { Sync } from '../../client/index.ts'
import { newBookmark } from '../library/actions.ts'
import { withContents } from '../library/contents.ts'
import { type Bookmark, isFolder, isSafe, quoted } from '../library/kind.ts'
import { reversible } from '../library/reversible.ts'
import { go } from '../session/route.ts'
import { confirmFirst } from '../ui/dialogs.tsx'
import { serviceNow } from '../ui/service-time.ts'
import { tell } from '../ui/tell.ts'
import { later } from '../words/later.ts'

/** The colours that a browser offers for tab groups, each with the number of its `hue-` class. */
export const hues = { grey: 7, blue: 0, red: 8, yellow: 6, green: 1, pink: 3, purple: 5, cyan: 4, orange: 2 } as const

export function isKnownColor(color: string | undefined): color is keyof typeof hues {
  return color !== undefined && Object.hasOwn(hues, color)
}

/** The most tabs opened without asking first. More may slow the browser down, and take long to close again. */
const maxWithoutAsking = 15

/** Opens the tabs whose addresses are safe to open from a page (`isSafe`). Asks first if there are many. */
export function openTabs(group: Bookmark, tabs: readonly Bookmark[]): void {
  const urls = tabs.flatMap(({ url = '' }) => (isSafe(url) ? url : []))
  const open = () => openAll(urls)
  const title = later.groups.openMany(urls.length)
  if (urls.length === 0) tell(later.groups.noneOpens)
  else if (urls.length <= maxWithoutAsking) open()
  else confirmFirst({ title, text: later.groups.openManyMore(quoted(group)), action: title, run: open })
}

function openAll(urls: readonly string[]): void {
  // `noreferrer` would hide whether the browser blocked the tab. The page sends no referrer anyway.
  const opened = urls.filter((url) => {
    const tab = window.open(url, '_blank')
    if (tab) tab.opener = null
    return tab !== null
  })
  if (opened.length < urls.length) tell(later.groups.blocked(opened.length, urls.length), { isAlert: true })
}

/** @param groups a sync of tab groups, as `recordsOf` returns it */
export async function change(groups: Sync, before: Bookmark, fields: { title: string; color: string }): Promise<void> {
  const { id } = before
  await groups.put({ ...before, ...fields }, { seen: before })
  const after = groups.get(id)
  tell(
    later.groups.changed(quoted(after ?? before)),
    reversible(groups, (edits) => edits.put(before, { seen: after })),
  )
}

/** Deletes a group with its tabs, or a tab. */
export async function removeSaved(groups: Sync, record: Bookmark): Promise<void> {
  const removed = withContents(groups, [record.id])
  await groups.remove(removed.map(({ id }) => id))
  const gone = () => removed.filter(({ id }) => !groups.get(id))
  tell(
    later.groups.removed(quoted(record), isFolder(record)),
    reversible(groups, (edits) => edits.put(gone())),
  )
}

/** Makes a folder from a group. The group stays. */
export async function makeFolder(sync: Sync, group: Bookmark, tabs: readonly Bookmark[]): Promise<void> {
  const folder = newBookmark({ title: group.title })
  const inside = tabs.map((tab) => newBookmark({ ...contentOf(tab), parentId: folder.id }))
  await sync.put([folder, ...inside])
  const ids = [folder, ...inside].map(({ id }) => id)
  tell(later.groups.madeFolder(quoted(folder)), {
    ...reversible(sync, (edits) => edits.remove(ids)),
    show: () => go('folder', folder.id),
  })
}

/** Makes a group from the bookmarks in a folder and its subfolders. The folder stays. */
export async function makeGroup(groups: Sync, { title }: Bookmark, links: readonly Bookmark[]): Promise<void> {
  const [id, dateAdded] = [uuidv7(), new Date(serviceNow()).toISOString()]
  const group: Bookmark = { id, title, source: 'groups', color: 'grey', dateAdded }
  const tabs = links.map((link): Bookmark => {
    return { ...contentOf(link), id: uuidv7(), source: 'groups', parentId: id, dateAdded }
  })
  await groups.put([group, ...tabs])
  const ids = [group, ...tabs].map((one) => one.id)
  tell(
    later.groups.madeGroup(quoted(group)),
    reversible(groups, (edits) => edits.remove(ids)),
  )
}

/** The fields that a bookmark and a tab of the same page share. */
function contentOf({ title, url, favicon }: Bookmark): Pick<Bookmark, 'title' | 'url' | 'favicon'> {
  return { title, ...(url !== undefined && { url }), ...(favicon !== undefined && { favicon }) }
}
