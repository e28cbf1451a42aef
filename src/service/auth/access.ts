import { type Access, mailDomain } from '../config/access.ts'
import { type Exchanged, ProviderUnavailableError } from '../provider/provider.ts'

/** The operator does not let this person in. The message says which rule, and nothing of the person. */
export class NotAllowedError extends Error {}

/** By what the provider says of the person now, at each sign-in: who has left the group does not come in again. */
export function demandAllowed(
  { domains, requiredClaim }: Access,
  exchanged: Pick<Exchanged, 'identity' | 'claims' | 'isIncomplete'>,
): void {
  const { claims } = exchanged
  const fault =
    (domains && wrongDomain(domains, exchanged)) ??
    (requiredClaim && wrongClaim(requiredClaim, claims[requiredClaim.name]))
  if (fault === undefined) return
  if (exchanged.isIncomplete) throw new ProviderUnavailableError(`UserInfo is not available, and without it ${fault}`)
  throw new NotAllowedError(fault)
}

function wrongDomain(
  domains: ReadonlySet<string>,
  { identity: { email, email_verified }, claims }: Pick<Exchanged, 'identity' | 'claims'>,
): string | undefined {
  // The part of it that is shown may be less than the address that was verified.
  if (email === '' || claims.email !== email) return 'the claim email is missing or no address'
  if (!email_verified) return 'the claim email_verified is not true'
  const [, domain = ''] = /^[^@\s"<>(),:;\\[\]]+@([^@]+)$/.exec(email) ?? []
  return domains.has(mailDomain(domain) ?? '')
    ? undefined
    : 'the e-mail address is of no domain of OIDC_ALLOWED_DOMAINS'
}

/** A text, or a list of texts, one of which is the value to the letter. */
function wrongClaim({ name, value }: { name: string; value: string }, claim: unknown): string | undefined {
  if (claim === undefined) return `the claim ${name} of OIDC_REQUIRED_CLAIM is missing`
  const given: unknown[] = Array.isArray(claim) ? claim : [claim]
  return given.includes(value) ? undefined : `the claim ${name} has not the value of OIDC_REQUIRED_CLAIM`
}
