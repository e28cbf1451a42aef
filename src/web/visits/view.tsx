import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { useSync, useSyncStatus } from '../../client/react.ts'
import { findIds, markedIn, useSearched } from '../library/found.tsx'
import { Letter } from '../library/icon.tsx'
import { type Bookmark, nameOf } from '../library/kind.ts'
import { PageLink, PageSite } from '../library/page-link.tsx'
import { recordsOf } from '../library/records.ts'
import { sorter } from '../library/sorter.ts'
import { useApp } from '../session/context.ts'
import { go } from '../session/route.ts'
import { noteVisits } from '../session/types.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { confirmFirst } from '../ui/dialogs.tsx'
import { TrashIcon, VisitsIcon } from '../ui/icons.tsx'
import { SearchField } from '../ui/search-field.tsx'
import { VirtualList } from '../ui/virtual-list.tsx'
import { Empty } from '../ui/waiting.tsx'
import { locale } from '../words/language.ts'
import { later } from '../words/later.ts'
import { say } from '../words/words.ts'
import { type Day, daysOf, dropErased, eraseAll, removeDay, removeEntry, startOfDay, visitedAt } from './visits.ts'

/** The pages visited in browsers with the extension, by day. This browser has them only if the person chose that. */
export function Visits({ rest: query }: { rest: string }) {
  const { areVisitsShown } = useApp()
  return (
    <section class="page" aria-labelledby="visits-title">
      <div class="heading">
        <h1 id="visits-title">{say.app.views.visits}</h1>
        <p>{areVisitsShown ? later.visits.more : later.visits.off}</p>
      </div>
      {areVisitsShown ? <Entries query={query} /> : <TurnOn />}
    </section>
  )
}

function TurnOn() {
  const { userId } = useApp()
  const turnOn = () => {
    noteVisits(userId, true)
    location.reload()
  }
  return (
    <div class="bar">
      <Button look="primary" onClick={turnOn}>
        {later.visits.turnOn}
      </Button>
    </div>
  )
}

/** A day, or an entry of the day above it. */
type Line = { key: string } & ({ day: Day } | { id: string })

const rowHeight = 3.75

function Entries({ query }: { query: string }) {
  const sync = useSync()
  const { userId, keys } = useApp()
  const history = useMemo(() => recordsOf(sync, 'history'), [sync])
  const ids = useLastFirst(history)
  useEffect(() => void dropErased(sync, keys).catch(() => {}), [ids])
  const isSearch = query.trim() !== ''
  // Until the search has a result, the list shows everything.
  const found = useSearched(history, (signal) => findIds(history, query, signal), [query])
  const lines = useMemo(() => {
    const shown = isSearch && found ? ids.filter((id) => found.has(id)) : ids
    return daysOf(history, shown).flatMap((day): Line[] => [
      { key: `${day.start}`, day },
      ...day.ids.map((id) => ({ key: id, id })),
    ])
  }, [ids, found, isSearch])
  const words = useMemo(() => (isSearch ? markedIn(query) : []), [query])
  const { lastSync } = useSyncStatus()
  const turnOff = async () => {
    // The browser deletes its copy of the history only after unsent edits are sent.
    if (sync.status().waiting > 0) await sync.syncNow()
    noteVisits(userId, false)
    location.reload()
  }
  const erase = () =>
    confirmFirst({
      title: later.visits.eraseTitle,
      text: later.visits.eraseMore,
      action: later.visits.erase,
      run: () => eraseAll(sync, keys),
    })
  return (
    <>
      <SearchField
        label={later.visits.search}
        query={query}
        onSearch={(text) => go('visits', text, { replace: true })}
      />
      <div class="bar">
        <Button onClick={turnOff}>{later.visits.turnOff}</Button>
        {ids.length > 0 && (
          <Button look="danger" onClick={erase}>
            {later.visits.eraseAll}
          </Button>
        )}
      </div>
      {lines.length > 0 ? (
        <VirtualList
          label={say.app.views.visits}
          count={lines.length}
          rowHeight={rowHeight}
          keyOf={(index) => (lines[index] as Line).key}
          item={(index) => {
            const line = lines[index] as Line
            if ('day' in line) return <DayRow history={history} day={line.day} isSearch={isSearch} />
            const entry = history.get(line.id)
            return entry && <EntryRow history={history} entry={entry} words={words} />
          }}
        />
      ) : isSearch ? (
        found && <p role="status">{say.library.nothingFound}</p>
      ) : (
        <Empty icon={VisitsIcon} title={lastSync === 0 ? say.ui.loading : later.visits.none}>
          <p>{later.visits.noneMore}</p>
        </Empty>
      )}
    </>
  )
}

/** Milliseconds between sorts: in a first sync, entries arrive faster than a long list can be sorted. */
const againMs = 500

/** Returns the ids of all entries, the last visited first. */
function useLastFirst(history: Sync): readonly string[] {
  const sort = useMemo(() => sorter((history: Sync) => [...history.bookmarks().keys()], 'visited'), [history])
  const [ids, setIds] = useState(() => sort(history))
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const refresh = () => {
      timer = undefined
      setIds(sort(history))
    }
    refresh()
    const off = history.on('change', ({ origin }) => {
      // An edit of this device appears immediately.
      if (origin === 'local') refresh()
      else timer ??= setTimeout(refresh, againMs)
    })
    return () => {
      clearTimeout(timer)
      off()
    }
  }, [history])
  return ids
}

const dayFormat = new Intl.DateTimeFormat(locale, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })
const timeFormat = new Intl.DateTimeFormat(locale, { timeStyle: 'short' })

function DayRow({ history, day: { start }, isSearch }: { history: Sync; day: Day; isSearch: boolean }) {
  const name = start === 0 ? later.visits.unknownDay : dayFormat.format(start)
  const ask = () =>
    confirmFirst({
      title: later.visits.removeDayTitle(name),
      text: later.visits.removeDayMore,
      action: later.visits.remove,
      run: () => removeDay(history, start),
    })
  return (
    <div class="row list">
      <h2 class="row-text">{start === startOfDay(Date.now()) ? later.visits.today(name) : name}</h2>
      {/* Not during a search, which may show only some of the pages that the button would remove. */}
      {!isSearch && (
        <Button look="quiet" icon={TrashIcon} class="compact" aria-label={later.visits.removeDay(name)} onClick={ask}>
          {later.visits.removeThisDay}
        </Button>
      )}
    </div>
  )
}

function EntryRow({ history, entry, words }: { history: Sync; entry: Bookmark; words: readonly string[] }) {
  const { visitCount = 1 } = entry
  const name = nameOf(entry)
  const time = visitedAt(entry)
  return (
    <div class="row list">
      <Letter bookmark={entry} />
      <div class="row-text">
        <PageLink page={entry} words={words} />
        <span class="row-sub">
          {time > 0 && `${timeFormat.format(time)} · `}
          <PageSite page={entry} words={words} />
          {visitCount > 1 && ` · ${later.visits.count(visitCount)}`}
        </span>
      </div>
      <IconButton label={later.visits.removeEntry(name)} icon={TrashIcon} onClick={() => removeEntry(history, entry)} />
    </div>
  )
}
