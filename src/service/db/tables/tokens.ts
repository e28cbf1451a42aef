import type { Db, Trx } from '../engine/database.ts'
import { lookup } from '../engine/lookup.ts'
import { type Answer, isOneOf, onceAnswered, type Placeholders, query } from '../engine/query.ts'
import type { Schema } from '../schema.ts'
import type { LoginKey } from './logins.ts'

type TokenRow = Schema['tokens']

/** The login that a token belongs to. */
export type Session = LoginKey

interface Tokens {
  kind: TokenRow['kind']
  hashes: string[]
  now: number
}

interface TokensOfUsers extends Tokens {
  /** Whom the tokens name. */
  userIds: string[]
}

/** That of the first token that is valid: one query per request. */
export function findSession(db: Db, tokens: TokensOfUsers): Answer<Session | undefined> {
  const { kind, hashes, userIds, now } = tokens
  const { 0: hash = '', length } = hashes
  const { 0: userId = '' } = userIds
  // Nearly all requests have one token. A list costs SQLite more than the rest of the query.
  const found = length === 1 ? sessionOf.first(db, { kind, userId, hash, now }) : sessionOfAny.first(db, tokens)
  return onceAnswered(found, (session) => session ?? sessionOfUnnamed.first(db, tokens))
}

const sessionOf = lookup(
  { userId: 'text', hash: 'text', kind: 'text', now: 'bigint' },
  (db, { userId, hash, kind, now }: Placeholders<Omit<Tokens, 'hashes'> & { userId: string; hash: string }>) =>
    selectSession(db, { kind, now }).where('user_id', '=', userId).where('hash', '=', hash),
)

const sessionOfAny = query((db, { userIds, hashes, ...tokens }: Placeholders<TokensOfUsers>) =>
  selectSession(db, tokens)
    .where(isOneOf(db, 'user_id', userIds))
    .where(isOneOf(db, 'hash', hashes)),
)

/** A token of an older version names nobody. It is valid for 30 days, and so is the need for this query. */
const sessionOfUnnamed = query((db, { hashes, kind, now }: Placeholders<Tokens>) =>
  selectSession(db, { kind, now }).where(isOneOf(db, 'hash', hashes)),
)

function selectSession(db: Db, { kind, now }: Pick<Placeholders<Tokens>, 'kind' | 'now'>) {
  return db
    .selectFrom('tokens')
    .select(['login_id as loginId', 'user_id as userId'])
    .where('kind', '=', kind)
    .where('expires_at', '>', now)
}

/** Those of all the tokens that are valid. */
export async function findLogins(db: Db, { kind, hashes, userIds, now }: TokensOfUsers): Promise<LoginKey[]> {
  const valid = db
    .selectFrom('tokens')
    .select(['hash', 'user_id as userId', 'login_id as loginId'])
    .where('kind', '=', kind)
    .where('expires_at', '>', now)
  const named = await valid.where('user_id', 'in', userIds).where('hash', 'in', hashes).execute()
  const found = new Set(named.map(({ hash }) => hash))
  const others = hashes.filter((hash) => !found.has(hash))
  const unnamed = others.length === 0 ? [] : await valid.where('hash', 'in', others).execute()
  return [...named, ...unnamed]
}

export async function saveToken(trx: Trx, token: TokenRow): Promise<void> {
  await trx.insertInto('tokens').values(token).execute()
}

/** Makes the login's session tokens that were issued before `issuedBefore` expire at `end`, if not sooner. */
export async function shortenSessions(
  trx: Trx,
  { userId, loginId }: LoginKey,
  issuedBefore: number,
  end: number,
): Promise<void> {
  await trx
    .updateTable('tokens')
    .set({ expires_at: end })
    .where('user_id', '=', userId)
    .where('login_id', '=', loginId)
    .where('kind', '=', 'session')
    .where('issued_at', '<', issuedBefore)
    .where('expires_at', '>', end)
    .execute()
}
