import { hash as digest, randomBytes } from 'node:crypto'
import type { Db, Trx } from '../db/database.ts'
import { findLogins, findSession, type Session, saveToken } from '../db/logins.ts'
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
  const hashes = hashesOf(tokens)
  return hashes.length === 0 ? undefined : findSession(db, kind, hashes, now)
}

/** The ids of all logins that valid ones among the tokens belong to. */
export async function findLoginsOf(db: Db, kind: TokenKind, tokens: string[], now: number): Promise<string[]> {
  const hashes = hashesOf(tokens)
  return hashes.length === 0 ? [] : findLogins(db, kind, hashes, now)
}

/** A token is 32 random bytes in base64url; the database holds only its SHA-256. It does not outlive `endsAt`. */
export async function issueToken(
  trx: Trx,
  kind: TokenKind,
  loginId: string,
  now: number,
  endsAt: number | null = null,
): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  await saveToken(trx, {
    hash: hash(token),
    kind,
    login_id: loginId,
    issued_at: now,
    expires_at: Math.min(now + lifetimes[kind], endsAt ?? Number.POSITIVE_INFINITY),
  })
  return token
}

function hashesOf(tokens: string[]): string[] {
  return tokens.filter((token) => /^[\w-]{43}$/.test(token)).map(hash)
}

function hash(token: string): string {
  return digest('sha256', token, 'base64url')
}
