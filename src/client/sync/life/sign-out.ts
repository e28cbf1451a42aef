import { UnsentChangesError } from '../../errors.ts'
import { forgetMasterKey } from '../../master-key.ts'
import type { Engine } from './engine.ts'
import type { Run } from './run.ts'

export interface SignOutOptions {
  /** Whether edits that were not sent may be lost. Default: no. */
  discardUnsent?: boolean | undefined
  signal?: AbortSignal | undefined
}

/**
 * Leaves nothing of the person on this device, in no tab, and then ends the session. All tabs say `signed-out` only then:
 * one that is opened anew before would find the session still there.
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
