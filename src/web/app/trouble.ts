import { useSyncExternalStore } from 'preact/compat'
import type { Sync } from '../../client/index.ts'
import { messageOf } from '../ui/failure.ts'
import { tell } from '../ui/tell.ts'

/** Why nothing can be exchanged at present, as the service or this device said it; undefined once it can. */
let trouble: Error | undefined
const listeners = new Set<() => void>()

/** What concerns one bookmark is told once. Everything else is shown for as long as it lasts. */
export function followTrouble(sync: Sync): void {
  sync.on('error', ({ error, id }) => {
    if (id === undefined) set(error)
    else if (!sync.quarantined().some((one) => one.id === id)) tell(messageOf(error), { isAlert: true })
  })
  sync.on('status', ({ state }) => {
    if (state === 'online' || state === 'polling' || state === 'syncing') set(undefined)
  })
}

export function useTrouble(): Error | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => trouble,
  )
}

function set(next: Error | undefined): void {
  if (trouble === next) return
  trouble = next
  for (const listener of listeners) listener()
}
