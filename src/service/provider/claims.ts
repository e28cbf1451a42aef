import type * as oauth from 'oauth4webapi'
import { type Identity, ProviderRefusedError } from './provider.ts'

export type Claims = Readonly<Record<string, unknown>>

const maxClaimLength = 2048
const maxSubjectLength = 255

/** The claims of the ID token, completed by UserInfo. A claim that neither has is '' or false. */
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
    // Only a source that contains this very address can vouch for it.
    email_verified:
      email !== '' && sources.some((claims) => textOf(claims.email) === email && isTrue(claims.email_verified)),
  }
}

/** Returns true if UserInfo could add nothing that is needed. */
export function isComplete(idToken: oauth.IDToken, requiredClaim = 'email'): boolean {
  const claims = presentIn(idToken)
  const wanted = ['email', 'email_verified', 'name', 'picture']
  return wanted.every((claim) => claims[claim] !== undefined) && claimAt(claims, requiredClaim) !== undefined
}

/** Some providers send `null` or an empty text instead of leaving a member out. */
export function presentIn(members: Claims): Claims {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== ''))
}

/**
 * The claim of this name, or else the one that the name leads to as a path: `realm_access.roles` of Keycloak. Names may have
 * dots themselves, such as `https://example.org/groups`, so each dot may be the one that ends a name.
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

/** OpenID Connect Core 2. Together with the issuer, it identifies the user. */
function subjectOf({ sub }: oauth.IDToken): string {
  const refuse = (fault: string) => new ProviderRefusedError(`OpenID provider returned an unusable sub claim: ${fault}`)
  if (sub === '') throw refuse('it is empty')
  if (sub.length > maxSubjectLength) throw refuse(`it has more than ${maxSubjectLength} characters`)
  if (!/^[\x20-\x7e]*$/.test(sub)) throw refuse('it has a character that is not printable ASCII')
  return sub
}

/**
 * On one line, and in the order in which it is written: apps show it beside other text. SQLite cannot store a lone surrogate,
 * and Postgres no U+0000.
 */
function textOf(claim: unknown): string {
  if (typeof claim !== 'string' || claim.length > maxClaimLength) return ''
  const line = claim.replace(/\p{Bidi_Control}|\0/gu, '').replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
  return line.trim().toWellFormed()
}

/** Apps link to it or show it as an image, so an address that runs a script is dropped. */
function webAddress(text: string): string {
  return ['http:', 'https:'].includes(URL.parse(text)?.protocol ?? '') ? text : ''
}

/** Amazon Cognito's UserInfo sends a string. */
function isTrue(claim: unknown): boolean {
  return claim === true || claim === 'true'
}
