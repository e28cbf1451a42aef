import type * as oauth from 'oauth4webapi'
import { type Identity, ProviderRefusedError } from './provider.ts'

export type Claims = Readonly<Record<string, unknown>>

const maxClaimLength = 2048
const maxSubjectLength = 255

/** The identity from the ID token and UserInfo. A claim that neither has is '' or false. */
export function identityOf(idToken: oauth.IDToken, userInfo: oauth.UserInfoResponse | null): Identity {
  const sources: Claims[] = userInfo === null ? [idToken] : [idToken, userInfo]
  const first = (claim: string) => sources.map((claims) => textOf(claims[claim])).find((value) => value !== '') ?? ''
  const email = first('email')
  return {
    issuer: idToken.iss,
    subject: subjectOf(idToken),
    email,
    name: first('name') || `${first('given_name')} ${first('family_name')}`.trim() || first('preferred_username'),
    avatar_url: webAddress(first('picture')),
    // An `email_verified` only vouches for the address beside it.
    email_verified:
      email !== '' && sources.some((claims) => textOf(claims.email) === email && isTrue(claims.email_verified)),
  }
}

/** True if the ID token has every claim that the service uses, so that UserInfo need not be requested. */
export function isComplete(idToken: oauth.IDToken, requiredClaim = 'email'): boolean {
  const claims = presentIn(idToken)
  const wanted = ['email', 'email_verified', 'name', 'picture']
  return wanted.every((claim) => claims[claim] !== undefined) && claimAt(claims, requiredClaim) !== undefined
}

/** Removes members that are `null` or empty, which some providers send instead of leaving them out. */
export function presentIn(members: Claims): Claims {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== ''))
}

/**
 * The claim with this name, or at this path, such as `realm_access.roles` of Keycloak. Names may contain dots
 * themselves, such as `https://example.org/groups`, so it tries to end a name at each dot.
 */
export function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path] ?? undefined
  for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1)) {
    const name = path.slice(0, dot)
    const inner = Object.hasOwn(claims, name) ? claims[name] : undefined
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) continue
    const found = claimAt(inner as Claims, path.slice(dot + 1))
    if (found !== undefined) return found
  }
  return undefined
}

/** The subject, checked by OpenID Connect Core, section 2. Together with the issuer, it identifies the user. */
function subjectOf({ sub }: oauth.IDToken): string {
  const refuse = (fault: string) => new ProviderRefusedError(`OpenID provider returned an unusable sub claim: ${fault}`)
  if (sub === '') throw refuse('it is empty')
  if (sub.length > maxSubjectLength) throw refuse(`it has more than ${maxSubjectLength} characters`)
  if (!/^[\x20-\x7e]*$/.test(sub)) throw refuse('it has a character that is not printable ASCII')
  return sub
}

/**
 * Normalizes text for display next to other text: one line, without characters that change the direction of writing.
 * Replaces lone surrogates, which SQLite cannot store, and removes U+0000, which Postgres cannot. Empty if too long.
 */
function textOf(claim: unknown): string {
  if (typeof claim !== 'string' || claim.length > maxClaimLength) return ''
  const line = claim.replace(/\p{Bidi_Control}|\0/gu, '').replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
  return line.trim().toWellFormed()
}

/** Empty unless the text is a web address: apps show it as an image, so a script must not pass. */
function webAddress(text: string): string {
  return ['http:', 'https:'].includes(URL.parse(text)?.protocol ?? '') ? text : ''
}

/** Accepts texts, because Amazon Cognito's UserInfo sends "true". */
function isTrue(claim: unknown): boolean {
  return claim === true || claim === 'true'
}
