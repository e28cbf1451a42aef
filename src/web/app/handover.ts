import type { Client, Sync } from '../../client/index.ts'
import { onSessionLost } from '../session/network.ts'
import { findUser, isSigningOut, onOtherUser, type User } from '../session/session.ts'
import { hasLeft, leavePerson } from '../ui/leaving.ts'

/** Facts to show after the person's session has ended, or somebody else has signed in in this browser. */
export interface SessionEnd {
  /** Another person who is signed in now; undefined if there is none, or the service does not answer. */
  other: User | undefined
  /** How many unsent edits of the person are in this browser; 0 if their bookmarks were not open. */
  waiting: number
}

interface Watch {
  client: Client
  /** The person whose session the page uses. */
  user: User
  /** Called when the session ends, and again with the details when they are known. */
  show: (departure?: SessionEnd) => void
}

let watched: Watch | undefined
let sync: Sync | undefined

/**
 * Stops the page's sync when the person's session has ended or somebody else has signed in. The page learns of that
 * from a response of the service, from another tab, or from the sync.
 */
export function watchSession(watch: Watch): void {
  if (!watched) {
    onSessionLost(leave)
    onOtherUser(() => watched?.user.user_id, leave)
  }
  watched = watch
}

/** Also watches the person's sync, once the page has opened it: it may be the first to notice the end of the session. */
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
  // A sync that fails to stop does no harm: the service answers its requests only in a session of this person.
  await sync?.stop().catch(() => {})
  const now = await findUser(client).catch(() => undefined)
  show({ other: now?.user_id === user.user_id ? undefined : now, waiting })
}
