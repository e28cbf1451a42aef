/** The actions of a person on bookmarks. Those that change something show a message and can be undone. */
import { v7 as uuidv7 } from 'uuid'
import { withFieldsOf } from '../../client/bookmark/merge.ts'
import type { Sync } from '../../client/index.ts'
import { go, readRoute } from '../session/route.ts'
import { confirmFirst } from '../ui/dialogs.tsx'
import { UserFacingError } from '../ui/failure.ts'
import { serviceNow } from '../ui/service-time.ts'
import { isLastUndo, type Outcome, tell } from '../ui/tell.ts'
import { say } from '../words/words.ts'
import { withContents } from './contents.ts'
import { type Bookmark, hostOf, isFolder, quoted } from './kind.ts'
import { pageOf } from './links.ts'
import { reveal } from './reveal.ts'
import { type Edits, reversible, revertStep } from './reversible.ts'
import { withTags } from './tag-names.ts'

/** Deleting more bookmarks than this, which is more than the person can see at once, asks first. */
const maxWithoutAsking = 100

/** Deletes bookmarks and the contents of folders among them. Then calls `done`. */
export async function remove(sync: Sync, ids: readonly string[], done = () => {}): Promise<void> {
  const removed = withContents(sync, ids)
  if (removed.length === 0) return
  await askIfMany(removed, done, async () => {
    await sync.remove(removed.map(({ id }) => id))
    tellRemoved(sync, removed)
  })
}

/** Merges each group into its first bookmark, which gets all tags and notes, and an icon if one has it. Deletes the rest. */
export async function merge(sync: Sync, groups: readonly (readonly string[])[]): Promise<void> {
  const found = groups.map((ids) => existing(sync, ids))
  const removed = found.flatMap(([, ...others]) => others)
  const before = found.flatMap(([first]) => first ?? [])
  if (removed.length === 0) return
  await askIfMany(
    removed,
    () => {},
    async () => {
      const after = found.flatMap(merged)
      await sync.put(after)
      await sync.remove(removed.map(({ id }) => id))
      const undo = async (edits: Edits) => {
        await putBack(sync, edits, before, after)
        await restore(sync, edits, removed)
      }
      tell(say.library.deleted(countOf(removed)), reversible(sync, undo))
    },
  )
}

function merged([first, ...others]: readonly Bookmark[]): Bookmark[] {
  if (!first) return []
  const all = [first, ...others]
  const tags = withTags(tagsOf(first), others.flatMap(tagsOf))
  const notes = [...new Set(all.flatMap(({ description }) => description || []))]
  const favicon = all.find((one) => one.favicon)?.favicon
  return [
    {
      ...first,
      ...(tags.length > 0 && { tags }),
      ...(notes.length > 0 && { description: notes.join('\n\n') }),
      ...(favicon !== undefined && { favicon }),
    },
  ]
}

async function askIfMany(removed: readonly Bookmark[], done: () => void, run: () => Promise<void>): Promise<void> {
  if (removed.length <= maxWithoutAsking) return run().then(done)
  confirmFirst({
    title: say.library.deleteMany(countOf(removed)),
    text: say.library.deleteManyMore,
    action: say.ui.delete,
    run,
    ran: done,
  })
}

/** Deletions within this many milliseconds share one message and one Undo, if no other action came in between. */
const joinMs = 5000
let joined: { removed: readonly Bookmark[]; toast: number | undefined } | undefined

function tellRemoved(sync: Sync, removed: readonly Bookmark[]): void {
  const before = joined && isLastUndo(joined.toast) ? joined : undefined
  const all = [...new Map([...(before?.removed ?? []), ...removed].map((one) => [one.id, one])).values()]
  const steps = reversible(sync, (edits) => restore(sync, edits, all))
  const toast = tell(say.library.deleted(countOf(all)), { ...steps, replaces: before?.toast })
  joined = { removed: all, toast }
  setTimeout(() => {
    if (joined?.toast === toast) joined = undefined
  }, joinMs)
}

/** A new bookmark with the fields of the draft. An empty draft makes an untitled folder at the top level. */
export function newBookmark(draft: Partial<Bookmark>): Bookmark {
  return { id: uuidv7(), title: '', source: 'bookmarks', dateAdded: new Date(serviceNow()).toISOString(), ...draft }
}

/**
 * Moves bookmarks to the end of a folder, or of the top level. Those that are there already stay in their place.
 *
 * @param fresh the folder, if it is new and must be stored, too
 */
export async function moveInto(
  sync: Sync,
  ids: readonly string[],
  parentId: string | undefined,
  fresh?: Bookmark,
): Promise<void> {
  const inside = new Set(withContents(sync, ids).map(({ id }) => id))
  if (parentId !== undefined && inside.has(parentId)) throw new UserFacingError(say.library.intoItself)
  const before = existing(sync, ids).filter((bookmark) => bookmark.parentId !== parentId)
  if (before.length === 0) return
  await sync.put([...(fresh ? [fresh] : []), ...before.map((bookmark) => placed(bookmark, parentId))])
  const after = inTheirPlaces(sync, before)
  const undo = async (edits: Edits) => {
    await putBack(sync, edits, before, after)
    if (fresh) await edits.remove(fresh.id)
  }
  const what = countOf(before)
  tell(parentId === undefined ? say.library.movedToTop(what) : say.library.movedTo(what, folderText(sync, parentId)), {
    ...reversible(sync, undo),
    about: ids,
  })
}

function folderText(sync: Sync, id: string): string {
  const folder = sync.get(id)
  return folder ? quoted(folder) : say.library.missingFolder
}

/** Moves bookmarks into a folder or the top level: before a sibling or, if that is undefined, to the end. */
export async function moveBefore(
  sync: Sync,
  ids: readonly string[],
  parentId: string | undefined,
  sibling: string | undefined,
): Promise<void> {
  const before = existing(sync, ids)
  const moved = before.map(({ id }) => id)
  await sync.move(moved, { parentId, before: sibling })
  const after = inTheirPlaces(sync, before)
  tell(say.library.moved(countOf(before)), {
    ...reversible(sync, (edits) => putBack(sync, edits, before, after)),
    about: ids,
  })
}

/** Adds and removes tags. The ids are of bookmarks, because folders have no tags. */
export async function retag(sync: Sync, ids: readonly string[], added: readonly string[], taken: readonly string[]) {
  const before = existing(sync, ids)
  const gone = new Set(taken)
  const after = before.map((bookmark) => {
    const kept = tagsOf(bookmark).filter((tag) => !gone.has(tag))
    return withOnly(withTags(kept, added), bookmark)
  })
  await sync.put(after)
  const steps = reversible(sync, (edits) => putBack(sync, edits, before, after))
  tell(say.library.tagged(countOf(before)), { ...steps, about: ids })
}

/** Renames a tag in all bookmarks. If the new name exists, both tags become one. */
export async function renameTag(sync: Sync, tag: string, name: string): Promise<void> {
  if (name === tag) return
  const isMerge = taggedWith(sync, name).length > 0
  await replaceTag(sync, tag, name, isMerge ? say.library.tagMerged(tag, name) : say.library.tagRenamed(tag, name))
}

/** Removes the tag from all bookmarks. */
export async function deleteTag(sync: Sync, tag: string): Promise<void> {
  await replaceTag(sync, tag, undefined, say.library.tagDeleted(tag, countOf(taggedWith(sync, tag))))
}

async function replaceTag(sync: Sync, tag: string, name: string | undefined, text: string): Promise<void> {
  const before = taggedWith(sync, tag)
  const after = before.map((bookmark) => {
    const tags = tagsOf(bookmark).flatMap((one) => (one === tag ? (name ?? []) : one))
    return withOnly([...new Set(tags)], bookmark)
  })
  await sync.put(after)
  follow(tag, name)
  const steps = reversible(sync, (edits) => putBack(sync, edits, before, after))
  const followed = (from: string | undefined, to: string | undefined) => (outcome: Outcome) => {
    if (outcome !== 'not') follow(from, to)
    return outcome
  }
  const undo = () => steps.undo().then(followed(name, tag))
  const redo = () => steps.redo().then(followed(tag, name))
  tell(text, { undo, redo, about: before.map(({ id }) => id) })
}

function taggedWith(sync: Sync, tag: string): Bookmark[] {
  return [...sync.bookmarks().values()].filter((bookmark) => tagsOf(bookmark).includes(tag))
}

/** If the view of this tag is open, goes to the view of its new name. */
function follow(from: string | undefined, to: string | undefined): void {
  const { view, rest } = readRoute(location.hash)
  if (view === 'tag' && rest === from && to !== undefined) go('tag', to, { replace: true })
}

/** The tags of a bookmark. None if another client has written something that is not a list. */
function tagsOf({ tags }: Bookmark): readonly string[] {
  return Array.isArray(tags) ? tags : []
}

function withOnly(tags: string[], { tags: _, ...rest }: Bookmark): Bookmark {
  return { ...rest, ...(tags.length > 0 && { tags }) }
}

/** Saves those addresses that no bookmark has yet. */
export async function addAll(sync: Sync, urls: readonly string[], entries: Partial<Bookmark>): Promise<void> {
  const pages = new Set([...sync.bookmarks().values()].map(({ url }) => pageOf(url)))
  const fresh = urls.filter((url) => pages.size < pages.add(pageOf(url)).size)
  const added = fresh.map((url) => newBookmark({ ...entries, url, title: hostOf({ url } as Bookmark) }))
  await sync.put(added)
  const ids = added.map(({ id }) => id)
  const text = say.library.pasted(countOf(added), urls.length - fresh.length)
  if (added.length === 0) tell(say.library.haveAll)
  else {
    const steps = reversible(sync, (edits) => edits.remove(ids))
    tell(text, { ...steps, about: ids, show: () => reveal(sync, ids[0] as string) })
  }
}

/**
 * Saves a new bookmark, or the edits made since it was opened.
 *
 * @param fresh its folder, if that is new and must be stored, too
 */
export async function save(sync: Sync, bookmark: Bookmark, opened?: Bookmark, fresh?: Bookmark): Promise<void> {
  await sync.put([...(fresh ? [fresh] : []), bookmark], { seen: opened })
  // If the folder has changed, the saved bookmark has a new position.
  const [saved] = inTheirPlaces(sync, [bookmark])
  const steps = reversible(sync, async (edits) => {
    await (opened ? edits.put(opened, { seen: saved }) : edits.remove(bookmark.id))
    if (fresh) await edits.remove(fresh.id)
  })
  const show = () => reveal(sync, bookmark.id)
  tell(savedText(sync, bookmark, opened), { ...steps, about: [bookmark.id], ...(!opened && { show }) })
}

/** The message after saving. It names the folder if the bookmark is in another one than before. */
function savedText(sync: Sync, bookmark: Bookmark, opened: Bookmark | undefined): string {
  const { parentId } = bookmark
  const name = quoted(bookmark)
  if (parentId === opened?.parentId) return opened ? say.library.saved(name) : say.library.added(name)
  if (parentId === undefined) return say.library.savedAtTop(name)
  const folder = folderText(sync, parentId)
  return opened ? say.library.savedIn(name, folder) : say.library.addedIn(name, folder)
}

function existing(sync: Sync, ids: readonly string[]): Bookmark[] {
  return ids.flatMap((id) => sync.get(id) ?? [])
}

function placed({ parentId: _, position: __, ...rest }: Bookmark, parentId: string | undefined): Bookmark {
  return { ...rest, ...(parentId !== undefined && { parentId }) }
}

/** The bookmarks with their current folders and positions. */
function inTheirPlaces(sync: Sync, bookmarks: readonly Bookmark[]): Bookmark[] {
  return bookmarks.map((one) => withFieldsOf(sync.get(one.id) ?? one, ['parentId'], one))
}

/** Undoes an action on the bookmarks that still exist. `after` is how it left them. */
async function putBack(
  sync: Sync,
  edits: Edits,
  before: readonly Bookmark[],
  after: readonly Bookmark[],
): Promise<void> {
  const made = new Map(after.map((one) => [one.id, one]))
  await edits.put(
    before.flatMap((old) => {
      const now = sync.get(old.id)
      return now ? revertStep(old, made.get(old.id) ?? old, now) : []
    }),
  )
}

/** Restores bookmarks that are still deleted. One that exists again stays as somebody has restored it since. */
async function restore(sync: Sync, edits: Edits, removed: readonly Bookmark[]): Promise<void> {
  await edits.put(removed.filter(({ id }) => !sync.get(id)))
}

function countOf(bookmarks: readonly Bookmark[]): string {
  const [first] = bookmarks
  if (bookmarks.length === 1 && first) return quoted(first)
  return bookmarks.some(isFolder) ? say.ui.items(bookmarks.length) : say.ui.bookmarks(bookmarks.length)
}
