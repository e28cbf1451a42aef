import { sql } from 'kysely'
import type { Database, Db, Trx } from '../engine/database.ts'
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

const sessionOf = query(
  (db, { userId, hash, kind, now }: Placeholders<Omit<Tokens, 'hashes'> & { userId: string; hash: string }>) =>
    selectSession(db, { kind, now }).where('user_id', '=', userId).where('hash', '=', hash),
  { userId: 'text', hash: 'text', kind: 'text', now: 'bigint' },
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
