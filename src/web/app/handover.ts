import type { Client, Sync } from '../../client/index.ts'
import { onSessionLost } from '../session/network.ts'
import { findUser, isSigningOut, onOtherUser, type User } from '../session/session.ts'
import { hasLeft, leavePerson } from '../ui/leaving.ts'

/** How the page has left its person. */
export interface Departure {
  /** The person who is signed in now; undefined if nobody is, as far as the service can be asked. */
  other: User | undefined
  /** How many edits wait in this browser. */
  waiting: number
}

interface Watch {
  client: Client
  /** The person that the page acts for. */
  user: User
  /** Shows how the page has left them; at first, that it does. */
  show: (departure?: Departure) => void
}

let watched: Watch | undefined
let sync: Sync | undefined

/**
 * Leaves the person once their session has ended or is somebody else's. The page learns of it from an answer of the service,
 * from another tab, or from the sync.
 */
export function watchSession(watch: Watch): void {
  if (!watched) {
    onSessionLost(leave)
    onOtherUser(() => watched?.user.user_id, leave)
  }
  watched = watch
}

/** The sync of the person that is watched. */
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
  // A sync that fails to stop does no more than one that has stopped: no call of this person is answered.
  await sync?.stop().catch(() => {})
  const now = await findUser(client).catch(() => undefined)
  show({ other: now?.user_id === user.user_id ? undefined : now, waiting })
}
