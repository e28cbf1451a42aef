import { createContext, createElement, type ReactElement, type ReactNode, useContext } from 'react'
import type { Sync } from '../sync/sync.ts'

const SyncContext = createContext<Sync | undefined>(undefined)

/** Gives the sync to the hooks of the components inside. Starting and stopping it remains the app's part. */
export function SyncProvider({ sync, children }: { sync: Sync; children?: ReactNode }): ReactElement {
  return createElement(SyncContext.Provider, { value: sync }, children)
}

/** The sync of the nearest SyncProvider, for edits: `useSync().put(…)`. */
export function useSync(): Sync {
  const sync = useContext(SyncContext)
  if (!sync) throw new Error('This hook needs a <SyncProvider sync={…}> around the component')
  return sync
}
