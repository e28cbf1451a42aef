import { createHash, randomBytes } from 'node:crypto'
import type { Db, Trx } from '../db/database.ts'
import { findSession, type Session, saveToken } from '../db/logins.ts'
import { refreshSeconds, sessionSeconds } from './cookies.ts'

export type TokenKind = 'session' | 'refresh'

const lifetimes = { session: sessionSeconds * 1000, refresh: refreshSeconds * 1000 }

/** Looks up tokens without a cache, so that signing out takes effect at once. Undefined if none of them is valid. */
export async function findSessionOf(
  db: Db,
  kind: TokenKind,
  tokens: string[],
  now: number,
): Promise<Session | undefined> {
  const plausible = tokens.filter((token) => /^[\w-]{43}$/.test(token))
  if (plausible.length === 0) return undefined
  return findSession(db, kind, plausible.map(hash), now)
}

/** A token is 32 random bytes in base64url; the database holds only its SHA-256. */
export async function issueToken(trx: Trx, kind: TokenKind, loginId: string, now: number): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  await saveToken(trx, {
    hash: hash(token),
    kind,
    login_id: loginId,
    issued_at: now,
    expires_at: now + lifetimes[kind],
  })
  return token
}

function hash(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
