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

/** Stores who signed in last. Without it nobody ever signed in here, so there is nobody to ask the service for. */
const remembered = 'signed-in-user'

/** After this, the page opens with what is on this device; whether the person is still signed in shows later. */
const patienceMs = 4000

/** Stored in front of the user's id, instead of the user, after a sign-out of which the service could not be told. */
const leaving = 'leaving '

/** The view that the person comes back to, and its entry's state. It stays in this tab: the service sees no such address. */
const cameFrom = 'came-from'

/** Stores a user's id, and a time in their history before which they had not gone back. */
const placeBefore = 'before-going-back'

/** Undefined if nobody is signed in. Without an answer, the last user, whose bookmarks are on this device. */
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

/** Also if it has a problem, or no time: neither says anything about the person. */
function isNoAnswer(error: unknown): boolean {
  if (error instanceof ApiError) return error.status >= 500 || error.status === 429
  // Also in the middle of the answer.
  return error instanceof OfflineError || (error instanceof DOMException && error.name === 'TimeoutError')
}

/**
 * Ends the session of the person who signed out when the service could not be told, if there is one. If somebody else has a
 * session by now, it stays.
 *
 * @throws OfflineError, ApiError: it is still to be ended
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
 * Leads to the provider's page, which leads back here.
 *
 * @param options.again whether the provider asks for the password in any case
 * @param options.to the view that it leads back to, as `hrefOf` returns it
 */
export async function signIn(client: Client, { again = false, to = location.hash } = {}): Promise<void> {
  // Otherwise, the next person who gives up at the provider would have it.
  await endLeftSession(client)
  // Includes the origin, because some providers refuse a state of less than 8 characters.
  const returnTo = `${location.origin}/${location.pathname === '/login' ? '' : location.search}`
  const body = { returnTo, ...(again && { prompt: 'login' as const }) }
  const { authorizationUrl } = unwrap(await client.POST('/api/v1/auth/login', { body }))
  // Who is signed in already, and gives up, finds their bookmarks here also without a network.
  if (!again) localStorage.setItem(remembered, '')
  sessionStorage.setItem(cameFrom, JSON.stringify({ view: to, entry: history.state }))
  leaveUnmarkedView()
  location.assign(authorizationUrl)
}

/** Shows the view from which the person went to sign in, such as the form that the bookmarklet has filled. */
export function comeBack(): void {
  const stored = sessionStorage.getItem(cameFrom)
  sessionStorage.removeItem(cameFrom)
  if (stored === null || location.hash !== '') return
  const { view, entry } = JSON.parse(stored) as { view: string; entry?: unknown }
  history.replaceState(entry, '', view || undefined)
}

/** The view may be another person's, whose words may be in its address. */
export function leaveViewOfOthers({ user_id, name }: User): void {
  if (takeEntries(user_id)) tell(say.app.notAsBefore(name))
}

/** Loads the page for the person who is signed in by now. */
export function startOver(): void {
  leaveView()
  location.reload()
}

let isLeaving = false

/** True while this tab signs out by itself. */
export function isSigningOut(): boolean {
  return isLeaving
}

/** Calls the listener if another tab signs out, or finds the session of somebody else than the user. */
export function onOtherUser(userId: () => string | undefined, listener: () => void): void {
  addEventListener('storage', ({ key, newValue }) => {
    // Somebody who only goes to sign in has not arrived yet.
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

/** Signs out in this tab; asks first if edits would be lost. */
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
 * Signs out in this tab, which ends at the sign-in.
 *
 * @throws UnsentChangesError, StoreVersionError: nothing was done
 */
async function leave(sync: Sync, userId: string, options?: SignOutOptions): Promise<void> {
  isLeaving = true
  try {
    await sync.signOut(options)
    forgetUser(userId)
  } catch (error) {
    isLeaving = !mayLoseEdits(error)
    if (!isLeaving) throw error
    // Everything here is deleted, but the service could not be told.
    endSessionLater(userId)
  }
  location.assign('/')
}

/** Nothing that is left in this browser tells who was here, or when. Returns false if somebody else has signed in since. */
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
 * Deletes everything that this browser stores beside the bookmarks. Returns false if somebody else has signed in since: then
 * only what is the user's goes.
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

/** The databases of bookmarks, one for each user; that of the keys is for all. */
const databaseOf = /^encrypted-bookmark-sync-(?!keys$)(.+)/

/** The users whose bookmarks this browser stores. */
export async function storedUsers(): Promise<string[]> {
  const databases = await indexedDB.databases()
  return databases.flatMap(({ name = '' }) => databaseOf.exec(name)?.[1] ?? [])
}

/** Deletes what this browser stores of a user who is not signed in. */
export async function eraseStored(userId: string): Promise<void> {
  await indexedDbStore(userId).wipe()
  await forgetMasterKey(userId)
  forgetNotes(userId)
  forgetEntriesOf(userId)
  if (isUser(localStorage.getItem(remembered), userId)) localStorage.removeItem(remembered)
}

/** Notes the time before which the user had not gone back. */
export function notePlaceBefore(userId: string, at: number): void {
  localStorage.setItem(placeBefore, JSON.stringify([userId, at]))
}

export function findPlaceBefore(userId: string): number | undefined {
  const noted: unknown = JSON.parse(localStorage.getItem(placeBefore) ?? 'null')
  return Array.isArray(noted) && noted[0] === userId ? Number(noted[1]) : undefined
}

/** Ends the session as soon as the service can be told, before anything else. */
function endSessionLater(userId: string): void {
  if (forgetUser(userId)) localStorage.setItem(remembered, leaving + userId)
}

/** The same while the vault is locked: the bookmarks that this browser keeps are deleted, too. */
export async function signOutLocked(client: Client, device: Device, userId: string): Promise<void> {
  await signOut(lockedSync(client, device, userId), userId)
}

/** A sync that is never started. It only counts and deletes what is stored, so any keys do. */
export function lockedSync(client: Client, device: Device, userId: string): Sync {
  const keys = deriveKeys(new Uint8Array(32))
  return createSync({ client, keys, userId, deviceId: device.id, types: typesOf(userId), ...device.open(userId) })
}

/** Stores the user whose keys in this browser were replaced. */
const replacedKey = 'keys-replaced'

/**
 * Notes whose keys were replaced, as the service says. They are not forgotten until the new ones are there: a faulty program
 * may have replaced the keyring, and if nothing opens it, they are all that is left of the vault.
 */
export function noteReplacedKeys(userId: string | undefined): void {
  if (userId === undefined) localStorage.removeItem(replacedKey)
  else localStorage.setItem(replacedKey, userId)
}

export function areKeysReplaced(userId: string): boolean {
  return localStorage.getItem(replacedKey) === userId
}

/** Other tabs of this browser hear of what is stored under it: another value each time, which tells nothing. */
const lockedKey = 'locked'

/** Forgets the keys in this browser, in all tabs; the passphrase opens the bookmarks again. Unsent edits are kept. */
export async function lock(userId: string): Promise<void> {
  await forgetMasterKey(userId)
  localStorage.setItem(lockedKey, uuidv4())
  location.reload()
}

/** A reload forgets what is in memory. */
export function lockWithOtherTabs(): void {
  addEventListener('storage', (event) => {
    if (event.key === lockedKey && !hasLeft()) location.reload()
  })
}
