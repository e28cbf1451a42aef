import { OfflineError, SignedOutError, StorageFullError } from '../errors.ts'
import type { Engine } from './engine.ts'

/** Shows the user why the sync does not go on. Returns whether trying again can help. */
export function reportFailure({ status, emitter }: Engine, error: unknown): boolean {
  if (error instanceof SignedOutError) {
    status.set('signed-out')
    return false
  }
  status.set(error instanceof StorageFullError ? 'paused' : 'offline')
  if (!(error instanceof OfflineError)) {
    emitter.emit('error', { error: error instanceof Error ? error : new Error(String(error)) })
  }
  return true
}
