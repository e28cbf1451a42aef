import type { Client } from '../api/client.ts'
import { unwrap } from '../api/unwrap.ts'
import { ApiError, OfflineError } from '../errors.ts'
import { answer } from '../sync/exchange/transport.ts'
import type { Sync } from '../sync/sync.ts'

/** What was asked for takes a sign-in that is younger than 10 minutes. Nothing was done. */
export class SignInAgainError extends Error {
  override readonly name = 'SignInAgainError'

  constructor(options?: ErrorOptions) {
    super('Sign in again', options)
  }
}

/** Deletes the account, and then everything of it from this device. @throws SignInAgainError */
export async function eraseAccount(client: Client, sync: Pick<Sync, 'signOut' | 'stop'>): Promise<void> {
  let isDeleted = false
  const first = async () => {
    unwrap(await answer(client.DELETE('/api/v1/account')))
    isDeleted = true
  }
  try {
    await sync.signOut({ discardUnsent: true, first })
  } catch (error) {
    if (isDeleted) {
      // There is no session left that could be ended.
      if (error instanceof OfflineError || error instanceof ApiError) return
      throw error instanceof AggregateError ? error.errors[0] : error
    }
    await sync.stop()
    const isTooOld = error instanceof ApiError && error.status === 403 && error.message === 'Sign in again'
    throw isTooOld ? new SignInAgainError({ cause: error }) : error
  }
}
