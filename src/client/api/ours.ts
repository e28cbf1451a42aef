import { ApiError } from '../errors.ts'
import type { Client } from './client.ts'
import type { SendRequest } from './retry.ts'
import { answer, type CallResult, unwrap } from './unwrap.ts'

/** Like `unwrap`, of what a portal or another server may answer in JSON of its own. @throws ApiError then */
export function unwrapOurs<Data>(
  result: CallResult<Data>,
  isOurs: (body: NonNullable<Data>) => boolean,
): NonNullable<Data> {
  const body = unwrap(result)
  if (!isOurs(body)) throw new ApiError(result.response.status, 'What came is not from the service')
  return body
}

/** The `user_id` of whose session it is. */
export async function askUserId(
  client: Client,
  init: { signal: AbortSignal | null; fetch?: SendRequest },
): Promise<string> {
  const session = await answer(client.GET('/api/v1/auth/session', init))
  return unwrapOurs(session, ({ user }) => typeof user?.user_id === 'string').user.user_id
}
