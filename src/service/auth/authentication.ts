import { quotas } from '../../../generated/limits.ts'
import type { Database } from '../db/engine/database.ts'
import { hasSentAuthTime } from '../db/tables/providers.ts'
import type { Exchanged } from '../provider/provider.ts'

/** The provider remembered the person and did not ask, although it was told to. */
export class UnaskedError extends Error {}

interface AuthenticationParts {
  database: Pick<Database, 'db'>
  clock: () => number
}

/**
 * When the provider last asked the person who they are. Null if it never says so, which makes every sign-in recent.
 * Once it has said so, it is 0 if it does not: anyone who opens the authorization URL can take the `max_age` out that
 * obliges it.
 *
 * @throws UnaskedError the provider had to ask, and the sign-in is not recent: it would lead to the same request again
 */
export async function findAuthenticatedAt(
  { database, clock }: AuthenticationParts,
  { identity, authenticatedMsAgo }: Pick<Exchanged, 'identity' | 'authenticatedMsAgo'>,
  { isAsked = false }: { isAsked?: boolean },
): Promise<number | null> {
  if (authenticatedMsAgo === null) {
    if (!(await hasSentAuthTime(database.db, identity.issuer))) return null
    if (isAsked) throw unasked('it sent no auth_time, although it usually does')
    return 0
  }
  if (isAsked && authenticatedMsAgo >= quotas.recentSignInSeconds * 1000)
    throw unasked(`its auth_time is ${Math.round(authenticatedMsAgo / 60_000)} minutes before the ID token`)
  return clock() - authenticatedMsAgo
}

function unasked(reason: string): UnaskedError {
  return new UnaskedError(`the OpenID provider ignored prompt=login and max_age=0: ${reason}`)
}
