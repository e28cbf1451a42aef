import type { Db, Trx } from '../engine/database.ts'
import { type Answer, isOneOf, isOneOfPairs, onceAnswered, type Placeholders, query } from '../engine/query.ts'
import type { Schema } from '../schema.ts'
import { type LoginKey, selectTokens } from './logins.ts'

type TokenRow = Schema['tokens']

/** The login that a token belongs to. */
export type Session = LoginKey

/** A token from a caller: its hash and the user it names. */
export type SentToken = Pick<TokenRow, 'kind' | 'hash'> & { userId: string }

type Valid = Session & Pick<TokenRow, 'kind' | 'hash'>

/** The logins of those tokens that are valid, in the order of the tokens, by one query. */
export function findSessions(db: Db, tokens: SentToken[], now: number): Answer<(Session & Pick<TokenRow, 'kind'>)[]> {
  const [token, another] = tokens
  if (token === undefined) return []
  // Nearly all requests have a single token. A list would cost SQLite more than the rest of the query.
  if (!another)
    return onceAnswered(sessionOf.first(db, { ...token, now }), (session) =>
      session ? [{ kind: token.kind, ...session }] : [],
    )
  const { userId } = token
  const hashes = tokens.map(({ hash }) => hash)
  const found = tokens.every((one) => one.userId === userId)
    ? sessionsOfUser.all(db, { userId, hashes, now })
    : sessionsOf.all(db, { pairs: JSON.stringify(tokens.map((one) => [one.userId, one.hash])), now })
  return onceAnswered(found, (valid) => inOrderOf(tokens, valid))
}

function inOrderOf(tokens: SentToken[], found: Valid[]) {
  return tokens.flatMap(({ kind, hash }) => {
    const valid = found.find((one) => one.hash === hash && one.kind === kind)
    return valid ? [{ kind, userId: valid.userId, loginId: valid.loginId }] : []
  })
}

const sessionOf = query(
  (db, { userId, hash, kind, now }: Placeholders<SentToken & { now: number }>) =>
    selectTokens(db)
      .select(['login_id as loginId', 'tokens.user_id as userId'])
      .where('kind', '=', kind)
      .where('expires_at', '>', now)
      .where('tokens.user_id', '=', userId)
      .where('hash', '=', hash),
  { userId: 'text', hash: 'text', kind: 'text', now: 'bigint' },
)

const selectValid = (db: Db, now: Placeholders<{ now: number }>['now']) =>
  selectTokens(db)
    .select(['kind', 'hash', 'login_id as loginId', 'tokens.user_id as userId'])
    .where('expires_at', '>', now)

const sessionsOfUser = query(
  (db, { userId, hashes, now }: Placeholders<{ userId: string; hashes: string[]; now: number }>) =>
    selectValid(db, now)
      .where('tokens.user_id', '=', userId)
      .where(isOneOf(db, 'hash', hashes)),
)

const sessionsOf = query((db, { pairs, now }: Placeholders<{ pairs: string; now: number }>) =>
  selectValid(db, now).where(isOneOfPairs(db, ['tokens.user_id', 'hash'], pairs)),
)

export async function saveToken(trx: Trx, token: TokenRow): Promise<void> {
  await trx.insertInto('tokens').values(token).execute()
}

/** Makes session tokens issued before `issuedBefore` expire at `end`, unless they expire sooner. */
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

/**
 * The most session tokens per login. Enough for tabs that refresh in the same minute, and for lost responses. Few,
 * because a sign-out deletes them all.
 */
const maxSessions = 32

/** Makes room for a session token by deleting the login's oldest ones. */
export async function dropOldestSessions(trx: Trx, { userId, loginId }: LoginKey): Promise<void> {
  const sessions = trx
    .selectFrom('tokens')
    .select('hash')
    .where('user_id', '=', userId)
    .where('login_id', '=', loginId)
    .where('kind', '=', 'session')
  const kept = sessions
    .orderBy('issued_at', 'desc')
    .orderBy('hash')
    .limit(maxSessions - 1)
  await trx
    .deleteFrom('tokens')
    .where('user_id', '=', userId)
    .where('login_id', '=', loginId)
    .where('kind', '=', 'session')
    .where('hash', 'not in', kept)
    .execute()
}
