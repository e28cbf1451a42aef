import type { FastifyBaseLogger } from 'fastify'
import type { Context } from '../context.ts'
import { endLogin } from '../db/logins.ts'
import { cookieValues } from './cookies.ts'
import { findSessionOf } from './tokens.ts'

/** Ends the login of whichever cookie is valid, closes its sockets, and has the provider's token revoked. */
export async function signOut(
  context: Context,
  cookieHeader: string | undefined,
  log: FastifyBaseLogger,
): Promise<void> {
  for (const kind of ['session', 'refresh'] as const) {
    const tokens = cookieValues(cookieHeader, `service_${kind}`)
    const session = await findSessionOf(context.database.db, kind, tokens, context.clock())
    if (session) await endSession(context, session.loginId, log)
  }
}

async function endSession(
  { database, pulse, seal, provider }: Context,
  loginId: string,
  log: FastifyBaseLogger,
): Promise<void> {
  const ended = await database.write((trx) => endLogin(trx, loginId))
  pulse.publishEnd(loginId)
  if (!ended?.provider_token_sealed) return
  const binding = { purpose: 'provider-token', userId: ended.user_id, rowId: loginId } as const
  const token = seal.open(ended.provider_token_sealed, binding)
  // The user is signed out here, whatever the provider says and however long it takes.
  if (token)
    provider
      .revoke(Buffer.from(token).toString())
      .catch((err) => log.warn({ err }, 'the provider did not revoke its token'))
}
