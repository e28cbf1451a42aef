import { hash as digest, randomBytes } from 'node:crypto'
import { parse } from 'uuid'
import type { Db, Trx } from '../db/engine/database.ts'
import type { Answer } from '../db/engine/query.ts'
import type { LoginKey } from '../db/tables/logins.ts'
import { findLogins, findSession, type Session, saveToken } from '../db/tables/tokens.ts'
import { refreshSeconds, sessionSeconds } from './cookies.ts'

export type TokenKind = 'session' | 'refresh'

const lifetimes = { session: sessionSeconds * 1000, refresh: refreshSeconds * 1000 }
const idBytes = 16
const secretBytes = 16

/** Looks up tokens without a cache, so that signing out takes effect at once. Undefined if none of them is valid. */
export function findSessionOf(db: Db, kind: TokenKind, tokens: string[], now: number): Answer<Session | undefined> {
  const possible = tokens.filter(isPossible)
  return possible.length === 0 ? undefined : findSession(db, { kind, now, ...namesOf(possible) })
}

/** All logins that valid ones among the tokens belong to. */
export async function findLoginsOf(db: Db, kind: TokenKind, tokens: string[], now: number): Promise<LoginKey[]> {
  const possible = tokens.filter(isPossible)
  return possible.length === 0 ? [] : findLogins(db, { kind, now, ...namesOf(possible) })
}

/**
 * A token is its user's id and 128 random bits, in base64url, so that it is looked up where the user's rows are. The
 * database holds only its SHA-256. It does not outlive `endsAt`.
 */
export async function issueToken(
  trx: Trx,
  kind: TokenKind,
  { userId, loginId }: LoginKey,
  now: number,
  endsAt: number | null = null,
): Promise<string> {
  const token = Buffer.concat([parse(userId), randomBytes(secretBytes)]).toString('base64url')
  await saveToken(trx, {
    hash: hash(token),
    kind,
    user_id: userId,
    login_id: loginId,
    issued_at: now,
    expires_at: Math.min(now + lifetimes[kind], endsAt ?? Number.POSITIVE_INFINITY),
  })
  return token
}

function isPossible(token: string): boolean {
  return /^[\w-]{43}$/.test(token)
}

function namesOf(tokens: string[]) {
  return { hashes: tokens.map(hash), userIds: [...new Set(tokens.map(userOf))] }
}

/** Of a token of an older version, which is random as a whole, this is nobody. */
function userOf(token: string): string {
  const hex = Buffer.from(token, 'base64url').toString('hex', 0, idBytes)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

function hash(token: string): string {
  return digest('sha256', token, 'base64url')
}
