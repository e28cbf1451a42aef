import { sql } from 'kysely'
import { dayMs } from '../../../protocol/order.ts'
import type { Db, Trx } from '../engine/database.ts'
import { pages } from '../engine/query.ts'
import { dropProviderToken } from './logins.ts'

/** A person, as identified by a provider. */
export interface IdentityKey {
  issuer: string
  subject: string
}

const awaitedMark = '→ '
/** Sorts after all subjects that begin with `awaitedMark`. */
const afterAwaited = '→!'

/**
 * A placeholder subject for a user who was moved by e-mail address and has not signed in at the new provider yet.
 * Providers' subjects are ASCII, so none is equal to it.
 */
export function awaitedSubject(address: string): string {
  return awaitedMark + address.toLowerCase()
}

/** The address in a placeholder subject; otherwise undefined. */
export function awaitedAddress(subject: string): string | undefined {
  return subject.startsWith(awaitedMark) ? subject.slice(awaitedMark.length) : undefined
}

export async function findUserOf(db: Db, { issuer, subject }: IdentityKey): Promise<string | undefined> {
  const rows = db.selectFrom('identities').select('user_id').where('issuer', '=', issuer).where('subject', '=', subject)
  return (await rows.executeTakeFirst())?.user_id
}

/** Lets the person sign in as this user. Fails if the identity belongs to a user already. */
export async function addIdentity(trx: Trx, { issuer, subject }: IdentityKey, user_id: string): Promise<void> {
  await trx.insertInto('identities').values({ issuer, subject, user_id }).execute()
}

/** The user's issuer; '' for a deleted account. */
export async function findIssuer(db: Db, id: string): Promise<string | undefined> {
  return (await db.selectFrom('users').select('issuer').where('id', '=', id).executeTakeFirst())?.issuer
}

/** True if any user has this issuer. */
export async function hasUsersOf(db: Db, issuer: string): Promise<boolean> {
  const users = db.selectFrom('identities').select('user_id').where('issuer', '=', issuer).limit(1)
  return (await users.executeTakeFirst()) !== undefined
}

/** Another issuer at which a user could sign in. Deleted and disabled users do not count. */
export async function findOtherIssuer(db: Db, issuer: string): Promise<string | undefined> {
  const others = db.selectFrom('users').select('issuer').where('issuer', 'not in', [issuer, ''])
  return (await others.where('disabled_at', 'is', null).limit(1).executeTakeFirst())?.issuer
}

export interface IssuerCount {
  issuer: string
  users: number
}

/** The number of users who could sign in, by issuer. Of a user's several issuers, a `preferred` one counts. */
export async function countByIssuer(db: Db, preferred: string[]): Promise<IssuerCount[]> {
  const { rows } = await sql<{ issuer: string; users: unknown }>`
    select issuer, count(*) as users from (
      select case when issuer in (${sql.join(preferred)}) then issuer else coalesce((
        select min(identities.issuer) from identities
        where identities.user_id = users.id and identities.issuer in (${sql.join(preferred)})
      ), issuer) end as issuer
      from users where disabled_at is null and issuer <> ''
    ) as counted
    group by issuer order by issuer`.execute(db)
  return rows.map(({ issuer, users }) => ({ issuer, users: Number(users) }))
}

interface NewPerson extends IdentityKey {
  email: string
  email_verified: number
}

/** Gives the user awaited under the person's verified address this identity. Returns the user's id, if there is one. */
export async function claimAwaited(trx: Trx, person: NewPerson): Promise<string | undefined> {
  const { issuer, subject, email, email_verified } = person
  if (email_verified === 0) return undefined
  const claimed = await trx
    .deleteFrom('identities')
    .where('issuer', '=', issuer)
    .where('subject', '=', awaitedSubject(email))
    .returning('user_id')
    .executeTakeFirst()
  if (!claimed) return undefined
  const id = claimed.user_id
  await identityRow(trx, { issuer, subject }).set({ user_id: id }).execute()
  await trx.updateTable('users').set({ issuer, subject }).where('id', '=', id).execute()
  return id
}

function identityRow(trx: Trx, { issuer, subject }: IdentityKey) {
  return trx.updateTable('identities').where('issuer', '=', issuer).where('subject', '=', subject)
}

/** A user of the old issuer, or one who was moved to the new one and has not signed in there yet. */
export interface MovableUser extends Account {
  /** The issuer in the user's row, and the subject at the old issuer, or a placeholder (`awaitedSubject`). */
  issuer: string
  subject: string
  email_verified: number
}

export interface Account {
  id: string
  email: string
  disabled_at: number | null
  /** The sum of records, versions and bytes: 0 only if there are none. */
  stored: number
}

const stored = sql<number>`stored_bytes + stored_records + stored_versions`

export async function findAccount(db: Db, id: string): Promise<Account | undefined> {
  const account = db.selectFrom('users').select(['id', 'email', 'disabled_at', stored.as('stored')])
  return account.where('id', '=', id).executeTakeFirst()
}

/**
 * Users of the issuer `from`, in pages: those whose row has it, those who have it besides their row's issuer, and those
 * who were moved to `to` and have not signed in there yet. Each of the three queries uses an index.
 */
export async function* listMovable(db: Db, from: string, to: string, atOnce: number): AsyncGenerator<MovableUser[]> {
  const columns = ['users.id', 'email', 'email_verified', 'disabled_at', 'users.issuer', stored.as('stored')] as const
  const own = db.selectFrom('users').select([...columns, 'users.subject'])
  const known = own.where('issuer', '=', from).orderBy('subject').limit(atOnce)
  yield* pages<MovableUser>((last) => known.where('subject', '>', last?.subject ?? '').execute())
  const additional = db
    .selectFrom('identities')
    .innerJoin('users', 'users.id', 'identities.user_id')
    .select([...columns, 'identities.subject'])
    .where('identities.issuer', '=', from)
    .where('users.issuer', '<>', from)
    .orderBy('identities.subject')
    .limit(atOnce)
  yield* pages<MovableUser>((last) => additional.where('identities.subject', '>', last?.subject ?? '').execute())
  const awaited = own.where('issuer', '=', to).where('subject', '<', afterAwaited).orderBy('subject').limit(atOnce)
  yield* pages<MovableUser>((last) => awaited.where('subject', '>', last?.subject ?? awaitedMark).execute())
}

/** The subjects of an issuer's users, except placeholders, by verified e-mail address in lower case. */
export async function subjectsByAddress(db: Db, issuer: string): Promise<Map<string, string[]>> {
  const users = db.selectFrom('users').select(['email', 'subject']).where('issuer', '=', issuer)
  const rows = await users.where('email_verified', '=', 1).execute()
  const signedIn = rows.filter(({ subject }) => awaitedAddress(subject) === undefined)
  const byAddress = Map.groupBy(signedIn, ({ email }) => email.toLowerCase())
  return new Map([...byAddress].map(([address, users]) => [address, users.map(({ subject }) => subject)]))
}

/**
 * Moves the user to another issuer. Refresh tokens of the old issuer are not sent to the new one, so logins that have
 * one end within a day. Returns false and changes nothing if somebody else has the identity, or the user's issuer has
 * changed since it was listed.
 */
export async function moveUser(
  trx: Trx,
  user: Pick<MovableUser, 'id' | 'issuer' | 'subject'>,
  from: string,
  { issuer, subject }: IdentityKey,
  now: number,
): Promise<boolean> {
  const { id } = user
  const own = trx.selectFrom('users').select('id').where('id', '=', id).where('issuer', '=', user.issuer)
  if (!(await own.forNoKeyUpdate().executeTakeFirst())) return false
  await trx
    .insertInto('identities')
    .values({ issuer, subject, user_id: id })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  if ((await findUserOf(trx, { issuer, subject })) !== id) return false
  await trx.updateTable('users').set({ issuer, subject }).where('id', '=', id).execute()
  await trx
    .deleteFrom('identities')
    .where('user_id', '=', id)
    .where('issuer', 'in', [from, issuer])
    .where(({ or, eb }) => or([eb('issuer', '<>', issuer), eb('subject', '<>', subject)]))
    .execute()
  const asked = trx.selectFrom('logins').select(['id', 'ends_at']).where('user_id', '=', id)
  const logins = await asked.where('provider_token_sealed', 'is not', null).orderBy('id').forUpdate().execute()
  for (const { id: loginId, ends_at } of logins)
    await dropProviderToken(trx, { userId: id, loginId }, Math.min(ends_at ?? Number.POSITIVE_INFINITY, now + dayMs))
  return true
}
