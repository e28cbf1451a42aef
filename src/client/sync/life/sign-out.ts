import { forgetMasterKey } from '../../vault/master-key.ts'
import type { Engine } from './engine.ts'
import type { Run } from './run.ts'

/** How far signing out goes, and when it stops. */
export interface SignOutOptions {
  /** True: unsent edits may be discarded. Default: they may not. */
  discardUnsent?: boolean | undefined
  /**
   * With `discardUnsent`: what must succeed once the sync has stopped, and before anything is deleted from this device. If it
   * rejects, so does the call, and the sync has only stopped.
   */
  first?: (() => Promise<void>) | undefined
  /** Aborted before the call, it prevents all; afterwards it ends only the wait for the end of the session. */
  signal?: AbortSignal | undefined
}

/**
 * Deletes the user's data from this device, in all tabs, and then ends the session. Tabs report `signed-out` only after
 * that: a page that reloads at it would otherwise still find the session.
 */
export async function signOut(
  engine: Engine,
  run: Run,
  { discardUnsent = false, first, signal }: SignOutOptions,
): Promise<void> {
  const { replica, tabs, userId, transport, status } = engine
  signal?.throwIfAborted()
  await run.load()
  const begin = () => {
    tabs.post({ type: 'signed-out' })
    run.abort()
  }
  if (discardUnsent) run.abort()
  // Before this tab takes its turn: an edit waits for a sign-out to end if it finds the store emptied.
  const admitEdits = await run.quiesce()
  await tabs.exclusively('sign-out', async () => {
    await first?.()
    await replica.wipe({ discardUnsent, begin }).catch((error) => {
      admitEdits()
      throw error
    })
    const failures: unknown[] = []
    const erase = async () => {
      await run.end()
      run.forget()
      await run.stop()
      if (globalThis.indexedDB) await forgetMasterKey(userId)
    }
    // A browser that refuses the page its storage keeps no key for it.
    await erase().catch((error) => error.name === 'SecurityError' || failures.push(error))
    await transport.logout({ signal: signal ?? new AbortController().signal }).catch((error) => failures.push(error))
    status.hear({ state: 'signed-out' })
    if (failures.length > 1) throw new AggregateError(failures, 'The key may be left, and the session goes on')
    if (failures.length > 0) throw failures[0]
  })
}
