import { ApiError, OfflineError, StorageFullError, type Sync } from '../../client/index.ts'
import { messageOf } from '../ui/failure.ts'
import { sharedValue } from '../ui/shared-value.ts'
import { dismissText, tell } from '../ui/tell.ts'

/** Why nothing can be exchanged at present, as the service or this device said it; undefined once it can. */
const trouble = sharedValue<Error | undefined>(undefined)

export const useTrouble = trouble.use

const still = { noRoom: 'There is still no room', refused: 'The service still refuses', away: 'Still no connection' }
/** What is no longer true once something can be exchanged. */
const passing = [messageOf(new OfflineError()), ...Object.values(still)]

/** What another attempt came to that has failed, too. */
export function stillText(error: unknown): string {
  if (error instanceof StorageFullError) return still.noRoom
  return error instanceof ApiError ? still.refused : still.away
}

/** What concerns one bookmark is told once. Everything else is shown for as long as it lasts. */
export function followTrouble(sync: Sync): void {
  sync.on('error', ({ error, id }) => {
    if (id === undefined) trouble.set(error)
    else if (!sync.quarantined().some((one) => one.id === id)) tell(messageOf(error), { isAlert: true })
  })
  sync.on('status', ({ state }) => {
    if (state !== 'online' && state !== 'polling' && state !== 'syncing') return
    trouble.set(undefined)
    passing.forEach(dismissText)
  })
}
