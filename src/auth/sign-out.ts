import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../db/database.ts'
import { endLogin } from '../db/logins.ts'
import type { Provider } from '../provider/provider.ts'
import type { Pulse } from '../pulse/pulse.ts'
import type { Seal } from '../seal/seal.ts'
import { cookieValues } from './cookies.ts'
import { findSessionOf } from './tokens.ts'

export interface SignOutParts {
  database: Pick<Database, 'db' | 'write'>
  seal: Seal
  provider: Pick<Provider, 'revoke'>
  pulse: Pick<Pulse, 'publishEnd'>
  clock: () => number
}

/** Ends the login that a valid cookie belongs to, closes its sockets, and revokes the provider's token. */
export async function signOut(
  parts: SignOutParts,
  cookieHeader: string | undefined,
  log: FastifyBaseLogger,
): Promise<void> {
  for (const kind of ['session', 'refresh'] as const) {
    const tokens = cookieValues(cookieHeader, `service_${kind}`)
    const session = await findSessionOf(parts.database.db, kind, tokens, parts.clock())
    if (session) await endSession(parts, session.loginId, log)
  }
}

async function endSession(
  { database, pulse, seal, provider }: SignOutParts,
  loginId: string,
  log: FastifyBaseLogger,
): Promise<void> {
  const ended = await database.write((trx) => endLogin(trx, loginId), loginId)
  pulse.publishEnd(loginId)
  if (!ended?.provider_token_sealed) return
  const binding = { purpose: 'provider-token', userId: ended.user_id, rowId: loginId } as const
  const token = seal.open(ended.provider_token_sealed, binding)
  // The user is signed out here, whatever the provider responds and however long it takes.
  if (token)
    provider
      .revoke(Buffer.from(token).toString())
      .catch((err) => log.warn({ err }, 'the provider did not revoke its token'))
}
