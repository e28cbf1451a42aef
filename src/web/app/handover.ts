import type { Client, Sync } from '../../client/index.ts'
import { onSessionLost } from '../session/network.ts'
import { findUser, isSigningOut, onOtherUser, type User } from '../session/session.ts'
import { hasLeft, leavePerson } from '../ui/leaving.ts'

/** The situation after the page has stopped acting for its person. */
export interface SessionEnd {
  /** The person who is signed in now; undefined if nobody is, or the service does not answer. */
  other: User | undefined
  /** How many edits wait in this browser. */
  waiting: number
}

interface Watch {
  client: Client
  /** The person whom the page acts for. */
  user: User
  /** Shows the departure: first that it happens, then its details. */
  show: (departure?: SessionEnd) => void
}

let watched: Watch | undefined
let sync: Sync | undefined

/**
 * Stops acting for the person once their session has ended or is somebody else's. The page learns of that from a
 * response of the service, from another tab, or from the sync.
 */
export function watchSession(watch: Watch): void {
  if (!watched) {
    onSessionLost(leave)
    onOtherUser(() => watched?.user.user_id, leave)
  }
  watched = watch
}

/** Watches the sync of the same person. */
export function watchSync(own: Sync): void {
  sync = own
  sync.on('status', ({ state }) => {
    if (state === 'signed-out') leave()
  })
}

function leave(): void {
  if (!watched || hasLeft() || isSigningOut()) return
  leavePerson()
  watched.show()
  void showDeparture(watched)
}

async function showDeparture({ client, user, show }: Watch): Promise<void> {
  const waiting = sync?.status().waiting ?? 0
  // A sync that fails to stop does no harm: its calls for this person are no longer answered.
  await sync?.stop().catch(() => {})
  const now = await findUser(client).catch(() => undefined)
  show({ other: now?.user_id === user.user_id ? undefined : now, waiting })
}
