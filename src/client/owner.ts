import type { Client } from './api/client.ts'
import { unwrap } from './api/unwrap.ts'
import { SignedOutError } from './errors.ts'
import { answer } from './sync/exchange/transport.ts'

/** What is asked for must be this user's; `syncNow` checks the same. @throws SignedOutError */
export async function demandOwner(
  { client, userId }: { client: Client; userId: string },
  signal?: AbortSignal,
): Promise<void> {
  const { user } = unwrap(await answer(client.GET('/api/v1/auth/session', signal ? { signal } : {})))
  if (user.user_id !== userId) throw new SignedOutError('Another user is signed in')
}
