import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ApiError } from '../../client/errors.ts'
import type { DeletedBookmark, History } from '../../client/history.ts'
import { useSync, useSyncStatus } from '../../client/react.ts'
import { parseQuery } from '../../client/sync/search/query.ts'
import { Search } from '../../client/sync/search/search.ts'
import { Letter } from '../library/icon.tsx'
import { type Selected, useSelected } from '../library/keys.ts'
import { type Bookmark, hostOf, isFolder, nameOf } from '../library/kind.ts'
import { useApp } from '../session/context.ts'
import { Answer, type Loaded, useLoaded } from '../session/loaded.tsx'
import { unsentOf } from '../session/network.ts'
import { go, hrefOf } from '../session/route.ts'
import { withRecentSignIn } from '../session/with-recent-sign-in.tsx'
import { Button } from '../ui/button.tsx'
import { Confirmation, Dialog } from '../ui/dialogs.tsx'
import { Field } from '../ui/form.tsx'
import { HistoryIcon, MoreIcon, TrashIcon } from '../ui/icons.tsx'
import { hasLeft } from '../ui/leaving.ts'
import { Menu } from '../ui/menu.tsx'
import { tell } from '../ui/tell.ts'
import { Time } from '../ui/time.tsx'
import { Empty, Progress, type Step } from '../ui/waiting.tsx'
import { later } from '../words/later.ts'
import { fill, say } from '../words/words.ts'
import { restore, restoreAll, useHistory, useRemoteChanges } from './use-history.ts'

/** Deleted bookmarks, the latest first, until the service erases them. */
export function Trash({ rest }: { rest: string }) {
  const { client } = useApp()
  const history = useHistory()
  // A bookmark deleted on this device appears after the service has received the deletion.
  const isSent = unsentOf(useSyncStatus()) === 0
  const trash = useTrash(isSent)
  const [query, setQuery] = useState('')
  const sync = useSync()
  const found = useFound(trash.value?.bookmarks ?? nothing, query)
  const selected = useSelected(useMemo(() => found.map(({ id }) => id), [found]))
  const isAllSelected = selected.ids.size > 0 && selected.ids.size === found.length
  const restoreSelected = async () => {
    const wanted = found.flatMap(({ id, bookmark }) => (bookmark && selected.ids.has(id) ? bookmark : []))
    await restoreAll(sync, [...new Set(wanted.flatMap((one) => [one, ...trash.inside(one.id)]))])
    await trash.load()
  }
  const emptyTrash = async () => {
    const listed = await trash.loadAll()
    if (!listed) return
    withRecentSignIn(client, { to: hrefOf('trash', 'empty') }, (close) => (
      <EmptyTrash history={history} ids={listed.bookmarks.map(({ id }) => id)} reload={trash.load} close={close} />
    ))
  }
  useEffect(() => {
    if (rest === 'empty') void emptyTrash()
  }, [rest])
  return (
    <section class="page" aria-labelledby="trash-title">
      <div class="heading">
        <h1 id="trash-title">{say.app.views.trash}</h1>
        <p>{later.history.trashMore}</p>
      </div>
      <Answer of={trash}>
        {({ bookmarks, next }) => {
          if (bookmarks.length === 0) return <Empty icon={TrashIcon} title={later.history.trashEmpty} />
          return (
            <>
              <div class="trash-tools">
                <Field
                  label={later.history.searchTrash}
                  name="query"
                  autocomplete="off"
                  onInput={(event) => {
                    setQuery(event.currentTarget.value)
                    if (next !== null) void trash.loadAll()
                  }}
                />
                <Button look="danger" onClick={emptyTrash}>
                  {later.history.emptyTrash}
                </Button>
              </div>
              <div class="bar">
                <p class="hint" role="status">
                  {countText(found.length, next !== null, query !== '')}
                </p>
                <Button onClick={isAllSelected ? selected.clear : selected.all}>
                  {isAllSelected ? say.ui.selectNone : say.ui.selectAll}
                </Button>
                {selected.ids.size > 0 && (
                  <Button look="primary" onClick={restoreSelected}>
                    {later.history.restoreSelected(selected.ids.size)}
                  </Button>
                )}
              </div>
              <ul class="plain trash-list" aria-label={later.history.trashList}>
                {found.slice(0, trash.mostShown).map((deleted) => (
                  <TrashRow key={deleted.id} deleted={deleted} trash={trash} selected={selected} />
                ))}
              </ul>
              {(next !== null || found.length > trash.mostShown) && (
                <Button onClick={trash.showMore}>{later.history.showMore}</Button>
              )}
            </>
          )
        }}
      </Answer>
    </section>
  )
}

function countText(count: number, areMore: boolean, isSearch: boolean): string {
  if (isSearch) return areMore ? later.history.foundOrMore(count) : later.history.found(count)
  return areMore ? later.history.inTrashOrMore(count) : later.history.inTrash(count)
}

interface TrashRowProps {
  deleted: DeletedBookmark
  trash: TrashList
  selected: Selected
}

function TrashRow({ deleted, trash, selected }: TrashRowProps) {
  const { id, bookmark, deletedAt, erasedAt } = deleted
  const { client } = useApp()
  const history = useHistory()
  const sync = useSync()
  const name = bookmark ? nameOf(bookmark) : later.history.notReadable
  const inside = bookmark && isFolder(bookmark) ? trash.inside(id) : []
  const putBack = async () => {
    if (bookmark && inside.length > 0) await restoreAll(sync, [bookmark, ...inside])
    else await restore(history, sync, id)
    await trash.load()
  }
  const question = {
    title: later.history.eraseTitle(name),
    text: later.history.eraseMore,
    action: later.history.eraseForGood,
    run: async () => {
      await history.purge(id)
      if (hasLeft()) tell(later.history.erasedCount(1))
      else tell(later.history.erased(name), { about: [id] })
      await trash.load()
    },
  }
  // Asks for a new sign-in only if the service requires it: with an older one, it erases up to 20 bookmarks a day.
  const erase = () =>
    withRecentSignIn(client, { to: hrefOf('trash'), asksFirst: false }, (close) => (
      <Confirmation {...question} close={close} />
    ))
  return (
    <li class="trash-row" data-id={id}>
      <input
        type="checkbox"
        aria-label={say.library.select(name)}
        // A bookmark that cannot be decrypted cannot be selected: restoring the selection needs the contents.
        disabled={!bookmark}
        checked={selected.ids.has(id)}
        onClick={(event) => selected.toggle(id, event.shiftKey)}
      />
      {bookmark ? <Letter bookmark={bookmark} /> : <span class="letter own">?</span>}
      <div class="row-text">
        <span class="row-title" dir="auto">
          {name}
        </span>
        <span class="row-sub">{bookmark && describe(bookmark, inside.length)}</span>
        <span class="row-sub">
          {fill(later.history.trashTimes, { deleted: <Time at={deletedAt} />, erased: <Time at={erasedAt} /> })}
        </span>
      </div>
      <Button aria-label={later.history.restoreName(name)} onClick={putBack}>
        {later.history.restore}
      </Button>
      <Menu
        label={say.library.moreFor(name)}
        icon={MoreIcon}
        items={[
          { label: say.app.views.history, icon: HistoryIcon, action: () => go('history', id) },
          { label: later.history.eraseNow, icon: TrashIcon, action: erase },
        ]}
      />
    </li>
  )
}

function describe(bookmark: Bookmark, inside: number): string {
  if (!isFolder(bookmark)) return hostOf(bookmark) || (bookmark.url ?? '')
  return inside === 0 ? say.ui.folder : later.history.folderWith(inside)
}

/** The number of records erased at the same time. */
const atOnce = 4

interface EmptyTrashProps {
  history: History
  /** The contents of the trash when the person asked. Bookmarks deleted later stay. */
  ids: readonly string[]
  reload: () => Promise<unknown>
  close: () => void
}

/** Asks whether to erase everything in the trash, and shows the progress. */
function EmptyTrash({ history, ids, reload, close }: EmptyTrashProps) {
  const [step, setStep] = useState<Step>()
  const [stop] = useState(() => new AbortController())
  const end = () => {
    stop.abort()
    close()
  }
  const run = async () => {
    let done = 0
    const count = (step: Step) => {
      done = step.done ?? 0
      setStep(step)
    }
    try {
      await erase(history, ids, count, stop.signal).finally(() => done > 0 && tell(later.history.erasedCount(done)))
      close()
    } finally {
      setStep(undefined)
      await reload()
    }
  }
  return (
    <Dialog title={later.history.emptyTitle} close={end}>
      <div class="form">
        <p>{later.history.emptyMore(ids.length)}</p>
        {step && <Progress {...step} />}
        <div class="bar end">
          <Button onClick={end} autofocus>
            {step ? later.history.stop : say.ui.cancel}
          </Button>
          <Button look="danger" onClick={run}>
            {later.history.eraseEverything}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

async function erase(
  history: History,
  ids: readonly string[],
  show: (step: Step) => void,
  signal: AbortSignal,
): Promise<void> {
  show({ what: later.history.erasing })
  let done = 0
  const pending = ids.values()
  const work = async () => {
    for (const id of pending) {
      if (signal.aborted) return
      try {
        await history.purge(id)
      } catch (error) {
        // The bookmark was restored meanwhile, on another device or in another tab.
        if (error instanceof ApiError && error.status === 404) continue
        throw error
      }
      show({ what: later.history.erasing, done: ++done, total: ids.length })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}

/** The loaded part of the trash. */
interface TrashPart {
  bookmarks: readonly DeletedBookmark[]
  /** The cursor of the next page; null if the whole trash is loaded. */
  next: string | null
}

interface TrashList extends Loaded<TrashPart> {
  /** The deleted contents of a deleted folder, as far as they are loaded; folders before their contents. */
  inside(folderId: string): Bookmark[]
  mostShown: number
  showMore(): Promise<void>
  /** Loads the whole trash, so that a search misses nothing. */
  loadAll(): Promise<TrashPart | undefined>
}

/** Rows shown at first, and with each click on “Show more”. */
const rowsOfPage = 100

/** Loads the trash page by page, and again after this or another device has changed something. */
function useTrash(isSent: boolean): TrashList {
  const history = useHistory()
  const [mostShown, setMostShown] = useState(rowsOfPage)
  const changes = useRemoteChanges()
  /** Pages are loaded until there are at least this many bookmarks. */
  const wanted = useRef(1)
  // Loads again after other devices delete many bookmarks: those await confirmation here, but are in the trash already.
  const held = useSyncStatus().heldDeletions?.count
  const loaded = useLoaded(() => list(history, wanted.current), [isSent, changes, held])
  const byFolder = useMemo(() => groupByFolder(loaded.value?.bookmarks ?? []), [loaded.value])

  return {
    ...loaded,
    mostShown,
    inside(folderId) {
      const found = new Map<string, Bookmark>()
      const folders = [folderId]
      for (const folder of folders) {
        for (const bookmark of byFolder.get(folder) ?? []) {
          if (found.has(bookmark.id)) continue
          found.set(bookmark.id, bookmark)
          folders.push(bookmark.id)
        }
      }
      return [...found.values()]
    },
    async showMore() {
      const most = mostShown + rowsOfPage
      wanted.current = Math.max(wanted.current, most)
      if ((loaded.value?.bookmarks.length ?? 0) < most) await loaded.load()
      setMostShown(most)
    },
    loadAll() {
      wanted.current = Number.POSITIVE_INFINITY
      return loaded.load()
    },
  }
}

async function list(history: History, count: number): Promise<TrashPart> {
  let { bookmarks, next } = await history.trash()
  while (next !== null && bookmarks.length < count) {
    const page = await history.trash({ after: next })
    bookmarks = [...bookmarks, ...page.bookmarks]
    next = page.next
  }
  return { bookmarks, next }
}

const nothing: readonly DeletedBookmark[] = []

/** Returns the deleted bookmarks that the search finds, in the same order. Without a search, returns all. */
function useFound(bookmarks: readonly DeletedBookmark[], query: string): readonly DeletedBookmark[] {
  const search = useMemo(() => {
    const live = new Map(bookmarks.flatMap(({ id, bookmark }) => (bookmark ? [[id, bookmark] as const] : [])))
    return new Search({ live }, { on: () => () => {} })
  }, [bookmarks])
  const [ids, setIds] = useState<ReadonlySet<string>>()
  useEffect(() => {
    const stop = new AbortController()
    const take = (found: readonly Bookmark[]) => setIds(new Set(found.map(({ id }) => id)))
    if (parseQuery(query).length === 0) setIds(undefined)
    else search.find(query, { limit: Number.POSITIVE_INFINITY, signal: stop.signal }).then(take, () => {})
    return () => stop.abort()
  }, [search, query])
  return useMemo(() => (ids ? bookmarks.filter(({ id }) => ids.has(id)) : bookmarks), [bookmarks, ids])
}

function groupByFolder(deleted: readonly DeletedBookmark[]): Map<string | undefined, Bookmark[]> {
  const bookmarks = deleted.flatMap(({ bookmark }) => bookmark ?? [])
  return Map.groupBy(bookmarks, ({ parentId }) => parentId)
}
