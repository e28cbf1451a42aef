import { quotas } from '../../../generated/limits.ts'
import type { Database } from '../db/engine/database.ts'
import { hasSentAuthTime } from '../db/tables/providers.ts'
import type { Exchanged } from '../provider/provider.ts'

/** The provider did not ask the person, although it had to. */
export class NotReauthenticatedError extends Error {}

interface AuthenticationParts {
  database: Pick<Database, 'db'>
  clock: () => number
}

/**
 * When (Unix ms) the provider last asked the person for credentials. Null if it never reports that: then every sign-in
 * counts as recent. If it has reported it before, 0 stands for a missing report, because anyone who opens the
 * authorization URL can remove the `max_age` that requires it.
 *
 * @throws NotReauthenticatedError the provider had to ask, but reports an old sign-in, or none although it did before:
 * the app would send the person to the provider again and again
 */
export async function findAuthenticatedAt(
  { database, clock }: AuthenticationParts,
  { identity, authenticatedMsAgo }: Pick<Exchanged, 'identity' | 'authenticatedMsAgo'>,
  { isAsked = false }: { isAsked?: boolean },
): Promise<number | null> {
  if (authenticatedMsAgo === null) {
    if (!(await hasSentAuthTime(database.db, identity.issuer))) return null
    if (isAsked) throw notReauthenticated('it sent no auth_time, although it usually does')
    return 0
  }
  if (isAsked && authenticatedMsAgo >= quotas.recentSignInSeconds * 1000)
    throw notReauthenticated(`its auth_time is ${Math.round(authenticatedMsAgo / 60_000)} minutes before the ID token`)
  return clock() - authenticatedMsAgo
}

function notReauthenticated(reason: string): NotReauthenticatedError {
  return new NotReauthenticatedError(`the OpenID provider ignored prompt=login and max_age=0: ${reason}`)
}
