import { useState } from 'preact/hooks'
import type { BookmarkVersion } from '../../client/history.ts'
import { useBookmark, useSync, useSyncStatus } from '../../client/react.ts'
import { useDeviceName } from '../account/devices.tsx'
import { Letter } from '../library/icon.tsx'
import { type Bookmark, nameOf } from '../library/kind.ts'
import { pathText } from '../library/paths.ts'
import { Answer, useLoaded } from '../session/loaded.tsx'
import { unsentOf } from '../session/network.ts'
import { hrefOf } from '../session/route.ts'
import { Button } from '../ui/button.tsx'
import { exactTime, Time } from '../ui/time.tsx'
import { later } from '../words/later.ts'
import { fill, say } from '../words/words.ts'
import { Changes } from './changes.tsx'
import { restore, useHistory } from './use-history.ts'

/** All versions of a bookmark that the service keeps, the newest first, with the changes between them. */
export function Versions({ rest }: { rest: string }) {
  return <VersionsOf key={rest} id={rest} />
}

function VersionsOf({ id }: { id: string }) {
  const sync = useSync()
  const history = useHistory()
  const current = useBookmark(id)
  const [against, setAgainst] = useState<Against>('previous')
  // When the service receives an edit of this device, the state before it becomes a version.
  const isSent = unsentOf(useSyncStatus()) === 0
  const versions = useLoaded(() => history.history(id), [current, isSent])
  const nameOfDevice = useDeviceName()
  const known = current ?? versions.value?.find(({ bookmark }) => bookmark)?.bookmark
  const path = known ? pathText(sync, known) : ''
  return (
    <section class="page history" aria-labelledby="history-title">
      <div class="heading">
        <nav class="crumbs" aria-label={later.history.backTo}>
          {current ? (
            <a href={hrefOf('folder', current.parentId)}>{say.app.views.folder}</a>
          ) : (
            <a href={hrefOf('trash')}>{say.app.views.trash}</a>
          )}
        </nav>
        <h1 id="history-title">{say.app.views.history}</h1>
        {known && (
          <div class="history-of">
            <Letter bookmark={known} />
            <div class="row-text">
              <strong class="row-title" dir="auto">
                {nameOf(known)}
              </strong>
              <span class="row-sub">
                {[known.url, path && say.commandBar.inFolder(path)].filter(Boolean).join(' ')}
              </span>
            </div>
          </div>
        )}
      </div>
      <Answer of={versions}>
        {(versions) => {
          const entries = timeline(current, versions, against)
          if (entries.length === 0) {
            return <p>{later.history.gone}</p>
          }
          return (
            <>
              {versions.length > 0 ? (
                <div class="field compare">
                  <label for="against">{later.history.mark}</label>
                  <select
                    id="against"
                    value={against}
                    onChange={(event) => setAgainst(event.currentTarget.value as Against)}
                  >
                    <option value="previous">{later.history.against.previous}</option>
                    <option value="now">{later.history.against.now}</option>
                  </select>
                </div>
              ) : (
                <p>{later.history.unchanged}</p>
              )}
              <ol class="versions">
                {entries.map((entry) => (
                  <Entry key={entry.key} entry={entry} id={id} nameOfDevice={nameOfDevice} />
                ))}
              </ol>
            </>
          )
        }}
      </Answer>
    </section>
  )
}

interface EntryProps {
  entry: TimelineEntry
  id: string
  nameOfDevice: (id: string) => string
}

/** The current state, or a version: the change, its time and device, and why the version is not current. */
function Entry({ entry, id, nameOfDevice }: EntryProps) {
  const { bookmark, version, at, change } = entry
  const history = useHistory()
  const sync = useSync()
  const isReadable = !version?.error
  return (
    <li class={version ? 'version' : 'version now'}>
      <h2>
        {version ? later.history.operations[version.operation] : bookmark ? later.history.now : later.history.deleted}
        {at !== undefined && (
          <span class="hint">
            {' '}
            {version ? <Time at={at} isExact /> : fill(later.history.since, { time: <Time at={at} isExact /> })}
          </span>
        )}
      </h2>
      {version && (
        <p class="hint">
          {nameOfDevice(version.deviceId)}. {later.history.reasons[version.reason]}
        </p>
      )}
      {!isReadable && <p>{later.history.unreadable}</p>}
      {change ? <Changes {...change} /> : bookmark && <Content bookmark={bookmark} />}
      {version && version.operation !== 'delete' && (
        <div class="bar">
          <Button
            aria-label={later.history.restoreOf(exactTime(version.timestamp))}
            onClick={() => restore(history, sync, id, version.versionId)}
          >
            {later.history.restoreThis}
          </Button>
        </div>
      )}
    </li>
  )
}

function Content({ bookmark }: { bookmark: Bookmark }) {
  const { url, tags = [] } = bookmark
  return (
    <p class="version-content">
      <strong>{nameOf(bookmark)}</strong>
      {url && <span>{url}</span>}
      {tags.length > 0 && <span>{tags.map((tag) => `#${tag}`).join(' ')}</span>}
    </p>
  )
}

/** The state that each version is compared with. */
type Against = 'previous' | 'now'

/** A state of a bookmark, now or in the past. */
interface TimelineEntry {
  key: string
  /** Null if the bookmark was deleted or cannot be decrypted. */
  bookmark: Bookmark | null
  /** The stored version; undefined for the current state. */
  version: BookmarkVersion | undefined
  /** When the state was made; undefined if that is not known. */
  at: number | undefined
  /** The two states whose differences are shown. Undefined if there is nothing to compare with. */
  change: { before: Bookmark; after: Bookmark } | undefined
}

/** The current state and the versions, newest first. */
function timeline(
  current: Bookmark | undefined,
  versions: readonly BookmarkVersion[],
  against: Against,
): TimelineEntry[] {
  const [latest] = versions.filter(wasCurrent)
  if (!current && !latest) return []
  const now = {
    key: 'now',
    bookmark: current ?? null,
    version: undefined,
    at: latest?.ended ?? timeOf(current?.dateAdded),
    change: against === 'previous' ? changeOf(latest?.bookmark, current) : undefined,
  }
  return [
    now,
    ...versions.map((version) => ({
      key: version.versionId,
      bookmark: version.bookmark,
      version,
      at: version.timestamp,
      change:
        against === 'now'
          ? changeOf(version.bookmark, current)
          : changeOf(comparedWith(version, versions, current), version.bookmark),
    })),
  ]
}

/** Returns the contents before this version. For an edit that never took effect, returns those that it lost to. */
function comparedWith(version: BookmarkVersion, versions: readonly BookmarkVersion[], current: Bookmark | undefined) {
  const others = versions.filter(wasCurrent)
  if (wasCurrent(version)) return others[others.indexOf(version) + 1]?.bookmark
  const winner = others.find(({ began, ended }) => (began ?? 0) <= version.ended && version.ended < ended)
  return winner ? winner.bookmark : current
}

function wasCurrent({ began }: BookmarkVersion): boolean {
  return began !== null
}

function changeOf(before: Bookmark | null | undefined, after: Bookmark | null | undefined) {
  return before && after ? { before, after } : undefined
}

function timeOf(date: string | undefined): number | undefined {
  const time = Date.parse(date ?? '')
  return Number.isNaN(time) ? undefined : time
}
