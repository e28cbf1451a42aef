import type { IDToken, UserInfoResponse } from 'oauth4webapi'
import { ProviderRefusedError } from './errors.ts'

const maxClaimLength = 2048

export interface Identity {
  issuer: string
  subject: string
  email: string
  name: string
  avatar_url: string
  email_verified: boolean
}

type Claims = Readonly<Record<string, unknown>>

/** The claims of the ID token, completed by UserInfo. A claim that neither has is '' or false. */
export function identityOf(idToken: IDToken, userInfo: UserInfoResponse | null): Identity {
  const sources: Claims[] = userInfo === null ? [idToken] : [idToken, userInfo]
  const first = (claim: string) => sources.map((claims) => text(claims[claim])).find((value) => value !== '') ?? ''
  const email = first('email')
  return {
    issuer: idToken.iss,
    subject: subjectOf(idToken),
    email,
    name: first('name'),
    avatar_url: first('picture'),
    // Only a source that contains this very address can vouch for it.
    email_verified:
      email !== '' && sources.some((claims) => text(claims.email) === email && isTrue(claims.email_verified)),
  }
}

export function isComplete(idToken: IDToken): boolean {
  return ['email', 'email_verified', 'name', 'picture'].every((claim) => idToken[claim] !== undefined)
}

/** OpenID Connect Core 2: at most 255 ASCII characters. Together with the issuer, it identifies the user. */
function subjectOf({ sub }: IDToken): string {
  if (!/^[\x20-\x7e]{1,255}$/.test(sub))
    throw new ProviderRefusedError('OpenID provider returned an unusable sub claim')
  return sub
}

/** Postgres cannot store U+0000, SQLite cannot store a lone surrogate. */
function text(claim: unknown): string {
  if (typeof claim !== 'string' || claim.length > maxClaimLength) return ''
  return claim.replaceAll('\0', '').toWellFormed()
}

/** Amazon Cognito's UserInfo sends a string. */
function isTrue(claim: unknown): boolean {
  return claim === true || claim === 'true'
}
