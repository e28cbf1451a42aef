import { v4 as uuidv4 } from 'uuid'
import {
  ApiError,
  type Client,
  createSync,
  deriveKeys,
  forgetMasterKey,
  OfflineError,
  type SignOutOptions,
  StoreVersionError,
  type Sync,
  UnsentChangesError,
  unwrap,
} from '../../client/index.ts'
import { confirmFirst } from '../ui/dialogs.tsx'
import { tell } from '../ui/tell.ts'
import { say } from '../words/words.ts'
import type { Device } from './device.ts'

export interface User {
  user_id: string
  name: string
}

/** Stores who signed in last. Without it nobody ever signed in here, so there is nobody to ask the service for. */
const remembered = 'signed-in-user'

/** After this, the page opens with what is on this device; whether the person is still signed in shows later. */
const patienceMs = 4000

/** Stored instead of the user after a sign-out of which the service could not be told. */
const leaving = 'leaving'

/** The view that the person comes back to. It stays in this tab: the service never sees that part of an address. */
const cameFrom = 'came-from'

/** A time in the person's history, before which nobody had gone back. */
export const placeBefore = 'before-going-back'

/** Undefined if nobody is signed in. Without an answer, the last user, whose bookmarks are on this device. */
export async function findUser(client: Client): Promise<User | undefined> {
  const last = localStorage.getItem(remembered)
  if (last === null) return undefined
  if (last === leaving) {
    const { response } = await client.POST('/api/v1/auth/logout').catch(offline)
    if (response?.ok || response?.status === 401) localStorage.removeItem(remembered)
    return undefined
  }
  try {
    const answer = await client.GET('/api/v1/auth/session', { signal: last ? AbortSignal.timeout(patienceMs) : null })
    if (answer.response.status === 401) return undefined
    const { user_id, name } = unwrap(answer).user
    localStorage.setItem(remembered, JSON.stringify({ user_id, name }))
    return { user_id, name }
  } catch (error) {
    if (last && isNoAnswer(error)) return JSON.parse(last) as User
    throw error
  }
}

/** Also if it has a problem, or no time: neither says anything about the person. */
function isNoAnswer(error: unknown): boolean {
  if (error instanceof ApiError) return error.status >= 500 || error.status === 429
  // Also in the middle of the answer.
  return error instanceof OfflineError || (error instanceof DOMException && error.name === 'TimeoutError')
}

function offline(error: unknown): { response?: Response } {
  if (error instanceof OfflineError) return {}
  throw error
}

/**
 * Leads to the provider's page, which leads back here.
 *
 * @param options.again whether the provider asks for the password in any case
 * @param options.to the view that it leads back to, as `hrefOf` returns it
 */
export async function signIn(client: Client, { again = false, to = location.hash } = {}): Promise<void> {
  // With the origin, because some providers refuse a state of less than 8 characters.
  const returnTo = `${location.origin}/${location.pathname === '/login' ? '' : location.search}`
  const body = { returnTo, ...(again && { prompt: 'login' as const }) }
  const { authorizationUrl } = unwrap(await client.POST('/api/v1/auth/login', { body }))
  // Who is signed in already, and gives up, finds their bookmarks here also without a network.
  if (!again) localStorage.setItem(remembered, '')
  sessionStorage.setItem(cameFrom, to)
  location.assign(authorizationUrl)
}

/** Shows the view from which the person went to sign in, such as the form that the bookmarklet has filled. */
export function comeBack(): void {
  const view = sessionStorage.getItem(cameFrom)
  sessionStorage.removeItem(cameFrom)
  if (view && location.hash === '') history.replaceState(null, '', view)
}

/** Survives the reload, in this tab alone. */
const signedOutKey = 'signed-out'

let isLeaving = false

/**
 * The session ended elsewhere: shows the sign-in, with the reason. A dialog that is open may have what the person has
 * typed, so the page waits until it is closed; unless another tab has signed out, and the bookmarks are gone.
 */
export function leaveWhenSignedOut(sync: Sync): void {
  sync.on('status', ({ state }) => {
    if (state !== 'signed-out' || isLeaving) return
    isLeaving = true
    const showSignIn = () => {
      sessionStorage.setItem(signedOutKey, String(sync.status().waiting))
      location.reload()
    }
    const dialog = document.querySelector<HTMLDialogElement>('dialog[open]')
    if (!dialog || sync.bookmarks().size === 0) return showSignIn()
    tell(say.app.signedOutNow)
    const watch = new MutationObserver(() => {
      if (!dialog.isConnected) showSignIn()
    })
    watch.observe(document.body, { childList: true, subtree: true })
  })
}

/** How many edits wait in this browser since this tab was signed out; undefined if it was not. */
export function takeSignedOut(): number | undefined {
  const waiting = sessionStorage.getItem(signedOutKey)
  sessionStorage.removeItem(signedOutKey)
  return waiting === null ? undefined : Number(waiting)
}

/** Signs out in this tab; asks first if edits would be lost. */
export async function signOut(sync: Sync): Promise<void> {
  try {
    await leave(sync)
  } catch (error) {
    if (!mayLoseEdits(error)) throw error
    confirmFirst({
      title: say.app.signOutAndLose,
      text: `${unsentText(error)} ${say.app.signingOutDeletes}`,
      action: say.app.signOutLosing,
      run: () => leave(sync, { discardUnsent: true }),
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
async function leave(sync: Sync, options?: SignOutOptions): Promise<void> {
  isLeaving = true
  try {
    await sync.signOut(options)
    forgetUser()
  } catch (error) {
    isLeaving = !mayLoseEdits(error)
    if (!isLeaving) throw error
    // Everything here is deleted, but the service could not be told.
    endSessionLater()
  }
  location.assign('/')
}

/** Nothing that is left in this browser tells who was here, or when. */
function forgetUser(): void {
  localStorage.removeItem(remembered)
  localStorage.removeItem(replacedKey)
  localStorage.removeItem(placeBefore)
}

/** Ends the session as soon as the service can be told, before anything else. */
function endSessionLater(): void {
  forgetUser()
  localStorage.setItem(remembered, leaving)
}

/** The same while the vault is locked: the bookmarks that this browser keeps are deleted, too. */
export async function signOutLocked(client: Client, device: Device, userId: string): Promise<void> {
  await signOut(lockedSync(client, device, userId))
}

/** A sync that is never started. It only counts and deletes what is stored, so any keys do. */
export function lockedSync(client: Client, device: Device, userId: string): Sync {
  const keys = deriveKeys(new Uint8Array(32))
  return createSync({ client, keys, userId, deviceId: device.id, ...device.open(userId) })
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
    if (event.key === lockedKey) location.reload()
  })
}
