import { SignedOutError } from '../../errors.ts'
import type { PullParts } from './pull.ts'

/** The session must be this user's. If it is another's, an event says so: the status would not tell it from no session. */
export async function demandUser(
  { transport, userId, emitter }: Pick<PullParts, 'transport' | 'userId' | 'emitter'>,
  signal: AbortSignal,
): Promise<void> {
  if ((await transport.getUserId({ signal })) === userId) return
  const error = new SignedOutError('Another user is signed in')
  emitter.emit('error', { error })
  throw error
}
