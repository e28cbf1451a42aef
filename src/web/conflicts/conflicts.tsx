import type { ComponentChildren } from 'preact'
import type { BookmarkVersion } from '../../client/history.ts'
import type { Conflict, PlaintextBookmark, Sync } from '../../client/index.ts'
import { useBookmark, useConflicts, useSync, useSyncStatus } from '../../client/react.ts'
import { withMine } from '../../client/sync/edits/resolve.ts'
import { useDeviceName } from '../account/devices.tsx'
import { Changes, fieldName } from '../history/changes.tsx'
import { restore, useHistory, useRemoteChanges } from '../history/use-history.ts'
import { nameOf, quoted } from '../library/kind.ts'
import { recordsOf } from '../library/records.ts'
import { reversible } from '../library/reversible.ts'
import { Answer, useLoaded } from '../session/loaded.tsx'
import { unsentOf } from '../session/network.ts'
import { hrefOf } from '../session/route.ts'
import { Button } from '../ui/button.tsx'
import { ConflictIcon } from '../ui/icons.tsx'
import { serviceNow } from '../ui/service-time.ts'
import { tell } from '../ui/tell.ts'
import { exactTime, Time } from '../ui/time.tsx'
import { Empty } from '../ui/waiting.tsx'
import { later } from '../words/later.ts'
import { fill, say } from '../words/words.ts'

/** Edits that lost a conflict, until somebody decides about them: first this device's, then those of others. */
export function Conflicts() {
  const conflicts = useConflicts()
  const byRecord = Object.groupBy(conflicts, ({ entityType = 'bookmark', id }) => `${entityType} ${id}`)
  const records = Object.entries(byRecord) as [string, [Conflict, ...Conflict[]]][]
  return (
    <section class="page" id="conflicts" aria-label={say.app.views.conflicts}>
      <h1>{say.app.views.conflicts}</h1>
      <ul class="plain">
        {records.map(([key, conflicts]) => (
          <Item key={key} conflicts={conflicts} />
        ))}
      </ul>
      <ServerConflicts>
        {records.length === 0 && (
          <Empty icon={ConflictIcon} title={later.conflicts.none}>
            <p>{later.conflicts.noneMore}</p>
          </Empty>
        )}
      </ServerConflicts>
    </section>
  )
}

function Item({ conflicts }: { conflicts: readonly [Conflict, ...Conflict[]] }) {
  const { id, entityType } = conflicts[0]
  const sync = useSyncOf(conflicts[0])
  const resolve = async (choice: 'mine' | 'theirs') => {
    if (!entityType) return sync.resolve(id, choice)
    for (const conflict of conflicts) await sync.resolve(conflict, choice)
  }
  const current = sync.get(id) ?? null
  const name = quotedName(current ?? conflicts.at(-1)?.mine ?? null)
  const isMineDeleted = withMine(current, conflicts) === null
  const [texts, another] = conflicts.length === 1 ? (conflicts as [Conflict]).flatMap((one) => textsOf(sync, one)) : []
  const short = another || !texts || texts.lost.length + texts.kept.length > mostInButtons ? undefined : texts
  const restoreName = isMineDeleted
    ? later.conflicts.deleteIt
    : short
      ? later.conflicts.use(short.lost)
      : later.conflicts.useLost
  const restoreMine = async () => {
    const before = sync.get(id)
    await resolve('mine')
    const seen = sync.get(id)
    tell(
      isMineDeleted ? say.library.deleted(name) : later.conflicts.lostIsBack(quotedName(seen ?? null)),
      reversible(sync, (edits) => (before ? edits.put(before, { seen }) : edits.remove(id))),
    )
  }
  const keepTheirs = async () => {
    await resolve('theirs')
    tell(current ? later.conflicts.stays(name) : later.conflicts.staysDeleted(name), {
      undoName: restoreName,
      undo: () => {
        const mine = withMine(sync.get(id) ?? null, conflicts)
        return mine ? sync.put(mine) : sync.remove(id)
      },
    })
  }
  return (
    <li class="panel" data-id={id}>
      {conflicts.map((conflict) => (
        <Lost key={keyOf(conflict)} conflict={conflict} />
      ))}
      <div class="bar">
        <Button onClick={restoreMine}>{restoreName}</Button>
        <Button onClick={keepTheirs}>
          {!current
            ? later.conflicts.leaveDeleted
            : isMineDeleted
              ? later.conflicts.keepIt
              : short
                ? later.conflicts.keep(short.kept)
                : later.conflicts.keepAsItIs}
        </Button>
      </div>
    </li>
  )
}

/** Returns a sync of records of the conflict's type: bookmarks, tab groups, or history entries. */
function useSyncOf({ entityType }: Conflict): Sync {
  const sync = useSync()
  return entityType ? recordsOf(sync, entityType === 'group' ? 'groups' : 'history') : sync
}

/** The buttons name the lost and the kept value only if both together have at most this many characters. */
const mostInButtons = 60

interface FieldTexts {
  field: string
  lost: string
  kept: string
}

function textsOf(sync: Sync, { fields, mine, theirs }: Conflict): FieldTexts[] {
  const textOf = (bookmark: PlaintextBookmark | null, field: string): string => {
    if (!bookmark) return later.history.deleted
    if (field === '') return nameOf(bookmark)
    if (field !== 'parentId') return valueText(bookmark[field as keyof PlaintextBookmark])
    const folder = bookmark.parentId === undefined ? undefined : sync.get(bookmark.parentId)
    return folder ? nameOf(folder) : say.ui.topLevel
  }
  return (fields.length > 0 ? fields : ['']).map((field) => ({
    field,
    lost: textOf(mine, field),
    kept: textOf(theirs, field),
  }))
}

/**
 * Shows the edit that lost next to the one that won, field by field. The page does not know who made them: each may
 * come from another tab of this browser or from another device.
 */
function Lost({ conflict }: { conflict: Conflict }) {
  const sync = useSyncOf(conflict)
  const { mine, theirs } = conflict
  const [lostHead, keptHead] = [headOf(later.conflicts.lostEdit, mine), headOf(later.conflicts.keptEdit, theirs)]
  return (
    <>
      <h2>{quotedName(theirs ?? mine)}</h2>
      <table class="lost">
        <thead>
          <tr>
            <th scope="col">{later.conflicts.field}</th>
            <th scope="col">{lostHead}</th>
            <th scope="col">{keptHead}</th>
          </tr>
        </thead>
        <tbody>
          {textsOf(sync, conflict).map(({ field, lost, kept }) => (
            <tr key={field}>
              <th scope="row">{field === '' ? later.conflicts.bookmark : fieldName(field)}</th>
              <td data-whose={lostHead}>{lost}</td>
              <td data-whose={keptHead}>{kept}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}

/** A heading with the time of the edit, if the app that made it stored that. */
function headOf(name: string, bookmark: PlaintextBookmark | null): string {
  const time = Date.parse(bookmark?.dateModified ?? '')
  return Number.isNaN(time) ? name : `${name}, ${exactTime(time)}`
}

function keyOf({ fields, mine, theirs }: Conflict): string {
  return JSON.stringify([fields, mine, theirs])
}

function valueText(value: unknown): string {
  if (value === undefined || value === '') return say.library.empty
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function quotedName(bookmark: PlaintextBookmark | null): string {
  return bookmark ? quoted(bookmark) : later.conflicts.noName
}

/** Conflicts younger than this (ms) are not listed: an active device asks its own user about them. */
const graceMs = 600_000

/**
 * Conflicts that no device has settled and this one does not ask about, perhaps because the device of the lost edit is gone.
 *
 * @param children shown if there are none
 */
function ServerConflicts({ children }: { children: ComponentChildren }) {
  const history = useHistory()
  const nameOfDevice = useDeviceName()
  const here = new Set(useConflicts().map(({ id }) => id))
  const isSent = unsentOf(useSyncStatus()) === 0
  const conflicts = useLoaded(() => history.serverConflicts(), [isSent, useRemoteChanges()])
  return (
    <Answer of={conflicts}>
      {({ conflicts: open, next }) => {
        const versions = open.filter(({ id, ended }) => !here.has(id) && ended < serviceNow() - graceMs)
        if (versions.length === 0) return children
        return (
          <section class="history-section" aria-labelledby="server-conflicts-title">
            <h2 id="server-conflicts-title">{later.conflicts.elsewhere}</h2>
            <p>{later.conflicts.elsewhereMore}</p>
            <ul class="plain history-section">
              {versions.map((version) => (
                <LostElsewhere
                  key={version.versionId}
                  version={version}
                  nameOfDevice={nameOfDevice}
                  settled={conflicts.load}
                />
              ))}
            </ul>
            {next !== null && <p class="hint">{later.conflicts.more}</p>}
          </section>
        )
      }}
    </Answer>
  )
}

interface LostElsewhereProps {
  version: BookmarkVersion
  nameOfDevice: (id: string) => string
  settled: () => Promise<unknown>
}

function LostElsewhere({ version, nameOfDevice, settled }: LostElsewhereProps) {
  const { id, versionId, bookmark, operation, timestamp, deviceId } = version
  const history = useHistory()
  const sync = useSync()
  const current = useBookmark(id)
  const shown = bookmark ?? current
  return (
    <li class="panel" data-version={versionId}>
      <h3>{shown ? nameOf(shown) : later.conflicts.aBookmark}</h3>
      <p class="hint">
        {fill(operation === 'delete' ? later.conflicts.deletedOn : later.conflicts.changedOn, {
          time: <Time at={timestamp} isExact />,
          device: nameOfDevice(deviceId),
        })}
      </p>
      {!current && <p>{later.conflicts.deletedNow}</p>}
      {version.error && <p>{later.conflicts.unreadable}</p>}
      {current && bookmark && (
        <>
          <p>{later.conflicts.wouldChange}</p>
          <Changes before={current} after={bookmark} />
        </>
      )}
      <div class="bar">
        {operation === 'delete' ? (
          <Button
            onClick={async () => {
              await sync.remove(id)
              await history.settleConflict(versionId)
              await settled()
            }}
          >
            {later.conflicts.deleteIt}
          </Button>
        ) : (
          <Button
            onClick={async () => {
              await restore(history, sync, id, versionId)
              await settled()
            }}
          >
            {later.conflicts.putBack}
          </Button>
        )}
        <Button
          onClick={async () => {
            await history.settleConflict(versionId)
            tell(later.conflicts.settled)
            await settled()
          }}
        >
          {later.conflicts.leaveAsItIs}
        </Button>
        <a href={hrefOf('history', id)}>{say.app.views.history}</a>
      </div>
    </li>
  )
}
