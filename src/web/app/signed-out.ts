import { type SignOutOptions, type Sync, UnsentChangesError } from '../../client/index.ts'
import { tell } from '../ui/tell.ts'
import { endSessionLater, forgetUser } from './session.ts'

/** Survives the reload, in this tab alone. */
const key = 'signed-out'

let isLeaving = false

/**
 * Signs out in this tab, which ends at the sign-in.
 *
 * @throws UnsentChangesError nothing was done
 */
export async function leave(sync: Sync, options?: SignOutOptions): Promise<void> {
  isLeaving = true
  try {
    await sync.signOut(options)
    forgetUser()
  } catch (error) {
    isLeaving = !(error instanceof UnsentChangesError)
    if (!isLeaving) throw error
    // Everything here is deleted, but the service could not be told.
    endSessionLater()
  }
  location.assign('/')
}

/**
 * The session ended elsewhere: shows the sign-in, with the reason. A dialog that is open may have what the person has
 * typed, so the page waits until it is closed; unless another tab has signed out, and the bookmarks are gone.
 */
export function leaveWhenSignedOut(sync: Sync): void {
  sync.on('status', ({ state }) => {
    if (state !== 'signed-out' || isLeaving) return
    isLeaving = true
    const showSignIn = () => {
      sessionStorage.setItem(key, String(sync.status().waiting))
      location.reload()
    }
    const dialog = document.querySelector<HTMLDialogElement>('dialog[open]')
    if (!dialog || sync.bookmarks().size === 0) return showSignIn()
    tell('You are signed out. What you save now is kept in this browser, and sent when you have signed in again.')
    const watch = new MutationObserver(() => {
      if (!dialog.isConnected) showSignIn()
    })
    watch.observe(document.body, { childList: true, subtree: true })
  })
}

/** How many edits wait in this browser since this tab was signed out; undefined if it was not. */
export function takeSignedOut(): number | undefined {
  const waiting = sessionStorage.getItem(key)
  sessionStorage.removeItem(key)
  return waiting === null ? undefined : Number(waiting)
}
