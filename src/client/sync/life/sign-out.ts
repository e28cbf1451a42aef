import { UnsentChangesError } from '../../errors.ts'
import { forgetMasterKey } from '../../master-key.ts'
import type { Engine } from './engine.ts'
import type { Run } from './run.ts'

export interface SignOutOptions {
  /** Whether unsent edits may be discarded. Default: no. */
  discardUnsent?: boolean | undefined
  signal?: AbortSignal | undefined
}

/**
 * Deletes the user's data from this device, in all tabs, and then ends the session. Tabs report `signed-out` only after
 * that: a page that reloads at it would otherwise still find the session.
 */
export async function signOut(
  engine: Engine,
  run: Run,
  { discardUnsent = false, signal }: SignOutOptions,
): Promise<void> {
  const { replica, tabs, userId, transport, status } = engine
  await run.load()
  await replica.load()
  if (!discardUnsent && replica.waiting.size > 0) throw new UnsentChangesError(replica.waiting.size)
  const task = async () => {
    tabs.post({ type: 'signed-out' })
    await run.end()
    await replica.wipe()
    if (globalThis.indexedDB) await forgetMasterKey(userId)
    run.forget()
    await run.stop()
    await transport.logout({ signal: signal ?? new AbortController().signal })
  }
  await tabs.exclusively('sign-out', task).finally(() => status.hear('signed-out'))
}
