import type { ComponentChildren } from 'preact'
import { ApiError, type Quarantined } from '../../client/index.ts'
import { useSync, useSyncStatus } from '../../client/react.ts'
import { quoted } from '../library/kind.ts'
import { useOutdated } from '../offline/register.ts'
import { Button } from '../ui/button.tsx'
import { messageOf, sentence } from '../ui/failure.ts'
import { useClockError } from '../ui/service-time.ts'
import { tell } from '../ui/tell.ts'
import { durationText } from '../ui/time.tsx'
import { useLong } from '../ui/waiting.tsx'
import { showDetails } from './details.tsx'
import { stillText, unsentOf, useIsCut, useTrouble } from './network.ts'
import { hrefOf, useRoute } from './route.ts'

/** The notices above every view: all that waits for the person. */
export function SyncTrouble() {
  return (
    <>
      <NewVersion />
      <Connection />
      <ClockNotice />
      <HeldDeletions />
      <Refused />
      <ConflictNotice />
    </>
  )
}

/** While nothing can be exchanged: why, what becomes of edits, and another attempt. */
function Connection() {
  const status = useSyncStatus()
  const { state, reason, retryAt } = status
  const edits = editsText(unsentOf(status))
  const trouble = useTrouble()
  const isCut = useIsCut()
  const isSlow = useLong(state === 'connecting')
  // Then nothing helps but to reload the page.
  if (reason === 'outdated') return null
  if (reason === 'storage') {
    return (
      <Notice isAlert title="The storage of this browser is full">
        What other devices change cannot be saved here, and edits fail. Free some space on the device.
      </Notice>
    )
  }
  const again =
    retryAt === undefined ? 'The page tries again by itself.' : `The page tries again at ${timeOf(retryAt)}.`
  if (reason === 'limited') {
    return (
      <Notice title="The service asks this device to wait">
        It has had too many requests from here. {again} {edits}
      </Notice>
    )
  }
  if (state === 'connecting' && isSlow) {
    return <Notice title="The service or the connection is slow">{edits}</Notice>
  }
  if (reason === 'service') {
    return (
      <Notice title="The service cannot sync at present" isAlert>
        {trouble instanceof ApiError ? messageOf(trouble) : again} {edits}
      </Notice>
    )
  }
  if (state !== 'offline' || reason !== 'network') return null
  if (isCut) {
    return (
      <Notice title="This device is offline, by its switch" canRetry={false}>
        {edits}
      </Notice>
    )
  }
  return (
    <Notice title={navigator.onLine ? 'The service does not answer' : 'This device has no network'}>{edits}</Notice>
  )
}

function timeOf(time: number): string {
  return new Date(time).toLocaleTimeString(undefined, { timeStyle: 'medium' })
}

function editsText(unsent: number): string {
  if (unsent === 0) return 'You can go on: edits are kept here, and sent as soon as that is possible.'
  const edits = unsent === 1 ? 'One edit waits' : `${unsent.toLocaleString()} edits wait`
  return `You can go on. ${edits} in this browser, to be sent as soon as that is possible.`
}

interface NoticeProps {
  title: string
  isAlert?: boolean
  canRetry?: boolean
  children: ComponentChildren
}

function Notice({ title, isAlert = false, canRetry = true, children }: NoticeProps) {
  const sync = useSync()
  const retry = async () => {
    // The notice says why, as long as it is true.
    await sync.syncNow().catch((error: unknown) => tell(stillText(error)))
  }
  return (
    <section class={isAlert ? 'notice' : 'notice calm'} id="connection" aria-label="Connection">
      <div role="status">
        <strong>{title}</strong>
        <p>{children}</p>
      </div>
      {canRetry && <Button onClick={retry}>Try again</Button>}
      <Button onClick={() => showDetails(sync)}>Details</Button>
    </section>
  )
}

/** The sync corrects what the clock says, and so does the page. The person should hear of it, because other programs do not. */
function ClockNotice() {
  const error = useClockError()
  const sync = useSync()
  if (error === 0) return null
  return (
    <section class="notice calm" id="clock" aria-label="Clock">
      <div role="status">
        <strong>
          The clock of this device is {durationText(error)} {error > 0 ? 'ahead' : 'behind'}
        </strong>
        <p>Your bookmarks sync all the same. Set the clock of the device right, or other pages may refuse it.</p>
      </div>
      <Button onClick={() => sync.syncNow()}>Check again</Button>
    </section>
  )
}

/** A newer page can wait until somebody has time for it; a newer store cannot. */
function NewVersion() {
  const isPageOld = useOutdated()
  const isStoreNew = useSyncStatus().reason === 'outdated'
  if (!isPageOld && !isStoreNew) return null
  return (
    <section class={isStoreNew ? 'notice' : 'notice calm'} id="outdated" aria-label="New version">
      <p role="status">
        {isStoreNew
          ? 'Another tab has opened a newer version of this page. Here nothing can be saved any more until it is reloaded.'
          : 'This page has a newer version. Some parts may not open until it is reloaded.'}
      </p>
      <Button onClick={() => location.reload()}>Reload the page</Button>
    </section>
  )
}

/** Another device has deleted many of the bookmarks. That may be a mistake, so it waits for confirmation. */
function HeldDeletions() {
  const { heldDeletions: held } = useSyncStatus()
  const sync = useSync()
  if (!held) return null
  return (
    <section class="panel" aria-label="Deleted on another device">
      <p role="status">
        Another device deleted {held.count} of your {held.of} bookmarks.
      </p>
      <div class="bar">
        <Button onClick={() => sync.approveDeletions(held.count)}>Delete them here too</Button>
        <Button onClick={() => sync.rejectDeletions()}>Keep them everywhere</Button>
      </div>
    </section>
  )
}

const mostShown = 5

/** Edits that the service refused. They are on this device alone, until they are sent or dropped. */
function Refused() {
  const { quarantined } = useSyncStatus()
  const sync = useSync()
  if (quarantined === undefined) return null
  const refused = sync.quarantined()
  const isFull = refused.some(({ reason }) => reason === 'quota')
  const drop = async ({ id, bookmark }: Quarantined) => {
    await sync.dropQuarantined(id)
    tell('The edit was dropped', bookmark ? { undo: () => sync.put(bookmark) } : {})
  }
  return (
    <section class="notice" id="refused" aria-labelledby="refused-title">
      <div role="status">
        <h2 id="refused-title">{isFull ? 'No room left on the service' : 'The service refused edits'}</h2>
        <p>
          {quarantined === 1 ? 'One edit is' : `${quarantined.toLocaleString()} edits are`} in this browser alone.{' '}
          {isFull
            ? 'Delete bookmarks that you no longer need, or ask the operator for more room; then try again.'
            : 'Change the bookmarks, which sends them again, or drop the edits.'}
        </p>
      </div>
      <ul class="plain">
        {refused.slice(0, mostShown).map((one) => (
          <li key={one.id} class="bar" data-id={one.id}>
            <span>
              {one.bookmark ? quoted(one.bookmark) : 'A deletion'}
              {refusalText(one)}
            </span>
            <Button onClick={() => drop(one)}>Drop the edit</Button>
          </li>
        ))}
      </ul>
      {refused.length > mostShown && <p>And {(refused.length - mostShown).toLocaleString()} more.</p>}
      <Button onClick={() => sync.retryQuarantined()}>Try again</Button>
    </section>
  )
}

/** Of a text that only the service knows, its own words are shown. */
function refusalText({ reason, status, message: told }: Quarantined): string {
  if (reason === 'quota') return ''
  return status === 413 ? ' is too big to be saved: shorten its description.' : `: ${sentence(told)}`
}

export function ConflictCount() {
  const { conflicts = 0 } = useSyncStatus()
  return conflicts > 0 ? <span class="badge alert">{conflicts}</span> : null
}

/**
 * Shown above every other view, because a conflict may come at any time. A screen reader says what comes into a place that is there
 * already.
 */
function ConflictNotice() {
  const { conflicts = 0 } = useSyncStatus()
  const { view } = useRoute()
  const isNews = conflicts > 0 && view !== 'conflicts'
  return (
    <p class={isNews ? 'notice calm' : 'unseen'} role="status">
      {isNews && (
        <>
          {conflicts === 1
            ? 'An edit of yours lost to another device’s.'
            : `${conflicts} edits of yours lost to those of other devices.`}{' '}
          <a href={hrefOf('conflicts')}>Decide</a>
        </>
      )}
    </p>
  )
}
