import { v4 as uuidv4 } from 'uuid'
import {
  ApiError,
  type Client,
  createSync,
  deriveKeys,
  forgetMasterKey,
  indexedDbStore,
  OfflineError,
  SignedOutError,
  type SignOutOptions,
  StoreVersionError,
  type Sync,
  UnsentChangesError,
  unwrap,
} from '../../client/index.ts'
import { confirmFirst } from '../ui/dialogs.tsx'
import { hasLeft } from '../ui/leaving.ts'
import { tell } from '../ui/tell.ts'
import { say } from '../words/words.ts'
import type { Device } from './device.ts'
import { dropDraft } from './draft.ts'
import { forgetEntries, forgetEntriesOf, leaveUnmarkedView, leaveView, takeEntries } from './entries.ts'
import { allowPictures } from './pictures.ts'
import { forgetImport } from './running-import.ts'
import { noteVisits, typesOf } from './types.ts'

export interface User {
  user_id: string
  name: string
}

/** Storage key of the person who signed in last. If nothing is stored, nobody is signed in here. */
const remembered = 'signed-in-user'

/** If the service does not answer within this time, the page opens with the last person's bookmarks on this device. */
const patienceMs = 4000

/** Prefix of the user's id, which is stored instead of the user after a sign-out that did not reach the service. */
const leaving = 'leaving '

/** Storage key of the view and history entry to come back to after a sign-in. Kept in this tab, not in the service. */
const cameFrom = 'came-from'

/** Storage key of a user's id and the time just before they last used “Go back in time”. */
const placeBefore = 'before-going-back'

/** The signed-in user, if any. Without a response, the user who signed in last, whose bookmarks are on this device. */
export async function findUser(client: Client): Promise<User | undefined> {
  const last = localStorage.getItem(remembered)
  if (last === null) return undefined
  if (last.startsWith(leaving)) {
    await endLeftSession(client).catch((error: unknown) => {
      if (!(error instanceof OfflineError || error instanceof ApiError)) throw error
    })
    return undefined
  }
  try {
    const answer = await client.GET('/api/v1/auth/session', { signal: last ? AbortSignal.timeout(patienceMs) : null })
    if (answer.response.status === 401) return undefined
    const { user_id, name } = unwrap(answer).user
    const found = { user_id, name }
    localStorage.setItem(remembered, JSON.stringify(found))
    return found
  } catch (error) {
    if (last.startsWith('{') && isNoAnswer(error)) {
      return JSON.parse(last) as User
    }
    throw error
  }
}

/** True for errors that do not mean that the person is signed out: no response, a faulty service, or a rate limit. */
function isNoAnswer(error: unknown): boolean {
  if (error instanceof ApiError) return error.status >= 500 || error.status === 429
  // Includes a response that was cut off.
  return error instanceof OfflineError || (error instanceof DOMException && error.name === 'TimeoutError')
}

/**
 * Ends the session of a person whose sign-out did not reach the service. A session of somebody else stays.
 *
 * @throws OfflineError, ApiError if the session may still exist
 */
export async function endLeftSession(client: Client): Promise<void> {
  const last = localStorage.getItem(remembered)
  if (!last?.startsWith(leaving)) return
  try {
    unwrap(await client.as(last.slice(leaving.length)).POST('/api/v1/auth/logout'))
  } catch (error) {
    if (!(error instanceof SignedOutError)) throw error
  }
  if (localStorage.getItem(remembered) === last) localStorage.removeItem(remembered)
}

/**
 * Goes to the sign-in page of the provider, which leads back here.
 *
 * @param options.again whether the provider must ask for the password
 * @param options.to the view to come back to, as `hrefOf` returns it
 */
export async function signIn(client: Client, { again = false, to = location.hash } = {}): Promise<void> {
  // An offline sign-out may have left a session. The next person who gives up at the provider must not get into it.
  await endLeftSession(client)
  // The service sends this to the provider as `state`. Some providers refuse less than 8 characters, so it has the origin.
  const returnTo = `${location.origin}/${location.pathname === '/login' ? '' : location.search}`
  const body = { returnTo, ...(again && { prompt: 'login' as const }) }
  const { authorizationUrl } = unwrap(await client.POST('/api/v1/auth/login', { body }))
  // A repeated sign-in keeps the user: a person who gives up at the provider must find their bookmarks, even offline.
  if (!again) localStorage.setItem(remembered, '')
  sessionStorage.setItem(cameFrom, JSON.stringify({ view: to, entry: history.state }))
  leaveUnmarkedView()
  location.assign(authorizationUrl)
}

/** Returns to the view from before the sign-in, such as the bookmarklet's form. */
export function comeBack(): void {
  const stored = sessionStorage.getItem(cameFrom)
  sessionStorage.removeItem(cameFrom)
  if (stored === null || location.hash !== '') return
  const { view, entry } = JSON.parse(stored) as { view: string; entry?: unknown }
  history.replaceState(entry, '', view || undefined)
}

/** Leaves the view if another person opened it, because its address may contain words of theirs. */
export function leaveViewOfOthers({ user_id, name }: User): void {
  if (takeEntries(user_id)) tell(say.app.notAsBefore(name))
}

/** Loads the page again for the person who is signed in now. */
export function reloadPage(): void {
  leaveView()
  location.reload()
}

let isLeaving = false

/** True while this tab itself signs out. */
export function isSigningOut(): boolean {
  return isLeaving
}

/** Calls the listener if another tab of this browser signs out, or finds that somebody else is signed in. */
export function onOtherUser(userId: () => string | undefined, listener: () => void): void {
  addEventListener('storage', ({ key, newValue }) => {
    // An empty value means that somebody has gone to the provider to sign in.
    if (key !== remembered || newValue === '' || isUser(newValue, userId())) return
    if (!newValue?.startsWith('{')) {
      forgetEntries()
      dropDraft(userId() ?? '')
      leaveView()
    }
    listener()
  })
}

function isUser(stored: string | null, userId: string | undefined): boolean {
  return stored?.startsWith('{') === true && (JSON.parse(stored) as User).user_id === userId
}

/** Signs out in this tab. Asks first if edits would be lost. */
export async function signOut(sync: Sync, userId: string): Promise<void> {
  try {
    await leave(sync, userId)
  } catch (error) {
    if (!mayLoseEdits(error)) throw error
    confirmFirst({
      title: say.app.signOutAndLose,
      text: `${unsentText(error)} ${say.app.signingOutDeletes}`,
      action: say.app.signOutLosing,
      run: () => leave(sync, userId, { discardUnsent: true }),
    })
  }
}

function mayLoseEdits(error: unknown): error is UnsentChangesError | StoreVersionError {
  return error instanceof UnsentChangesError || error instanceof StoreVersionError
}

function unsentText(error: UnsentChangesError | StoreVersionError): string {
  return error instanceof StoreVersionError ? say.app.unsentUnknown : say.app.unsent(error.count)
}

/**
 * Signs out and shows the sign-in page.
 *
 * @throws UnsentChangesError, StoreVersionError if nothing was done
 */
async function leave(sync: Sync, userId: string, options?: SignOutOptions): Promise<void> {
  isLeaving = true
  try {
    await sync.signOut(options)
    forgetUser(userId)
  } catch (error) {
    isLeaving = !mayLoseEdits(error)
    if (!isLeaving) throw error
    // Usually only the service was not reached. If bookmarks could not be deleted, the sign-in page offers that again.
    endSessionLater(userId)
  }
  location.assign('/')
}

/** Deletes everything that shows who used this browser, or when. Returns false if somebody else has signed in since. */
function forgetUser(userId: string): boolean {
  forgetOwn(userId)
  if (isAnotherHere(userId)) return false
  localStorage.removeItem(remembered)
  return true
}

function isAnotherHere(userId: string): boolean {
  const last = localStorage.getItem(remembered)
  return last?.startsWith('{') === true && !isUser(last, userId)
}

/**
 * Deletes what the page stores in this browser; `sync.signOut` deletes the bookmarks. If somebody else has signed in
 * since, deletes only what belongs to this user, and returns false.
 */
export function forgetDeletedUser(userId: string): boolean {
  forgetOwn(userId)
  if (isAnotherHere(userId)) return false
  localStorage.clear()
  return true
}

function forgetOwn(userId: string): void {
  forgetEntries()
  forgetNotes(userId)
  allowPictures('')
}

function forgetNotes(userId: string): void {
  dropDraft(userId)
  forgetImport(userId)
  noteVisits(userId, false)
  if (areKeysReplaced(userId)) localStorage.removeItem(replacedKey)
  if (findPlaceBefore(userId) !== undefined) localStorage.removeItem(placeBefore)
}

/** Matches the bookmark database of each user. The database of keys is shared by all users. */
const databaseOf = /^encrypted-bookmark-sync-(?!keys$)(.+)/

/** The users whose bookmarks this browser stores. */
export async function storedUsers(): Promise<string[]> {
  const databases = await indexedDB.databases()
  return databases.flatMap(({ name = '' }) => databaseOf.exec(name)?.[1] ?? [])
}

/** Deletes everything that this browser stores of a user who is not signed in. */
export async function eraseStored(userId: string): Promise<void> {
  await indexedDbStore(userId).wipe()
  await forgetMasterKey(userId)
  forgetNotes(userId)
  forgetEntriesOf(userId)
  if (isUser(localStorage.getItem(remembered), userId)) localStorage.removeItem(remembered)
}

/** Stores the time just before the user used “Go back in time”. */
export function notePlaceBefore(userId: string, at: number): void {
  localStorage.setItem(placeBefore, JSON.stringify([userId, at]))
}

export function findPlaceBefore(userId: string): number | undefined {
  const noted: unknown = JSON.parse(localStorage.getItem(placeBefore) ?? 'null')
  return Array.isArray(noted) && noted[0] === userId ? Number(noted[1]) : undefined
}

/** Makes the page end the session as soon as it reaches the service, before it does anything else. */
function endSessionLater(userId: string): void {
  if (forgetUser(userId)) localStorage.setItem(remembered, leaving + userId)
}

/** Signs out while the vault is locked. Also deletes the bookmarks that this browser keeps. */
export async function signOutLocked(client: Client, device: Device, userId: string): Promise<void> {
  await signOut(lockedSync(client, device, userId), userId)
}

/** A sync that is never started. It only counts and deletes what is stored, so it works with any keys. */
export function lockedSync(client: Client, device: Device, userId: string): Sync {
  const keys = deriveKeys(new Uint8Array(32))
  return createSync({ client, keys, userId, deviceId: device.id, types: typesOf(userId), ...device.open(userId) })
}

/** Storage key of the user whose keys in this browser were replaced. */
const replacedKey = 'keys-replaced'

/**
 * Remembers that the service has other keys of this user. The browser keeps the old keys until it has the new ones: if
 * a faulty program has replaced the keyring, the old keys are all that is left of the vault.
 */
export function noteReplacedKeys(userId: string | undefined): void {
  if (userId === undefined) localStorage.removeItem(replacedKey)
  else localStorage.setItem(replacedKey, userId)
}

export function areKeysReplaced(userId: string): boolean {
  return localStorage.getItem(replacedKey) === userId
}

/** Storage key whose change makes other tabs lock. Its value has no meaning. */
const lockedKey = 'locked'

/** Removes the keys from this browser, in all tabs; the passphrase opens the bookmarks again. Keeps unsent edits. */
export async function lock(userId: string): Promise<void> {
  await forgetMasterKey(userId)
  localStorage.setItem(lockedKey, uuidv4())
  location.reload()
}

/** Locks this tab when another one locks: a reload clears its memory. */
export function lockWithOtherTabs(): void {
  addEventListener('storage', (event) => {
    if (event.key === lockedKey && !hasLeft()) location.reload()
  })
}
