import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { type Quarantined, StorageFullError, type Sync } from '../../client/index.ts'
import { useSync, useSyncStatus } from '../../client/react.ts'
import { quoted } from '../library/kind.ts'
import { useOutdated } from '../offline/register.ts'
import { useApp } from '../session/context.ts'
import { retryFailureText, unsentOf, useIsCut, useTrouble } from '../session/network.ts'
import { go, hrefOf, useRoute } from '../session/route.ts'
import { findInterrupted, forgetImport } from '../session/running-import.ts'
import { StoredBookmarks } from '../session/stored.tsx'
import { Button, CopyButton } from '../ui/button.tsx'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { messageOf, sentence } from '../ui/failure.ts'
import { useClockError } from '../ui/service-time.ts'
import { dismissAbout, tell } from '../ui/tell.ts'
import { durationText } from '../ui/time.tsx'
import { useLong } from '../ui/waiting.tsx'
import { locale } from '../words/language.ts'
import { fill, say } from '../words/words.ts'

/** The notices above every view: problems, and what the person should know or decide. */
export function SyncTrouble() {
  return (
    <>
      <NewVersion />
      <Connection />
      <ClockNotice />
      <HeldDeletions />
      <Refused />
      <ConflictNotice />
      <InterruptedImport />
      <BookmarksOfOthers />
    </>
  )
}

/** Shows why nothing is synced and, for most reasons, what happens to edits, and a button to try again. */
function Connection() {
  const status = useSyncStatus()
  const { state, reason, retryAt } = status
  const edits = editsText(unsentOf(status))
  const trouble = useTrouble()
  const isCut = useIsCut()
  const isSlow = useLong(state === 'connecting')
  // Only reloading the page helps, and `NewVersion` offers that.
  if (reason === 'outdated') return null
  if (reason === 'storage') {
    const fails = trouble && !(trouble instanceof StorageFullError)
    return (
      <Notice isAlert title={fails ? say.app.storageFails : say.app.storageFull}>
        {fails ? say.app.storageFailsMore : say.app.storageFullMore}
      </Notice>
    )
  }
  if (reason === 'blocked') {
    return (
      <Notice isAlert title={say.app.blocked}>
        {say.failure.blocked}
      </Notice>
    )
  }
  const again = retryAt === undefined ? say.app.triesAgain : say.app.triesAgainAt(timeOf(retryAt))
  if (reason === 'limited') {
    return (
      <Notice title={say.app.askedToWait}>
        {say.app.tooManyFromHere} {again} {edits}
      </Notice>
    )
  }
  if (state === 'connecting' && isSlow) {
    return <Notice title={say.app.slow}>{edits}</Notice>
  }
  if (reason === 'service') {
    return (
      <Notice title={say.app.serviceCannotSync} isAlert>
        {trouble ? messageOf(trouble) : again} {edits}
      </Notice>
    )
  }
  if (state !== 'offline' || reason !== 'network') return null
  if (isCut) {
    return (
      <Notice title={say.app.switchedOff} canRetry={false}>
        {edits}
      </Notice>
    )
  }
  return <Notice title={navigator.onLine ? say.app.noAnswer : say.app.noNetwork}>{edits}</Notice>
}

function timeOf(time: number): string {
  return new Date(time).toLocaleTimeString(locale, { timeStyle: 'medium' })
}

function editsText(unsent: number): string {
  return unsent === 0 ? say.app.editsKept : say.app.editsWait(unsent)
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
    // A short message is enough, because this notice already shows the reason.
    await sync.syncNow().catch((error: unknown) => tell(retryFailureText(error)))
  }
  return (
    <section class={isAlert ? 'notice' : 'notice calm'} id="connection" aria-label={say.app.connection}>
      <div role="status">
        <strong>{title}</strong>
        <p>{children}</p>
      </div>
      {canRetry && <Button onClick={retry}>{say.ui.tryAgain}</Button>}
      <Button onClick={() => showDetails(sync)}>{say.app.details}</Button>
    </section>
  )
}

/** The sync and the page correct for a wrong clock, but other programs do not, so the person should know. */
function ClockNotice() {
  const error = useClockError()
  const sync = useSync()
  if (error === 0) return null
  return (
    <section class="notice calm" id="clock" aria-label={say.app.clock}>
      <div role="status">
        <strong>
          {error > 0 ? say.app.clockAhead(durationText(error)) : say.app.clockBehind(durationText(error))}
        </strong>
        <p>{say.app.clockMore}</p>
      </div>
      <Button onClick={() => sync.syncNow()}>{say.app.checkAgain}</Button>
    </section>
  )
}

/** Offers to load a newer page. That can wait, unless a newer page has upgraded the database in this browser. */
function NewVersion() {
  const isPageOld = useOutdated()
  const isStoreNew = useSyncStatus().reason === 'outdated'
  if (!isPageOld && !isStoreNew) return null
  return (
    <section class={isStoreNew ? 'notice' : 'notice calm'} id="outdated" aria-label={say.app.newVersion}>
      <p role="status">{isStoreNew ? say.app.newerTab : say.app.newerPage}</p>
      <Button onClick={() => location.reload()}>{say.ui.reload}</Button>
    </section>
  )
}

/** Another device has deleted many bookmarks, perhaps by mistake. They stay here until the person confirms that. */
function HeldDeletions() {
  const { heldDeletions: held } = useSyncStatus()
  const sync = useSync()
  if (!held) return null
  return (
    <section class="panel" aria-label={say.app.deletedElsewhere}>
      <p role="status">{say.app.deletedMany(held.count, held.of)}</p>
      <div class="bar">
        <Button onClick={() => sync.approveDeletions(held.count)}>{say.app.deleteHereToo}</Button>
        <Button onClick={() => sync.rejectDeletions()}>{say.app.keepEverywhere}</Button>
      </div>
    </section>
  )
}

/** Other people's bookmarks in this browser. Not shown on the second device, which is in the same browser. */
function BookmarksOfOthers() {
  const { device, userId } = useApp()
  return device.keepsKey ? <StoredBookmarks signedIn={userId} /> : null
}

/** Tells of an import that stopped when the page was closed or reloaded, before anything was stored. */
function InterruptedImport() {
  const { userId } = useApp()
  const [total, setTotal] = useState(0)
  useEffect(() => void findInterrupted(userId).then(setTotal), [userId])
  if (total === 0) return null
  const close = () => {
    forgetImport(userId)
    setTotal(0)
  }
  const choose = () => {
    close()
    go('settings')
  }
  return (
    <section class="notice" id="interrupted" aria-label={say.app.interruptedImport}>
      <p role="status">{say.app.interrupted(total)}</p>
      <Button onClick={choose}>{say.app.views.settings}</Button>
      <Button onClick={close}>{say.ui.close}</Button>
    </section>
  )
}

const mostShown = 5

/** Edits that the service or a proxy refused. They exist on this device only, until they are sent or dropped. */
function Refused() {
  const { quarantined } = useSyncStatus()
  const sync = useSync()
  if (quarantined === undefined) return null
  const refused = sync.quarantined()
  const isFull = refused.some(({ reason }) => reason === 'quota')
  const title = refused.every(isIntercepted) ? say.app.editsIntercepted : say.app.editsRefused
  const drop = async (edit: Quarantined) => {
    const { entityType, bookmark } = edit
    await sync.dropQuarantined(edit)
    const records = entityType === 'group' ? sync.groups : entityType === 'history' ? sync.history : sync
    tell(say.app.editDiscarded, bookmark ? { undo: () => records.put(bookmark) } : {})
  }
  return (
    <section class="notice" id="refused" aria-labelledby="refused-title">
      <div role="status">
        <h2 id="refused-title">{isFull ? say.app.noRoomOnService : title}</h2>
        <p>
          {say.app.editsHereAlone(quarantined)} {isFull ? say.app.makeRoom : say.app.changeOrDiscard}
        </p>
      </div>
      <ul class="plain">
        {refused.slice(0, mostShown).map((one) => (
          <li key={one.id} class="bar" data-id={one.id}>
            <span>{refusalText(one)}</span>
            <Button onClick={() => drop(one)}>{say.app.discardEdit}</Button>
          </li>
        ))}
      </ul>
      {refused.length > mostShown && <p>{say.app.andMore(refused.length - mostShown)}</p>}
      <Button onClick={() => sync.retryQuarantined()}>{say.ui.tryAgain}</Button>
    </section>
  )
}

/** Explains a refusal. For errors that only the service can explain, its own text is shown. */
function refusalText(refused: Quarantined): string {
  const { bookmark, reason, status, message: told } = refused
  const name = bookmark ? quoted(bookmark) : say.app.deletion
  if (reason === 'quota') return name
  if (status === 413) return say.app.tooBig(name)
  const why = isIntercepted(refused) ? say.app.intercepted : say.failure.refusedOtherwise(sentence(told))
  return say.app.refusedWith(name, why)
}

function isIntercepted({ reason }: Quarantined): boolean {
  return reason === 'intercepted'
}

export function ConflictCount() {
  const { conflicts = 0 } = useSyncStatus()
  return conflicts > 0 ? <span class="badge alert">{conflicts}</span> : null
}

/**
 * Tells of conflicts, above every view except the list of them. The element exists from the start, so that screen
 * readers announce a text that appears in it.
 */
function ConflictNotice() {
  const { conflicts = 0 } = useSyncStatus()
  const { view } = useRoute()
  const isNews = conflicts > 0 && view !== 'conflicts'
  const sync = useSync()
  // Hides messages such as "Saved", which are not true of an edit that lost a conflict.
  useLayoutEffect(() => sync.on('conflict', ({ id }) => dismissAbout(id)), [sync])
  return (
    <p class={isNews ? 'notice calm' : 'unseen'} role="status">
      {isNews && fill(say.app.editsLost(conflicts), { a: (text) => <a href={hrefOf('conflicts')}>{text}</a> })}
    </p>
  )
}

/** Shows the sync's state, for a bug report. */
export function showDetails(sync: Sync): void {
  showDialog((close) => <Details sync={sync} close={close} />)
}

function Details({ sync, close }: { sync: Sync; close: () => void }) {
  const [text, setText] = useState('')
  useEffect(() => {
    const show = (told: object) => setText(JSON.stringify(told, null, 2))
    // `explain` fails after the sync has stopped, but the status is still there.
    sync.explain().then(show, () => show({ status: sync.status() }))
  }, [])
  return (
    <Dialog title={say.app.details} close={close}>
      <p>{say.app.detailsFor}</p>
      <textarea class="details" aria-label={say.app.details} readOnly rows={16} value={text} />
      <div class="bar">
        <CopyButton text={text} />
      </div>
    </Dialog>
  )
}
