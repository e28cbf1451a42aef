import { useEffect } from 'preact/hooks'
import type { SyncReason, SyncState } from '../../client/index.ts'
import { useSyncStatus } from '../../client/react.ts'

const stateNames: Record<SyncState, string> = {
  connecting: 'Connecting',
  syncing: 'Syncing',
  online: 'Live',
  polling: 'Checking now and then',
  offline: 'Offline',
  'signed-out': 'Signed out',
}

const reasonNames: Record<SyncReason, string> = {
  network: 'no answer',
  storage: 'this device’s storage is full',
  keys: 'the keys were replaced on another device: open your bookmarks again',
  deletions: 'deletions wait for you',
  quota: 'no room left on the service',
  refused: 'the service refused an edit',
}

/** Whether this device is in sync, in a word or two. */
export function Status() {
  const { state, reason, progress, waiting } = useSyncStatus()
  useEffect(() => {
    // Another tab may have signed out. Pending changes are kept, unless that tab was told to discard them.
    if (state === 'signed-out') location.reload()
  }, [state])
  const text = [
    `${stateNames[state]}${progress ? ` ${progress.done} of ${progress.total}` : ''}`,
    ...(reason ? [reasonNames[reason]] : []),
    ...(waiting > 0 ? [`${waiting} to send`] : []),
  ].join(', ')
  return (
    <span class="status" id="status" role="status" data-state={state} data-waiting={waiting}>
      {text}
    </span>
  )
}
