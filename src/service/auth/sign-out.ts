import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../db/engine/database.ts'
import { type EndedLogin, endLogin, type LoginKey } from '../db/tables/logins.ts'
import type { Notices } from '../notices/notices.ts'
import type { Provider } from '../provider/provider.ts'
import type { Seal } from '../seal/seal.ts'
import { cookieValues } from './cookies.ts'
import { findLoginsOf } from './tokens.ts'

export interface SignOutParts {
  database: Pick<Database, 'db' | 'write'>
  seal: Seal
  provider: Pick<Provider, 'revoke'>
  notices: Pick<Notices, 'publishEnd'>
  clock: () => number
}

/**
 * Ends every login that a valid cookie belongs to, closes its sockets, and revokes the provider's token. A browser sends
 * several cookies of one name if they have different domains or paths, and afterwards none of them may be of use.
 * Returns whether there was any.
 */
export async function signOut(
  { database, clock, notices, seal, provider }: SignOutParts,
  cookieHeader: string | undefined,
  log: FastifyBaseLogger,
): Promise<boolean> {
  const kinds = ['session', 'refresh'] as const
  const found = kinds.map((kind) =>
    findLoginsOf(database.db, kind, cookieValues(cookieHeader, `service_${kind}`), clock()),
  )
  // In one order, so that two that sign out the same logins do not wait for each other.
  const logins = sortedById((await Promise.all(found)).flat())
  if (logins.length === 0) return false
  const ended = await database.write(async (trx) => {
    const rows = []
    for (const login of logins) rows.push(await endLogin(trx, login))
    return rows.filter((row) => row !== undefined)
  }, logins[0]?.loginId)
  for (const login of logins) notices.publishEnd(login)
  revokeTokens({ seal, provider }, ended, log)
  return true
}

/** Users are signed out here, whatever the provider responds and however long it takes. */
export async function revokeTokens(
  { seal, provider }: Pick<SignOutParts, 'seal' | 'provider'>,
  ended: EndedLogin[],
  log: FastifyBaseLogger,
): Promise<void> {
  for (const { id, user_id, provider_token_sealed } of ended) {
    if (provider_token_sealed === null) continue
    const token = seal.open(provider_token_sealed, { purpose: 'provider-token', userId: user_id, rowId: id })
    if (token === null) continue
    await provider
      .revoke(Buffer.from(token).toString())
      .catch((err) => log.warn({ err }, 'the provider did not revoke its token'))
  }
}

function sortedById(logins: LoginKey[]): LoginKey[] {
  const byId = new Map(logins.map((login) => [login.loginId, login]))
  return [...byId.values()].sort((one, other) => (one.loginId < other.loginId ? -1 : 1))
}
