import { type Access, mailDomain } from '../config/access.ts'
import type { Db } from '../db/engine/database.ts'
import { awaitedSubject, findOtherIssuer, findUserOf, hasUsersOf } from '../db/tables/identities.ts'
import { type Claims, claimAt } from '../provider/claims.ts'
import { moveCall } from '../provider/issuer.ts'
import { type Exchanged, type Identity, ProviderUnavailableError } from '../provider/provider.ts'

/** The operator's rules refuse this person. The message names the rule, but no value of a claim. */
export class NotAllowedError extends Error {}

/** The person may be a user of the previous provider, and would now get a second, empty account. */
export class UnmovedError extends Error {}

/**
 * Refuses a first sign-in that may be an existing user's, who would get a second, empty account: only other issuers have
 * users (a changed provider or spelling), or one was moved to this issuer by this address, which is not verified.
 */
export async function requireMoved(db: Db, { issuer, subject, email, email_verified }: Identity): Promise<void> {
  if (await findUserOf(db, { issuer, subject })) return
  if (await hasUsersOf(db, issuer)) {
    const isAwaited =
      !email_verified && (await findUserOf(db, { issuer, subject: awaitedSubject(email) })) !== undefined
    if (isAwaited)
      throw new UnmovedError('a user is awaited under this address, but the claim email_verified is not true')
    return
  }
  const other = await findOtherIssuer(db, issuer)
  if (other === undefined) return
  throw new UnmovedError(`there are users of ${other}, and none of ${issuer}: ${moveCall(other, issuer)}`)
}

/** Checks the provider's current claims at each sign-in, so that a person who has left an allowed group is refused. */
export function requireAllowed(
  { domains, requiredClaim }: Access,
  exchanged: Pick<Exchanged, 'identity' | 'claims' | 'isIncomplete'>,
): void {
  const { claims } = exchanged
  const fault =
    (domains && wrongDomain(domains, exchanged)) ??
    (requiredClaim && wrongClaim(requiredClaim, claimAt(claims, requiredClaim.name)))
  if (fault === undefined) return
  if (exchanged.isIncomplete) throw new ProviderUnavailableError(`UserInfo is not available, and without it ${fault}`)
  throw new NotAllowedError(fault)
}

function wrongDomain(
  domains: ReadonlySet<string>,
  { identity: { email, email_verified }, claims }: Pick<Exchanged, 'identity' | 'claims'>,
): string | undefined {
  // `email` is cleaned. If that has changed it, it is not the address that the provider has verified.
  if (email === '' || claims.email !== email) return 'the claim email is missing or no address'
  if (!email_verified) return 'the claim email_verified is not true'
  const [, domain = ''] = /^[^@\s"<>(),:;\\[\]]+@([^@]+)$/.exec(email) ?? []
  return domains.has(mailDomain(domain) ?? '')
    ? undefined
    : 'the e-mail address is of no domain of OIDC_ALLOWED_DOMAINS'
}

function wrongClaim({ name, value }: { name: string; value: string }, claim: unknown): string | undefined {
  if (claim === undefined) return `the claim ${name} of OIDC_REQUIRED_CLAIM is missing`
  if (hasValue(claim, value)) return undefined
  return `the claim ${name} (${formOf(claim)}) does not have the value of OIDC_REQUIRED_CLAIM`
}

/** True if the claim is this value, or has it in a list or as a granted key of an object, such as Zitadel's roles. */
function hasValue(claim: unknown, value: string): boolean {
  if (Array.isArray(claim)) return claim.some((item) => isText(item, value))
  if (typeof claim !== 'object' || claim === null) return isText(claim, value)
  const granted = Object.hasOwn(claim, value) ? (claim as Claims)[value] : undefined
  return granted !== undefined && granted !== null && granted !== false
}

function isText(item: unknown, value: string): boolean {
  return ['string', 'number', 'boolean'].includes(typeof item) && String(item) === value
}

function formOf(claim: unknown): string {
  if (Array.isArray(claim)) return 'a list'
  return { string: 'a text', object: 'an object' }[typeof claim as string] ?? `a ${typeof claim}`
}
