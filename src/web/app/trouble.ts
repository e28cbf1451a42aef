import { OfflineError, type Sync } from '../../client/index.ts'
import { messageOf } from '../ui/failure.ts'
import { sharedValue } from '../ui/shared-value.ts'
import { dismissText, tell } from '../ui/tell.ts'

/** Why nothing can be exchanged at present, as the service or this device said it; undefined once it can. */
const trouble = sharedValue<Error | undefined>(undefined)

export const useTrouble = trouble.use

const noConnection = messageOf(new OfflineError())

/** What concerns one bookmark is told once. Everything else is shown for as long as it lasts. */
export function followTrouble(sync: Sync): void {
  sync.on('error', ({ error, id }) => {
    if (id === undefined) trouble.set(error)
    else if (!sync.quarantined().some((one) => one.id === id)) tell(messageOf(error), { isAlert: true })
  })
  sync.on('status', ({ state }) => {
    if (state !== 'online' && state !== 'polling' && state !== 'syncing') return
    trouble.set(undefined)
    dismissText(noConnection)
  })
}
