import { sql } from 'kysely'
import type { Database, Db, Trx } from '../engine/database.ts'
import { type Answer, isOneOf, onceAnswered, type Placeholders, query } from '../engine/query.ts'
import type { Schema } from '../schema.ts'
import type { LoginKey } from './logins.ts'

type TokenRow = Schema['tokens']

/** The login that a token belongs to. */
export type Session = LoginKey

/** A token that a caller has sent, as the database knows it, and whom it names. */
export type SentToken = Pick<TokenRow, 'kind' | 'hash'> & { userId: string }

type Valid = Session & Pick<TokenRow, 'kind' | 'hash'>

/** The logins of those that are valid, in the order of the tokens: one query per request. */
export function findSessions(db: Db, tokens: SentToken[], now: number): Answer<(Session & Pick<TokenRow, 'kind'>)[]> {
  const [token, another] = tokens
  if (token === undefined) return []
  const userIds = [...new Set(tokens.map(({ userId }) => userId))]
  const hashes = tokens.map(({ hash }) => hash)
  // Nearly all requests have one token. A list costs SQLite more than the rest of the query.
  const named = another
    ? sessionsOf.all(db, { userIds, hashes, now })
    : onceAnswered(sessionOf.first(db, { ...token, now }), (session) => (session ? [{ ...session, ...token }] : []))
  return onceAnswered(named, (found) => {
    const known = new Set(found.map(({ hash }) => hash))
    const others = hashes.filter((hash) => !known.has(hash))
    const unnamed = others.length === 0 ? [] : sessionsOfUnnamed.all(db, { hashes: others, now })
    return onceAnswered(unnamed, (more) => inOrderOf(tokens, [...found, ...more]))
  })
}

function inOrderOf(tokens: SentToken[], found: Valid[]) {
  return tokens.flatMap(({ kind, hash }) => {
    const valid = found.find((one) => one.hash === hash && one.kind === kind)
    return valid ? [{ kind, userId: valid.userId, loginId: valid.loginId }] : []
  })
}

const sessionOf = query(
  (db, { userId, hash, kind, now }: Placeholders<SentToken & { now: number }>) =>
    db
      .selectFrom('tokens')
      .select(['login_id as loginId', 'user_id as userId'])
      .where('kind', '=', kind)
      .where('expires_at', '>', now)
      .where('user_id', '=', userId)
      .where('hash', '=', hash),
  { userId: 'text', hash: 'text', kind: 'text', now: 'bigint' },
)

const sessionsOf = query(
  (db, { userIds, hashes, now }: Placeholders<{ userIds: string[]; hashes: string[]; now: number }>) =>
    selectValid(db, { hashes, now }).where(isOneOf(db, 'user_id', userIds)),
)

/** A token of an older version names nobody. It is valid for 30 days, and so is the need for this query. */
const sessionsOfUnnamed = query(selectValid)

function selectValid(db: Db, { hashes, now }: Placeholders<{ hashes: string[]; now: number }>) {
  return db
    .selectFrom('tokens')
    .select(['kind', 'hash', 'login_id as loginId', 'user_id as userId'])
    .where('expires_at', '>', now)
    .where(isOneOf(db, 'hash', hashes))
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

/** Session tokens per login. */
const maxSessions = 1000

/** Makes room for another session token of the login by deleting the oldest ones. */
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

/** Few enough that a request for one of the tokens waits for some milliseconds. */
const tokensAtOnce = 1000

type Parts = Pick<Database, 'db' | 'write' | 'maintain' | 'isServer'>

/**
 * Gives the tokens of an older version their users, while other instances serve requests. If it is interrupted, the next
 * start goes on.
 */
export async function nameUsersOfTokens(parts: Parts): Promise<void> {
  if (await isDone(parts)) return
  for await (const [after, last] of pagesOfTokens(parts.db)) {
    await parts.write(async (trx) => {
      await sql`update tokens set user_id = logins.user_id from logins
        where logins.id = tokens.login_id and tokens.user_id is null and hash > ${after} and hash <= ${last}`.execute(
        trx,
      )
    })
  }
  // Reads the whole table, and holds nobody up meanwhile.
  if (parts.isServer) await parts.maintain((db) => sql`alter table tokens validate constraint tokens_user`.execute(db))
}

/** An older version that one goes back to adds such tokens again: on Postgres a trigger names their users. */
async function isDone({ db, isServer }: Parts): Promise<boolean> {
  const missing = isServer
    ? sql`select 1 from pg_constraint
        where conrelid = 'tokens'::regclass and conname = 'tokens_user' and not convalidated`
    : sql`select 1 from tokens where user_id is null limit 1`
  return (await missing.execute(db)).rows.length === 0
}

async function* pagesOfTokens(db: Db): AsyncGenerator<[string, string]> {
  for (let after = ''; ; ) {
    const { rows } = await sql<{ last: string | null }>`select max(hash) as last from
      (select hash from tokens where hash > ${after} order by hash limit ${tokensAtOnce}) as page`.execute(db)
    const last = rows[0]?.last
    if (!last) return
    yield [after, last]
    after = last
  }
}
