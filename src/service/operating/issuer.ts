import type { FastifyBaseLogger } from 'fastify'
import type { Database, Db } from '../db/engine/database.ts'
import { countByIssuer, type IssuerCount } from '../db/tables/identities.ts'
import { isSameIssuer, moveCall, spellingsOf } from '../provider/issuer.ts'

/** The number of users of this issuer, and of users of other issuers only. */
export interface UsersOfIssuer {
  own: number
  others: IssuerCount[]
}

/** Counts users by whether they could sign in at this issuer, spelt as in OIDC_ISSUER. */
export async function countUsersOf(db: Db, issuer: string): Promise<UsersOfIssuer> {
  const counts = await countByIssuer(db, spellingsOf(issuer))
  const isOwn = (count: IssuerCount) => isSameIssuer(issuer, count.issuer)
  const own = counts.filter(isOwn).reduce((sum, { users }) => sum + users, 0)
  return { own, others: counts.filter((count) => !isOwn(count)) }
}

/** Describes the users who could sign in only at other issuers; undefined if there are none. */
export function describeOthers({ own, others }: UsersOfIssuer, issuer: string): string | undefined {
  if (others.length === 0) return undefined
  const total = own + others.reduce((sum, { users }) => sum + users, 0)
  const list = others.map((other) => `${other.users} of ${other.issuer}`).join(', ')
  const count = `${total} ${total === 1 ? 'user' : 'users'}`
  return own === 0 ? `${count}, none of ${issuer}: ${list}` : `${count}, ${own} of ${issuer}, but ${list}`
}

interface Parts {
  database: Pick<Database, 'db'>
  /** Spelt as in OIDC_ISSUER. */
  issuer: string
  log: FastifyBaseLogger
}

/** Logs at the start if some users come only from other providers than the configured one. */
export async function checkIssuer({ database, issuer, log }: Parts): Promise<void> {
  const users = await countUsersOf(database.db, issuer)
  const said = describeOthers(users, issuer)
  if (said === undefined) return
  const [{ issuer: other = '' } = {}] = users.others
  const move = `${moveCall(other, issuer)} shows how they would be moved`
  if (users.own === 0) log.error(`OIDC_ISSUER: ${said}. Nobody can sign in until they are moved: ${move}`)
  else log.warn(`OIDC_ISSUER: ${said}, who cannot sign in: ${move}`)
}
