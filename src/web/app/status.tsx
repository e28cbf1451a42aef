import type { SyncProgress, SyncReason, SyncState, SyncStatus } from '../../client/index.ts'
import { useSyncStatus } from '../../client/react.ts'
import { useOutdated } from '../offline/register.ts'
import { unsentOf } from './unsent.ts'

const stateNames: Record<SyncState, string> = {
  connecting: 'Connecting',
  syncing: 'Syncing',
  online: 'Live',
  polling: 'Checking every half a minute',
  offline: 'Offline',
  'signed-out': 'Signed out',
}

const reasonNames: Record<SyncReason, string> = {
  network: 'no connection',
  storage: 'this browser’s storage is full',
  keys: 'the keys were replaced on another device',
  deletions: 'deletions wait for you',
  quota: 'no room left on the service',
  refused: 'the service refused an edit',
}

/** Whether this device is in sync, in a word or two. Numbers change too often to be read out. */
export function Status() {
  const status = useSyncStatus()
  const { state, reason, progress, waiting, quarantined = 0 } = status
  const isOutdated = useOutdated() === 'store'
  const unsent = unsentOf(status)
  const words = isOutdated ? 'Reload needed' : wordsOf({ state, reason })
  const steps = progress ? ` ${stepsText(progress)}` : ''
  return (
    <span class="status" id="status" data-state={isOutdated ? 'offline' : state} data-waiting={waiting} title={words}>
      <span aria-hidden="true">
        {isOutdated ? words : `${stateNames[state]}${steps}`}
        {unsent > 0 && <span class="waiting-count">, {count(unsent)} to send</span>}
        {quarantined > 0 && <span class="waiting-count">, {count(quarantined)} refused</span>}
      </span>
      <span class="unseen" role="status">
        {words}
      </span>
    </span>
  )
}

function wordsOf({ state, reason }: { state: SyncStatus['state']; reason: SyncReason | undefined }): string {
  return reason ? `${stateNames[state]}: ${reasonNames[reason]}` : stateNames[state]
}

/** The service does not say how many changes follow: a total that is reached may rise again. */
function stepsText({ done, total }: SyncProgress): string {
  return done < total ? `${count(done)} of ${count(total)}` : `${count(done)} so far`
}

function count(number: number): string {
  return number.toLocaleString()
}
