import { useEffect, useState } from 'preact/hooks'
import {
  type Client,
  createSync,
  deriveKeys,
  type Keys,
  keepMasterKey,
  loadMasterKey,
  OfflineError,
  StorageFullError,
  StoreBlockedError,
  StoreVersionError,
  type Sync,
  type Vault,
} from '../../client/index.ts'
import { forgetCode, isScanned } from '../pairing/code.ts'
import type { App } from '../session/context.ts'
import type { Device } from '../session/device.ts'
import { keepDraftsOf } from '../session/draft.ts'
import { followTrouble, openWebSocket } from '../session/network.ts'
import {
  areKeysReplaced,
  findUser,
  leaveViewOfOthers,
  noteReplacedKeys,
  signOut,
  type User,
} from '../session/session.ts'
import { showsVisits, typesOf } from '../session/types.ts'
import { Front, failureIn, OtherPerson, SignIn } from '../sign-in/sign-in.tsx'
import { Button } from '../ui/button.tsx'
import { Dialogs, Toasts } from '../ui/dialogs.tsx'
import { messageOf } from '../ui/failure.ts'
import { lazily } from '../ui/lazily.tsx'
import { hasLeft } from '../ui/leaving.ts'
import { tell } from '../ui/tell.ts'
import { Waiting } from '../ui/waiting.tsx'
import { say } from '../words/words.ts'
import { type SessionEnd, watchSession, watchSync } from './handover.ts'

/** The page's state. `blocked`: another tab blocks the database. `outdated`: a newer page has upgraded it. */
type Stage =
  | { name: 'starting' }
  | { name: 'failed'; error: unknown }
  | { name: 'signed-out' }
  | { name: 'locked'; user: User }
  | { name: 'blocked' }
  | { name: 'outdated'; sync: Sync; userId: string }
  | { name: 'open'; app: App }
  | { name: 'left'; departure: SessionEnd }

/** Loaded later, because signing in does not need it. */
const Shell = lazily(() => import('./shell.tsx').then(({ Shell }) => Shell))
/** Loaded later, because a browser that keeps its keys does not need it. */
const VaultDoor = lazily(() => import('../sign-in/vault-door.tsx').then(({ VaultDoor }) => VaultDoor))

interface RootProps {
  client: Client
  device: Device
}

export function Root({ client, device }: RootProps) {
  const [stage, show] = useState<Stage>({ name: 'starting' })
  const setStage = (next: Stage) => {
    if (!hasLeft()) show(next)
  }

  const start = async () => {
    const user = await findUser(client)
    if (!user) return setStage({ name: 'signed-out' })
    reportFailedSignIn()
    leaveViewOfOthers(user)
    watchSession({
      client,
      user,
      show: (departure) => show(departure ? { name: 'left', departure } : { name: 'starting' }),
    })
    Shell.prepare()
    const kept = device.keepsKey ? await loadMasterKey(user.user_id) : undefined
    if (kept && !areKeysReplaced(user.user_id)) await open(user, deriveKeys(kept))
    else setStage({ name: 'locked', user })
  }

  const unlock = async (user: User, { keys, masterKey }: Vault) => {
    if (device.keepsKey) {
      await keepMasterKey(user.user_id, masterKey)
      noteReplacedKeys(undefined)
    }
    if (!hasLeft()) await open(user, keys)
  }

  const open = async ({ user_id: userId, name: person }: User, keys: Keys) => {
    const own = client.as(userId)
    const areVisitsShown = showsVisits(userId)
    const sync = createSync({
      client: own,
      keys,
      userId,
      deviceId: device.id,
      types: typesOf(userId),
      webSocket: openWebSocket,
      ...device.open(userId),
    })
    followTrouble(sync)
    watchSync(sync)
    sync.on('status', ({ reason }) => {
      // Another device has rotated the keys. This browser's keys open nothing new, so the page asks for the passphrase.
      if (reason !== 'keys' || hasLeft()) return
      if (device.keepsKey) noteReplacedKeys(userId)
      location.reload()
    })
    const endWait = sync.on('status', ({ reason }) => reason === 'blocked' && setStage({ name: 'blocked' }))
    try {
      await sync.start().finally(endWait)
    } catch (error) {
      if (!(error instanceof StoreVersionError)) throw error
      return setStage({ name: 'outdated', sync, userId })
    }
    if (device.keepsKey) {
      keepUnsent(sync)
      keepDraftsOf(userId, keys)
    }
    if (isScanned()) tell(say.app.openAlready)
    forgetCode()
    setStage({ name: 'open', app: { client: own, sync, keys, userId, person, device, areVisitsShown } })
  }

  const attempt = (work: Promise<unknown>): Promise<unknown> =>
    work.catch((error: unknown) => {
      if (!(error instanceof StoreBlockedError)) return setStage({ name: 'failed', error })
      setStage({ name: 'blocked' })
      return attempt(start())
    })
  const again = () => {
    setStage({ name: 'starting' })
    attempt(start())
  }

  useEffect(() => void attempt(start()), [])
  useEffect(() => keepFocus(document.body), [])

  return (
    <>
      {stage.name === 'starting' && <Waiting again={() => location.reload()} />}
      {stage.name === 'failed' && <StartFailure error={stage.error} again={again} />}
      {stage.name === 'signed-out' && <SignIn client={client} />}
      {stage.name === 'locked' && (
        <VaultDoor
          device={device}
          owner={{ client: client.as(stage.user.user_id), userId: stage.user.user_id, person: stage.user.name }}
          opened={(vault) => attempt(unlock(stage.user, vault))}
        />
      )}
      {stage.name === 'blocked' && <StartFailure error={new StoreBlockedError()} again={() => location.reload()} />}
      {stage.name === 'outdated' && <OutOfDate sync={stage.sync} userId={stage.userId} />}
      {stage.name === 'open' && <Shell app={stage.app} />}
      {stage.name === 'left' && <Left client={client} departure={stage.departure} />}
      <Dialogs />
      <Toasts />
    </>
  )
}

/** Reports that a repeated sign-in failed. Opens the start view, because the previous one would ask for it again. */
function reportFailedSignIn(): void {
  const failure = failureIn(location.search)
  if (location.pathname !== '/login' || failure === undefined) return
  history.replaceState(null, '', '/')
  tell(say.signIn.failures[failure], { isAlert: true })
}

function Left({ client, departure: { other, waiting } }: { client: Client; departure: SessionEnd }) {
  return other ? (
    <OtherPerson client={client} name={other.name} waiting={waiting} />
  ) : (
    <SignIn client={client} waiting={waiting} />
  )
}

/** Shows why the page could not open the bookmarks, and a button to try again. */
export function StartFailure({ error, again }: { error: unknown; again: () => void }) {
  return (
    <Front>
      <h1>{titleOf(error)}</h1>
      <p role="alert">{messageOf(error)}</p>
      <Button look="primary" class="large" onClick={again}>
        {say.ui.tryAgain}
      </Button>
    </Front>
  )
}

/** Shown if a newer page has upgraded the database. This tab is old, or the service went back to an older version. */
function OutOfDate({ sync, userId }: { sync: Sync; userId: string }) {
  return (
    <Front>
      <h1>{say.app.outOfDate}</h1>
      <p role="alert">{say.app.outOfDateMore}</p>
      <Button look="primary" class="large" onClick={() => location.reload()}>
        {say.ui.reload}
      </Button>
      <p>{say.app.outOfDateElse}</p>
      <Button onClick={() => signOut(sync, userId)}>{say.app.signOut}</Button>
    </Front>
  )
}

function titleOf(error: unknown): string {
  if (error instanceof OfflineError) return say.app.noConnection
  if (error instanceof StorageFullError) return say.app.noRoom
  if (error instanceof StoreBlockedError) return say.app.blocked
  return say.app.notOpened
}

/**
 * Asks for persistent storage at the first edit. Otherwise, a browser that is short of space may delete unsent edits.
 * Does not ask earlier, because some browsers then ask the person, who would not know why.
 */
function keepUnsent(sync: Sync): void {
  const end = sync.on('status', ({ waiting }) => {
    if (waiting === 0) return
    end()
    // `storage` is missing on pages loaded without TLS, except from localhost.
    navigator.storage?.persist().catch(() => {})
  })
}

const focusable = 'a[href], button:not(:disabled), input:not(:disabled), select, textarea, [tabindex]'

/**
 * Keeps the focus near its place when the focused element is removed. Otherwise the keyboard would start again at the
 * top of the page. In a list, a neighbouring item as a whole gets the focus and none of its controls, so that a key
 * meant for the removed item does not act on the neighbour.
 */
function keepFocus(root: HTMLElement): () => void {
  /** The element that last had the focus, and its ancestors. */
  let path: Element[] = []
  const remember = ({ target }: Event) => {
    path = []
    for (let one = target as Element | null; one && one !== root; one = one.parentElement) path.push(one)
  }
  const restore = (records: MutationRecord[]) => {
    const [last] = path
    if (!last || last.isConnected || document.activeElement !== document.body) return
    const at = path.findIndex((one) => one.isConnected && one.id !== 'page')
    const [item, place] = [path[at - 1], path[at]]
    path = []
    const next = item?.matches('li') ? (neighbourIn(records, item) ?? asTarget(place)) : nextTo(place)
    next?.focus({ preventScroll: true })
  }
  const observer = new MutationObserver(restore)
  observer.observe(root, { childList: true, subtree: true })
  root.addEventListener('focusin', remember)
  return () => {
    observer.disconnect()
    root.removeEventListener('focusin', remember)
  }
}

/** Returns the nearest item that remains after the removed one, or else before it. */
function neighbourIn(records: readonly MutationRecord[], item: Element): HTMLElement | undefined {
  const gone = new Map(records.flatMap((record) => [...record.removedNodes].map((node) => [node, record] as const)))
  for (const side of ['nextSibling', 'previousSibling'] as const) {
    let one: Node | null | undefined = item
    while (one && !one.isConnected) one = gone.get(one)?.[side]
    if (one) return asTarget(one)
  }
  return undefined
}

/** The first focusable element in the nearest ancestor that remains, or else the `main` or `dialog` around it. */
function nextTo(place: Element | undefined): HTMLElement | undefined {
  const inside = place?.querySelector<HTMLElement>(focusable)
  return inside ?? asTarget(place?.closest('main, dialog') ?? document.querySelector('main'))
}

function asTarget(element: Node | null | undefined): HTMLElement | undefined {
  if (!(element instanceof HTMLElement)) return undefined
  if (!element.hasAttribute('tabindex')) element.tabIndex = -1
  return element
}
